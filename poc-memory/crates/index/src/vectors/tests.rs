//! The vector index: exact and approximate searches, saved files, and their agreement.

use super::*;
use poc_config::Config;
use poc_graph::rng::{Rng, SeededRng};
use poc_graph::{Node, State as NodeState, testing};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const DIMENSIONS: usize = 8;

fn config(exact_below: usize) -> poc_config::VectorsConfig {
    poc_config::VectorsConfig { exact_below, ..Config::defaults().unwrap().vectors }
}

fn open(directory: &Path, exact_below: usize, dimensions: usize) -> VectorIndex {
    VectorIndex::open(directory, &config(exact_below), "test-1", dimensions).unwrap()
}

fn in_memory(exact_below: usize, dimensions: usize) -> VectorIndex {
    open(Path::new("/nonexistent"), exact_below, dimensions)
}

fn id(number: u64) -> NodeId {
    testing::node(number).id
}

fn alive(number: u64) -> Delta {
    Delta::Node(Arc::new(testing::node(number)))
}

fn superseded(number: u64) -> Delta {
    Delta::Node(Arc::new(Node { state: NodeState::Superseded, ..testing::node(number) }))
}

fn vector(number: u64, passage: u16, values: &[f32]) -> Delta {
    Delta::Vector(id(number), passage, values.into())
}

fn random(rng: &SeededRng, dimensions: usize) -> Vec<f32> {
    let values = (0..dimensions).map(|_| (rng.next_u64() % 20_001) as f32 / 10_000.0 - 1.0);
    unit(values.collect())
}

fn unit(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter_mut().for_each(|value| *value /= length);
    values
}

fn all(_: NodeId) -> bool {
    true
}

fn ids(hits: &[VectorHit]) -> Vec<NodeId> {
    hits.iter().map(|hit| hit.id).collect()
}

type Model = BTreeMap<u64, (bool, BTreeMap<u16, Vec<f32>>)>;

/// The expected result, computed from the original vectors.
fn naive(model: &Model, query: &[f32], titles: bool) -> Vec<VectorHit> {
    let mut hits = Vec::new();
    for (&number, (live, passages)) in model {
        let passages = passages.iter().filter(|(passage, _)| *live && (!titles || **passage == 0));
        let scored = passages.map(|(&passage, values)| (passage, poc_rank::cosine::cosine(query, values)));
        if let Some((passage, cosine)) = scored.max_by(|a, b| a.1.total_cmp(&b.1)) {
            hits.push(VectorHit { id: id(number), passage, cosine });
        }
    }
    hits.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
    hits
}

#[derive(Clone, Debug)]
enum Step {
    Put(u64, u16, u64),
    Remove(u64, u16),
    Live(u64),
    Supersede(u64),
    Delete(u64),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let (number, passage) = (0u64..8, 0u16..3);
    prop_oneof![
        6 => (number.clone(), passage.clone(), any::<u64>()).prop_map(|(n, passage, seed)| Step::Put(n, passage, seed)),
        1 => (number.clone(), passage).prop_map(|(n, passage)| Step::Remove(n, passage)),
        4 => number.clone().prop_map(Step::Live),
        1 => number.clone().prop_map(Step::Supersede),
        1 => number.prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

poc_laws::laws! {
    // Few cases, because each one waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tests both with the graph in use from the first vector on, and without it.
    #[test]
    fn results_after_any_history_agree_with_the_remaining_vectors(
        steps in prop::collection::vec(step(), 0..40),
        exact_below in prop::sample::select(&[0usize, 5, 1000][..]),
        seed in any::<u64>(),
    ) {
        let directory = poc_graph::testing::folder();
        let mut index = open(directory.path(), exact_below, DIMENSIONS);
        let mut model = Model::new();
        for (seq, step) in (1..).zip(steps) {
            let deltas = match step {
                Step::Put(number, passage, seed) => {
                    let values = random(&SeededRng::new(seed), DIMENSIONS);
                    model.entry(number).or_default().1.insert(passage, values.clone());
                    vec![vector(number, passage, &values)]
                }
                Step::Remove(number, passage) => {
                    model.entry(number).or_default().1.remove(&passage);
                    vec![Delta::VectorDeleted(id(number), passage)]
                }
                Step::Live(number) => {
                    model.entry(number).or_default().0 = true;
                    vec![alive(number)]
                }
                Step::Supersede(number) => {
                    model.entry(number).or_default().0 = false;
                    vec![superseded(number)]
                }
                Step::Delete(number) => {
                    model.remove(&number);
                    vec![Delta::NodeDeleted(id(number))]
                }
                Step::Reopen => {
                    index.checkpoint().unwrap();
                    let applied = index.applied();
                    index = open(directory.path(), exact_below, DIMENSIONS);
                    prop_assert_eq!(index.applied(), applied);
                    vec![]
                }
            };
            index.apply(seq, &deltas).unwrap();
            // Applying a transaction again has no effect.
            index.apply(seq, &deltas).unwrap();
        }
        let query = random(&SeededRng::new(seed), DIMENSIONS);
        for titles in [false, true] {
            let expected = naive(&model, &query, titles);
            let found = if titles { index.search_titles(&query, 20, &all) } else { index.search(&query, 20, &all) };
            let found = found.unwrap();
            prop_assert_eq!(found.len(), expected.len());
            let by_id: BTreeMap<NodeId, f64> = expected.iter().map(|hit| (hit.id, hit.cosine)).collect();
            for (hit, wanted) in found.iter().zip(&expected) {
                prop_assert!((hit.cosine - by_id[&hit.id]).abs() < 0.01 && hit.cosine.abs() <= 1.0);
                prop_assert!((hit.cosine - wanted.cosine).abs() < 0.01);
            }
            prop_assert!(found.is_sorted_by(|a, b| a.cosine > b.cosine || a.cosine == b.cosine && a.id < b.id));
        }
        let live: usize = model.values().filter(|(live, _)| *live).map(|(_, passages)| passages.len()).sum();
        prop_assert_eq!(index.state.read().rows.searchable(), live);
        for (number, (_, passages)) in &model {
            let kept: Vec<u16> = index.of(id(*number)).iter().map(|(passage, _)| *passage).collect();
            prop_assert_eq!(kept, passages.keys().copied().collect::<Vec<_>>());
        }
    }
}

/// Notes in clusters, like real ones, with two passages each.
fn clustered(nodes: u64, dimensions: usize, rng: &SeededRng) -> (Vec<Delta>, Vec<Vec<f32>>) {
    let centers: Vec<Vec<f32>> = (0..40).map(|_| random(rng, dimensions)).collect();
    let near = |center: usize| {
        let noise = random(rng, dimensions);
        unit(centers[center].iter().zip(noise).map(|(value, noise)| value + noise).collect())
    };
    let mut deltas = Vec::new();
    for number in 0..nodes {
        deltas.push(alive(number));
        for passage in 0..2 {
            deltas.push(vector(number, passage, &near(rng.next_u64() as usize % centers.len())));
        }
    }
    let queries = (0..40).map(near).collect();
    (deltas, queries)
}

/// The index with all its rows in the graph.
fn with_graph(directory: &Path, deltas: &[Delta], dimensions: usize) -> VectorIndex {
    let index = open(directory, 1000, dimensions);
    for (seq, deltas) in (1..).zip(deltas.chunks(300)) {
        index.apply(seq, deltas).unwrap();
    }
    index.finish(&|| false);
    index
}

#[test]
fn hnsw_finds_nearly_the_same_as_the_exact_scan() {
    let rng = SeededRng::new(7);
    let (deltas, queries) = clustered(2000, 64, &rng);
    let directory = poc_graph::testing::folder();
    let graph = with_graph(directory.path(), &deltas, 64);
    let scan = in_memory(usize::MAX, 64);
    scan.apply(1, &deltas).unwrap();
    let recall = |graph: &VectorIndex, queries: &[Vec<f32>], keep: &dyn Fn(NodeId) -> bool| {
        let mut found = 0;
        for query in queries {
            let exact: BTreeSet<NodeId> = ids(&scan.search(query, 10, keep).unwrap()).into_iter().collect();
            let hits = graph.search(query, 10, keep).unwrap();
            assert_eq!(hits.len(), 10);
            found += hits.iter().filter(|hit| exact.contains(&hit.id)).count();
        }
        found as f64 / (queries.len() * 10) as f64
    };
    assert!(graph.state.read().hnsw.is_ready(&graph.state.read().rows));
    let query = QuantizedVector::of(&queries[0]).unwrap();
    let filter = Filter { titles_only: false, keep: &all };
    assert!(graph.state.read().approximate(&query, 10, filter).is_some());
    let found = recall(&graph, &queries, &all);
    assert!(found >= 0.95, "recall@10 {found}");
    // With a narrow filter the exact scan is used, so nothing is missed.
    let rare = |node: NodeId| node.as_bytes()[15] == 3 && node.as_bytes()[14] < 8;
    assert!(graph.state.read().approximate(&query, 8, Filter { titles_only: false, keep: &rare }).is_none());
    for query in &queries {
        assert_eq!(graph.search(query, 8, &rare).unwrap(), scan.search(query, 8, &rare).unwrap());
    }
    // The same after reopening; rows can still be added.
    graph.checkpoint().unwrap();
    let again = open(directory.path(), 1000, 64);
    assert_eq!(again.applied(), graph.applied());
    assert!(again.state.read().hnsw.is_ready(&again.state.read().rows));
    let found = recall(&again, &queries, &all);
    assert!(found >= 0.95, "recall@10 after opening {found}");
    for number in 5000..5200 {
        again.apply(9999, &[alive(number), vector(number, 0, &random(&rng, 64))]).unwrap();
    }
    let own = again.of(id(5100))[0].1.clone();
    assert_eq!(again.search(&own, 1, &all).unwrap()[0].id, id(5100));
    assert_eq!(again.state.read().hnsw.pending().count(), 0);
}

#[test]
fn the_graph_is_completed_in_the_background_and_used_once_nearly_complete() {
    let rng = SeededRng::new(13);
    let (deltas, _) = clustered(2000, 32, &rng);
    let directory = poc_graph::testing::folder();
    let index = open(directory.path(), 1000, 32);
    index.apply(1, &deltas).unwrap();
    let is_ready = |index: &VectorIndex| {
        let state = index.state.read();
        state.hnsw.is_ready(&state.rows)
    };
    assert!(index.is_unfinished() && !is_ready(&index));
    index.checkpoint().unwrap();
    // It continues after an interruption.
    let steps = std::cell::Cell::new(0);
    index.finish(&|| steps.replace(steps.get() + 1) == 10);
    assert!(index.is_unfinished());
    index.finish(&|| false);
    assert!(!index.is_unfinished() && is_ready(&index));
    // The completed graph is saved.
    index.checkpoint().unwrap();
    assert!(!open(directory.path(), 1000, 32).is_unfinished());
}

/// A crash in between has the same effect as an error.
#[test]
fn the_previous_files_stay_valid_until_the_manifest_is_replaced() {
    let (deltas, _) = clustered(2000, 32, &SeededRng::new(13));
    let directory = poc_graph::testing::folder();
    let index = open(directory.path(), 1000, 32);
    index.apply(1, &deltas).unwrap();
    index.checkpoint().unwrap();
    // The graph changes without a transaction.
    index.finish(&|| false);
    let blocked = directory.path().join("manifest.partial");
    std::fs::create_dir(&blocked).unwrap();
    let files = || -> BTreeSet<PathBuf> {
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let before = files();
    assert!(index.checkpoint().is_err());
    // Nothing is left that would fill the disk.
    assert_eq!(files(), before);
    assert_eq!(index.damaged_files(), Vec::<PathBuf>::new());
    let opened = open(directory.path(), 1000, 32);
    assert_eq!((opened.applied(), opened.is_unfinished()), (1, true));
    std::fs::remove_dir(&blocked).unwrap();
    index.checkpoint().unwrap();
    let opened = open(directory.path(), 1000, 32);
    assert_eq!((opened.applied(), opened.is_unfinished()), (1, false));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn many_concurrent_searches_succeed() {
    let rng = SeededRng::new(11);
    let (deltas, queries) = clustered(1500, 32, &rng);
    let directory = poc_graph::testing::folder();
    let index = with_graph(directory.path(), &deltas, 32);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for query in &queries {
                    assert_eq!(index.search(query, 10, &all).unwrap().len(), 10);
                }
            });
        }
    });
}

#[test]
fn a_vector_is_found_only_while_its_node_is_live() {
    let index = in_memory(1000, 2);
    index.apply(1, &[vector(1, 0, &[1.0, 0.0])]).unwrap();
    assert_eq!(index.search(&[1.0, 0.0], 5, &all).unwrap(), []);
    index.apply(2, &[alive(1)]).unwrap();
    assert_eq!(ids(&index.search(&[1.0, 0.0], 5, &all).unwrap()), [id(1)]);
    index.apply(3, &[superseded(1)]).unwrap();
    assert_eq!(index.search(&[1.0, 0.0], 5, &all).unwrap(), []);
    assert_eq!(index.of(id(1)).len(), 1);
    index.apply(4, &[alive(1)]).unwrap();
    assert_eq!(ids(&index.search(&[1.0, 0.0], 5, &all).unwrap()), [id(1)]);
    index.apply(5, &[Delta::NodeDeleted(id(1)), alive(1)]).unwrap();
    assert_eq!(index.search(&[1.0, 0.0], 5, &all).unwrap(), []);
}

#[test]
fn similarity_is_by_passages_and_by_title_without_passages() {
    let index = in_memory(1000, 2);
    let deltas = [
        alive(1),
        vector(1, 0, &[1.0, 0.0]),
        vector(1, 1, &[0.0, 1.0]),
        vector(1, 2, &[-1.0, 0.0]),
        alive(2),
        vector(2, 0, &[1.0, 0.0]),
        vector(2, 1, &[-1.0, 0.0]),
        superseded(3),
        vector(3, 0, &[1.0, 0.0]),
    ];
    index.apply(1, &deltas).unwrap();
    let check = |a, b, expected: f64| {
        let found = index.similarity(id(a), id(b)).unwrap();
        assert!(
            (found - expected).abs() < 1e-6 && index.similarity(id(b), id(a)) == Some(found),
            "{a} {b}: {found}"
        );
    };
    // The equal titles of 1 and 2 do not count; the second passage of 1 is similar to 2.
    check(1, 2, 1.0);
    check(1, 3, 0.0);
    check(2, 3, -1.0);
    assert_eq!(index.similarity(id(1), id(4)), None);
}

#[test]
fn the_best_passage_counts_and_equal_hits_are_ordered_by_id() {
    let index = in_memory(1000, 2);
    let deltas = [
        alive(2),
        alive(1),
        vector(2, 0, &[0.0, 1.0]),
        vector(2, 3, &[1.0, 0.0]),
        vector(1, 1, &[1.0, 0.0]),
        vector(1, 0, &[-1.0, 0.0]),
    ];
    index.apply(1, &deltas).unwrap();
    let hits = index.search(&[2.0, 0.0], 5, &all).unwrap();
    assert_eq!(hits.iter().map(|hit| (hit.id, hit.passage)).collect::<Vec<_>>(), [(id(1), 1), (id(2), 3)]);
    assert!(hits.iter().all(|hit| (hit.cosine - 1.0).abs() < 1e-6));
    let titles = index.search_titles(&[2.0, 0.0], 5, &all).unwrap();
    assert_eq!(titles.iter().map(|hit| (hit.id, hit.passage)).collect::<Vec<_>>(), [(id(2), 0), (id(1), 0)]);
    assert_eq!(index.search(&[2.0, 0.0], 0, &all).unwrap(), []);
    assert_eq!(ids(&index.search(&[2.0, 0.0], 5, &|node| node != id(1)).unwrap()), [id(2)]);
}

#[test]
fn vectors_that_cannot_be_compared_are_errors() {
    let index = in_memory(1000, 2);
    index.apply(1, &[alive(1), vector(1, 0, &[1.0, 0.0])]).unwrap();
    let error = index.search(&[1.0], 5, &all).unwrap_err();
    insta::assert_snapshot!(error, @"a vector of 1 dimensions cannot be compared");
    insta::assert_snapshot!(error.hint.unwrap(), @"the vectors of this store have 2");
    assert!(index.search(&[f32::NAN, 0.0], 5, &all).is_err());
    assert_eq!(index.search(&[0.0, 0.0], 5, &all).unwrap(), []);
    for values in [&[f32::NAN, 0.0][..], &[0.0, 0.0], &[1.0, 0.0, 0.0]] {
        index.apply(2, &[alive(2), vector(2, 0, values)]).unwrap();
        assert!(index.of(id(2)).is_empty(), "{values:?}");
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let bad = poc_config::VectorsConfig { connectivity: 1, ..config(10) };
    let error = VectorIndex::open(Path::new("/nonexistent"), &bad, "test-1", 2).err().unwrap();
    insta::assert_snapshot!(error, @"`vectors.connectivity`: `connectivity` cannot be 1");
    insta::assert_snapshot!(error.hint.unwrap(), @"the minimum is 2");
}

#[test]
fn a_reset_index_is_empty() {
    let index = in_memory(1000, 2);
    index.apply(3, &[alive(1), vector(1, 0, &[1.0, 0.0])]).unwrap();
    index.reset().unwrap();
    assert_eq!((index.applied(), index.search(&[1.0, 0.0], 5, &all).unwrap().len()), (0, 0));
}

#[test]
fn files_of_another_embedder_are_not_used() {
    let directory = poc_graph::testing::folder();
    let index = open(directory.path(), 1000, 2);
    index.apply(3, &[alive(1), vector(1, 0, &[1.0, 0.0])]).unwrap();
    index.checkpoint().unwrap();
    assert_eq!(open(directory.path(), 1000, 2).applied(), 3);
    let other = VectorIndex::open(directory.path(), &config(1000), "test-2", 2).unwrap();
    assert_eq!(other.applied(), 0);
    assert_eq!(open(directory.path(), 1000, 3).applied(), 0);
    index.reset().unwrap();
    assert_eq!(open(directory.path(), 1000, 2).applied(), 0, "a reset index stays empty");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn damaged_files_are_not_loaded() {
    let rng = SeededRng::new(3);
    let (deltas, _) = clustered(600, 16, &rng);
    let directory = poc_graph::testing::folder();
    with_graph(directory.path(), &deltas, 16).checkpoint().unwrap();
    let files: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for path in files {
        let whole = std::fs::read(&path).unwrap();
        for damage in 0..60 {
            let mut bytes = whole.clone();
            let at = rng.next_u64() as usize % whole.len();
            match damage % 3 {
                0 => bytes[at] ^= 1 << (damage % 8),
                1 => bytes.truncate(at),
                // Inverts four bytes in usearch's header.
                _ => bytes[at % 64..].iter_mut().take(4).for_each(|byte| *byte = !*byte),
            }
            std::fs::write(&path, bytes).unwrap();
            let opened = open(directory.path(), 1000, 16);
            assert_eq!((opened.applied(), opened.state.read().rows.end()), (0, 0), "{path:?} {damage}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(open(directory.path(), 1000, 16).applied(), 0);
        std::fs::write(&path, whole).unwrap();
    }
    assert_ne!(open(directory.path(), 1000, 16).applied(), 0);
}

/// Otherwise the vector of an erased note would stay in saved files.
#[test]
fn vectors_of_deleted_notes_are_overwritten() {
    let index = in_memory(1000, DIMENSIONS);
    let values = random(&SeededRng::new(1), DIMENSIONS);
    let put = [alive(1), vector(1, 0, &values), vector(1, 1, &values), alive(2), vector(2, 0, &values)];
    index.apply(1, &put).unwrap();
    index.apply(2, &[Delta::NodeDeleted(id(1)), Delta::VectorDeleted(id(2), 0)]).unwrap();
    assert_eq!(index.state.read().rows.codes(), [0; 3 * DIMENSIONS]);
}

/// Otherwise the vector of an erased note would stay in the file of the graph.
#[test]
fn a_graph_with_deleted_vectors_is_discarded_in_memory_and_in_files() {
    let (deltas, _) = clustered(600, 16, &SeededRng::new(7));
    for is_loaded in [true, false] {
        let directory = poc_graph::testing::folder();
        let index = with_graph(directory.path(), &deltas, 16);
        let deleted: Vec<u8> = {
            let state = index.state.read();
            let (row, _) = state.rows.of(state.rows.entry(id(5)).unwrap()).next().unwrap();
            state.rows.code(row).iter().map(|value| value.cast_unsigned()).collect()
        };
        let is_in_files = || {
            std::fs::read_dir(directory.path()).unwrap().any(|entry| {
                let bytes = std::fs::read(entry.unwrap().path()).unwrap();
                bytes.windows(deleted.len()).any(|window| window == deleted)
            })
        };
        let seq = index.applied() + 1;
        index.apply(seq, &[Delta::NodeDeleted(id(5))]).unwrap();
        index.checkpoint().unwrap();
        assert!(is_in_files());
        if is_loaded {
            index.discard_deleted();
            index.checkpoint().unwrap();
        } else {
            index.discard_deleted_in_files().unwrap();
        }
        assert!(!is_in_files());
        let opened = open(directory.path(), 1000, 16);
        assert_eq!((opened.applied(), opened.is_unfinished()), (seq, true));
        opened.finish(&|| false);
        opened.checkpoint().unwrap();
        assert!(!is_in_files());
        let state = opened.state.read();
        assert!(state.hnsw.is_ready(&state.rows) && state.hnsw.stale() == 0);
    }
}

/// usearch would read outside of its memory.
#[test]
fn a_graph_with_impossible_numbers_is_not_loaded() {
    let rng = SeededRng::new(3);
    let (deltas, _) = clustered(600, 16, &rng);
    let directory = poc_graph::testing::folder();
    let index = with_graph(directory.path(), &deltas, 16);
    let state = index.state.read();
    let (members, graph) = state.hnsw.encode().unwrap().unwrap();
    let restore = |graph: &[u8]| {
        hnsw::Hnsw::restore(index.options, &state.rows, Some((members.clone(), graph.to_vec())))
    };
    assert!(restore(&graph).is_some());
    assert!(restore(&graph[..graph.len() - 1]).is_none());
    assert!(restore(&[&graph[..], &[0]].concat()).is_none());
    let count = members.len();
    let head = 8 + count * graph_vector::width(16);
    let first_node = head + 64 + 40 + 2 * count;
    let damaged = [
        (head + 64, "the number of nodes"),
        (head + 64 + 8, "the connectivity"),
        (head + 64 + 40, "the level of the first node"),
        (first_node, "its key"),
        (first_node + 8, "its level"),
        (first_node + 8 + 2, "the number of its neighbours"),
        (first_node + 8 + 2 + 4, "its first neighbour"),
    ];
    for (position, name) in damaged {
        let mut graph = graph.clone();
        // The second byte: the number becomes too great, or negative.
        graph[position + 1] = !graph[position + 1];
        assert!(restore(&graph).is_none(), "{name}");
    }
}

#[test]
fn a_mostly_stale_graph_is_rebuilt() {
    let rng = SeededRng::new(5);
    let (deltas, queries) = clustered(1500, 16, &rng);
    let directory = poc_graph::testing::folder();
    let index = with_graph(directory.path(), &deltas, 16);
    let deletions: Vec<Delta> = (0..900).map(|number| Delta::NodeDeleted(id(number))).collect();
    let mut seq = index.applied();
    for delta in deletions {
        seq += 1;
        index.apply(seq, &[delta]).unwrap();
        assert_eq!(index.search(&queries[0], 10, &all).unwrap().len(), 10);
    }
    let hits = index.search(&queries[0], 10, &all).unwrap();
    assert!(hits.iter().all(|hit| hit.id >= id(900)));
    assert!(index.state.read().hnsw.stale() < 1024);
}
