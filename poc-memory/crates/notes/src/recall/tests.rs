//! Recall against hand-computed values and against a naive second implementation.

mod brute_force;

use super::*;
use crate::mark;
use crate::testing::TestMemory;
use crate::weight;
use poc_config::Config;
use poc_graph::EdgeKind;
use poc_graph::rng::{Rng as _, SeededRng};
use poc_graph::time::Span;
use poc_graph::{Activity, Category, Edge, Node, State, Trust, Visibility, testing};
use poc_store::{Records as _, Transaction};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A unit vector whose first components are proportional to `parts`.
fn vector(memory: &TestMemory, parts: &[i8]) -> Vec<f32> {
    let mut vector = vec![0.0; memory.embedder.dimensions()];
    for (slot, part) in vector.iter_mut().zip(parts) {
        *slot = f32::from(*part);
    }
    vector
}

fn put<T>(memory: &TestMemory, build: impl Fn(&mut Transaction) -> poc_graph::error::Result<T>) -> T {
    memory.store.transact(memory.cause("manual", "test"), build).unwrap().value
}

fn put_node(memory: &TestMemory, node: &Node, parts: &[i8], weight: f64, days: i64) {
    let vector = vector(memory, parts);
    let touched = memory.now().minus(Span(days * Span::DAY.0));
    put(memory, |tx| {
        tx.put_node(node)?;
        tx.put_activity(node.id, &Activity::new(touched, weight))?;
        tx.put_vectors(node.id, memory.embedder.name(), std::slice::from_ref(&vector))
    });
}

fn edge(memory: &TestMemory, from: u64, to: u64, kind: EdgeKind, strength: f64, days: i64) -> Edge {
    let touched = memory.now().minus(Span(days * Span::DAY.0));
    Edge { touched, ..testing::edge(from, to, kind, strength) }
}

/// A recall whose text shares a word with every note.
fn ask(memory: &TestMemory, parts: &[i8], k: usize, hops: usize, oversample: usize) -> RecallResult {
    ask_for(memory, "title", parts, k, hops, oversample)
}

fn ask_for(
    memory: &TestMemory,
    text: &str,
    parts: &[i8],
    k: usize,
    hops: usize,
    oversample: usize,
) -> RecallResult {
    let options = RecallOptions { text, vector: &vector(memory, parts), k, hops, oversample };
    recall(memory, &memory.store.view(), &options, memory.now()).unwrap()
}

fn write_down(memory: &TestMemory, recalled: &RecallResult) {
    record(memory, "manual", &recalled.update).unwrap();
    flush(memory).unwrap();
}

fn id(number: u64) -> NodeId {
    testing::node(number).id
}

fn pair(a: u64, b: u64, gain: f64) -> RetrievedPair {
    RetrievedPair { a: id(a), b: id(b), gain }
}

fn weight(memory: &TestMemory, number: u64) -> f64 {
    memory.store.activity(id(number)).unwrap().unwrap().weight
}

fn strength(memory: &TestMemory, from: u64, kind: EdgeKind, to: u64) -> Option<f64> {
    memory.store.edge(id(from), kind, id(to)).unwrap().map(|edge| edge.strength)
}

/// Four notes in a row; the query is only similar to the first.
fn row() -> TestMemory {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1, 0], 3.0, 0);
    put_node(&memory, &testing::node(2), &[0, 1], 1.0, 0);
    put_node(&memory, &testing::node(3), &[0, 0, 1], 4.0, 0);
    put_node(&memory, &testing::node(4), &[0, 0, 0, 1], 4.0, 0);
    put(&memory, |tx| {
        tx.put_edge(&edge(&memory, 1, 2, EdgeKind::Structural, 1.0, 0))?;
        tx.put_edge(&edge(&memory, 2, 3, EdgeKind::Structural, 1.0, 0))?;
        tx.put_edge(&edge(&memory, 2, 3, EdgeKind::CoRetrieval, 2.0, 0))?;
        tx.put_edge(&edge(&memory, 3, 4, EdgeKind::Structural, 1.0, 0))
    });
    memory
}

#[test]
fn recall_matches_hand_computed_values() {
    let memory = row();
    // One candidate, whose weight becomes 4: 1 · √1.1. Then halved by each hop: 0.5 · √1.04, 0.25 · √1.1.
    let reported = |recalled: &RecallResult| -> Vec<(NodeId, f64, f64, usize)> {
        let hits = recalled.hits.iter();
        // The index computes cosines in single precision.
        hits.map(|hit| (hit.id, (hit.score * 1e4).round() / 1e4, hit.path_factor, hit.path.len())).collect()
    };
    // `k` is the number of hits and also the number of starts.
    let only = ask(&memory, &[1, 0], 1, 2, 1);
    assert_eq!(reported(&only), [(id(1), 1.0488, 1.0, 0)]);
    assert_eq!(only.update, RecallUpdate { used: vec![id(1)], pairs: Vec::new(), followed: Vec::new() });

    put(&memory, |tx| {
        for number in [2, 3, 4] {
            tx.put_vectors(id(number), memory.embedder.name(), &[])?;
        }
        Ok(())
    });
    let three = ask(&memory, &[1, 0], 3, 2, 300);
    assert_eq!(
        reported(&three),
        [(id(1), 1.0488, 1.0, 0), (id(2), 0.5099, 0.5, 1), (id(3), 0.2622, 0.25, 2)]
    );
    let path: Vec<_> =
        three.hits[2].path.iter().map(|step| (step.from, step.to, step.kind, step.strength)).collect();
    assert_eq!(path, [(id(1), id(2), EdgeKind::Structural, 1.0), (id(2), id(3), EdgeKind::CoRetrieval, 2.0)]);
    assert_eq!(three.update.followed, [(id(1), id(2)), (id(2), id(3))]);
    assert_eq!(reported(&ask(&memory, &[1, 0], 9, 0, 300)).len(), 1, "without hops, nothing else is reached");
    assert_eq!(reported(&ask(&memory, &[1, 0], 9, 3, 300)).len(), 4);

    write_down(&memory, &three);
    assert_eq!([1, 2, 3].map(|number| weight(&memory, number)), [4.0, 1.0, 4.0]);
    assert_eq!(memory.store.activity(id(1)).unwrap().unwrap().accesses, 1);
    assert_eq!(strength(&memory, 1, EdgeKind::CoTraversal, 2), Some(0.75));
    assert_eq!(strength(&memory, 2, EdgeKind::CoTraversal, 3), Some(0.75));
    assert_eq!(strength(&memory, 2, EdgeKind::CoTraversal, 1), None, "one way");
    assert_eq!(
        strength(&memory, 1, EdgeKind::Structural, 2),
        Some(1.0),
        "a followed edge keeps its strength"
    );
    // It decays by its own λ before it gains again.
    let lambda = memory.config.edges.decay.co_traversal;
    memory.clock.advance(Span((std::f64::consts::LN_2 / lambda * 1000.0) as i64));
    write_down(&memory, &three);
    assert!((strength(&memory, 1, EdgeKind::CoTraversal, 2).unwrap() - 1.125).abs() < 1e-6);
}

#[test]
fn the_gain_of_an_edge_follows_from_the_smaller_similarity() {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1, 0], 1.0, 0);
    put_node(&memory, &testing::node(2), &[0, 1], 1.0, 0);
    put_node(&memory, &testing::node(3), &[-1, 0], 1.0, 0);
    let recalled = ask(&memory, &[1, 0], 8, 2, 300);
    write_down(&memory, &recalled);
    // The similarities are 1, 0.5 and 0. The gain is half of the smaller one; below the floor, no edge is created.
    assert_eq!(strength(&memory, 1, EdgeKind::CoRetrieval, 2), Some(0.25));
    assert_eq!(strength(&memory, 2, EdgeKind::CoRetrieval, 1), Some(0.25));
    assert_eq!(strength(&memory, 1, EdgeKind::CoRetrieval, 3), None);
    for _ in 0..500 {
        let update = RecallUpdate { pairs: vec![pair(1, 2, 0.25)], ..RecallUpdate::default() };
        write_down(&memory, &RecallResult { update, ..RecallResult::default() });
    }
    assert_eq!(strength(&memory, 1, EdgeKind::CoRetrieval, 2), Some(100.0), "the cap");
}

#[test]
fn nothing_is_learned_from_notes_that_do_not_match_the_text() {
    let memory = row();
    let used = |recalled: &RecallResult| recalled.update.used.clone();
    // The nearest notes of any text are hits. Only the first one is near this text.
    let near = ask_for(&memory, "xyzzy", &[1, 0], 3, 2, 300);
    assert_eq!((used(&near), near.no_match, near.hits.len()), (vec![id(1)], false, 3));
    assert_eq!(near.update.pairs, []);
    let far = ask_for(&memory, "xyzzy", &[0, 0, 0, 0, 1], 3, 2, 300);
    assert_eq!((far.hits.len(), far.no_match), (3, true));
    assert_eq!(far.update, RecallUpdate::default());
    // The first note would be a candidate for a link, but it does not have the same meaning.
    let vague = ask_for(&memory, "xyzzy", &[1, 0, 0, 0, 2], 3, 2, 300);
    assert_eq!((vague.update, vague.no_match), (RecallUpdate::default(), true));
    // A note that shares a word with the text counts, however far its vector is.
    put_node(&memory, &Node { title: "Zebras".into(), ..testing::node(5) }, &[0, 1], 1.0, 0);
    let shared = ask_for(&memory, "xyzzy zebras", &[0, 0, 0, 0, 1], 5, 0, 300);
    assert_eq!((used(&shared), shared.no_match, shared.hits.len()), (vec![id(5)], false, 5));
    // Without notes, there is nothing to match.
    assert!(!ask_for(&TestMemory::new(), "xyzzy", &[1], 3, 2, 300).no_match);
}

/// A note that is heavy because it is often used must not come first for questions about something else.
#[test]
fn the_words_of_a_question_count_more_than_any_weight() {
    let memory = TestMemory::new();
    let titled = |number, title: &str| Node { title: title.into(), ..testing::node(number) };
    put_node(&memory, &titled(1, "Tomasz writes the inversion code in Julia"), &[1, 1], 1.0, 0);
    put_node(&memory, &titled(2, "The kettle in the hut"), &[1, 1], 100.0, 0);
    put_node(&memory, &titled(3, "Wifi of the hut"), &[3, 2], 50.0, 0);
    let asked = |text: &str| -> Vec<NodeId> {
        ask_for(&memory, text, &[1, 1], 8, 0, 300).hits.iter().map(|hit| hit.id).collect()
    };
    assert_eq!(asked("who writes the inversion code"), [id(1), id(2), id(3)]);
    // Of equally relevant notes, the heavier one comes first.
    assert_eq!(asked("xyzzy"), [id(2), id(3), id(1)]);

    // A note that has the words is found even if others are nearer than it.
    put_node(&memory, &titled(4, "Luc"), &[0, 0, 1], 1.0, 0);
    let found = ask_for(&memory, "Luc", &[1, 1, 1], 1, 0, 1);
    assert_eq!((found.hits.first().map(|hit| hit.id), found.no_match), (Some(id(4)), false));
}

#[test]
fn only_the_best_notes_retrieved_together_get_edges() {
    let mut config = Config::defaults().unwrap();
    config.recall.co_retrieval_notes = 3;
    let memory = TestMemory::with(config);
    for number in 1..=9 {
        put_node(&memory, &testing::node(number), &[1, number as i8], 1.0, 0);
    }
    let recalled = ask(&memory, &[1, 0], 9, 0, 300);
    assert_eq!(recalled.hits.len(), 9);
    let pairs: Vec<_> = recalled.update.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(pairs, [(id(1), id(2)), (id(1), id(3)), (id(2), id(3))]);
    // With the default configuration, the largest answer writes hundreds of edges and not tens of thousands.
    assert!(Config::defaults().unwrap().recall.co_retrieval_notes <= 64);
}

#[test]
fn faded_edges_and_notes_are_not_followed() {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1, 0], 1.0, 0);
    for number in 2..=5 {
        put_node(&memory, &testing::node(number), &[], 1.0, 0);
    }
    // Under 0.05 after a year: 0.06 · e^(−2.7e-7 · 3.15e7); a structural one is not.
    put_node(&memory, &testing::node(4), &[], 0.011, 365);
    put(&memory, |tx| {
        tx.put_edge(&edge(&memory, 1, 2, EdgeKind::CoRetrieval, 0.06, 365))?;
        tx.put_edge(&edge(&memory, 1, 3, EdgeKind::Structural, 0.2, 365))?;
        tx.put_edge(&edge(&memory, 1, 4, EdgeKind::Structural, 5.0, 0))?;
        // Incoming edges and edges that are not associative are not followed.
        tx.put_edge(&edge(&memory, 5, 1, EdgeKind::Structural, 5.0, 0))?;
        tx.put_edge(&edge(&memory, 1, 5, EdgeKind::Semantic, 0.9, 0))
    });
    let ids: Vec<NodeId> = ask(&memory, &[1, 0], 9, 2, 300).hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [id(1), id(3)]);
}

#[test]
fn retired_and_quarantined_notes_are_not_recalled() {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1, 0], 1.0, 0);
    let hidden = [
        Node { state: State::Superseded, ..testing::node(2) },
        Node { state: State::Expired, ..testing::node(3) },
        Node { expires: Some(memory.now()), ..testing::node(4) },
        Node { trust: Trust::Quarantined, ..testing::node(5) },
    ];
    for node in &hidden {
        put_node(&memory, node, &[1, 0], 9.0, 0);
    }
    put(&memory, |tx| {
        (2..=5).try_for_each(|to| tx.put_edge(&edge(&memory, 1, to, EdgeKind::Structural, 5.0, 0)))
    });
    let recalled = ask(&memory, &[1, 0], 9, 2, 300);
    assert_eq!(recalled.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(1)]);
    assert_eq!(recalled.update.used, [id(1)]);
}

#[test]
fn a_derived_note_neither_displaces_its_source_nor_changes_its_score() {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1, 1], 1.0, 0);
    put_node(&memory, &testing::node(2), &[0, 1], 1.0, 0);
    let before = ask(&memory, &[1, 0], 8, 2, 300).hits;
    assert_eq!(before.len(), 2);
    // It is more similar to the question than its source, and heavier.
    let fact = Node { provenance: "agent:facts".into(), ..testing::node(3) };
    put_node(&memory, &fact, &[1, 0], 9.0, 0);
    put(&memory, |tx| tx.put_edge(&edge(&memory, 3, 1, EdgeKind::DerivedFrom, 1.0, 0)));
    assert_eq!(ask(&memory, &[1, 0], 8, 2, 300).hits, before);

    // Once its source is retired, it is a hit itself.
    put_node(&memory, &Node { state: State::Superseded, ..testing::node(1) }, &[1, 1], 1.0, 0);
    let hits = ask(&memory, &[1, 0], 8, 2, 300).hits;
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(3), id(2)]);
}

#[test]
fn reinforcement_has_a_refractory_period_and_is_dampened() {
    let memory = TestMemory::new();
    put_node(&memory, &testing::node(1), &[1], 25.0, 0);
    let bump = |delta: f64| put(&memory, |tx| weight::bump(tx, id(1), delta, &memory.config, memory.now()));
    // Creating a note is not a judgement.
    let first = bump(1.0);
    assert_eq!(
        (first.before, first.after, first.accesses, first.skipped_refractory),
        (25.0, 25.75, 1, false)
    );
    memory.clock.advance(Span(59_999));
    let second = bump(1.0);
    assert!(second.skipped_refractory && second.accesses == 2 && second.after == second.before);
    memory.clock.advance(Span(59_999));
    assert!(bump(-1.0).skipped_refractory, "a skipped judgement counts as a judgement");
    memory.clock.advance(Span::MINUTE);
    let third = bump(-1.0);
    assert!(!third.skipped_refractory && (third.before - third.after - 1.0).abs() < 1e-12, "not dampened");
    memory.clock.advance(Span::MINUTE);
    assert_eq!(bump(-1000.0).after, 0.01, "the floor");
    memory.clock.advance(Span::MINUTE);
    assert!((bump(1000.0).after - 100.0).abs() < 1e-9, "the cap");
    memory.clock.advance(Span::MINUTE);
    write_down(&memory, &ask(&memory, &[1], 1, 0, 1));
    put(&memory, |tx| weight::touch(tx, id(1), &memory.config.weight, memory.now()));
    let after_recall = bump(-1.0);
    assert!(!after_recall.skipped_refractory, "a note that was just recalled can be judged");
    assert_eq!(after_recall.accesses, 9);
}

#[test]
fn core_notes_do_not_decay() {
    let memory = TestMemory::new();
    put_node(&memory, &Node { category: Category::Core, ..testing::node(1) }, &[1], 3.0, 5000);
    put_node(&memory, &testing::node(2), &[1], 3.0, 0);
    memory.clock.advance(Span((std::f64::consts::LN_2 / 8.0e-8 * 1000.0) as i64));
    let weights: BTreeMap<NodeId, f64> =
        ask(&memory, &[1], 9, 0, 300).hits.iter().map(|hit| (hit.id, hit.weight)).collect();
    assert_eq!(weights[&id(1)], 4.0);
    assert!((weights[&id(2)] - 2.5).abs() < 1e-6);
}

#[test]
fn a_mark_fades_linearly_with_age() {
    let mut config = Config::defaults().unwrap();
    config.reinforce.mark_nodes = 4;
    let memory = TestMemory::with(config);
    let now = memory.now();
    let hours = |hours: f64| now.minus(Span((hours * 3_600_000.0) as i64));
    for (number, age) in [(1, 0.0), (2, 1.0), (3, 2.0), (4, 4.0), (5, 4.1), (6, -1.0)] {
        put_node(&memory, &Node { created: hours(age), ..testing::node(number) }, &[1], 50.0, 0);
    }
    put(&memory, |tx| weight::bump(tx, id(2), 0.0, &memory.config, now).map(drop));
    let marked =
        put(&memory, |tx| mark::mark(tx, hours(4.0), 8.0, &memory.config, Visibility::of_person(now)));
    assert_eq!((marked.affected, marked.skipped), (3, 1));
    // At half the cap, half of a gain is left.
    assert_eq!(
        [1, 2, 3, 4, 5, 6].map(|number| weight(&memory, number)),
        [54.0, 50.0, 52.0, 50.0, 50.0, 50.0]
    );
    // An infinite gain times 0 would be NaN.
    let mut boundless = Config::clone(&memory.config);
    boundless.reinforce.delta = 10.0;
    // If there are too many, only the newest are marked.
    memory.clock.advance(Span::HOUR);
    let visibility = Visibility::of_person(memory.now());
    let marked = put(&memory, |tx| mark::mark(tx, hours(24.0), 1.0, &memory.config, visibility));
    assert_eq!((marked.affected, marked.skipped), (4, 0));
    assert_eq!(weight(&memory, 5), 50.0);
    let refused = |since, strength| {
        memory
            .store
            .transact(memory.cause("manual", "mark"), |tx| {
                mark::mark(tx, since, strength, &boundless, Visibility::of_person(memory.now()))
            })
            .unwrap_err()
            .line()
    };
    insta::assert_snapshot!([refused(now, 0.0), refused(now, f64::NAN), refused(memory.now(), 1.0)].join("\n"), @r"
    `strength`: a strength of 0 is out of range; give a number above 0; 1 counts as one use
    `strength`: a strength of NaN is out of range; give a number above 0; 1 counts as one use
    `since`: 2026-11-21T09:00:00.000Z is not in the past; give an earlier time, or how long ago: `30m`
    ");
    assert!(refused(hours(2.0), f64::MAX).starts_with("`strength`: a strength of 17976931348623157"));
}

/// 1,000 notes in many directions.
fn many() -> TestMemory {
    let memory = TestMemory::new();
    let rng = SeededRng::new(11);
    let part = || (rng.next_u64() % 255) as i8;
    put(&memory, |tx| {
        (1..=1000).try_for_each(|number| {
            // Ids like those of a store, with similar timestamps and different random bits.
            let node = Node { id: memory.new_node_id(), ..testing::node(number) };
            tx.put_node(&node)?;
            let parts: Vec<i8> = (0..12).map(|_| part()).collect();
            tx.put_vectors(node.id, memory.embedder.name(), &[vector(&memory, &parts)])
        })
    });
    memory
}

/// The recalls of a busy minute, each about a different subject.
#[test]
fn recalls_of_a_minute_are_one_short_log_record() {
    let memory = many();
    let rng = SeededRng::new(5);
    let mut reported = Vec::new();
    for _ in 0..3 {
        let (before, seq) = (memory.store.sizes().unwrap().log, memory.store.view().seq);
        for _ in 0..300 {
            let parts: Vec<i8> = (0..12).map(|_| (rng.next_u64() % 255) as i8).collect();
            let recalled = ask(&memory, &parts, 8, 2, 300);
            record(&memory, "manual", &recalled.update).unwrap();
        }
        assert_eq!(memory.store.view().seq, seq, "a recall writes nothing by itself");
        flush(&memory).unwrap();
        flush(&memory).unwrap();
        assert_eq!(memory.store.view().seq, seq + 1);
        reported.push((memory.store.sizes().unwrap().log - before) / 300);
        memory.clock.advance(Span::HOUR);
    }
    assert!(reported.iter().all(|&bytes| bytes <= 200), "bytes a recall: {reported:?}");
}

/// The bytes of the log that recalls take which are stored together.
fn stored_bytes(memory: &TestMemory, recalls: &[Vec<i8>]) -> u64 {
    let before = memory.store.sizes().unwrap().log;
    for parts in recalls {
        record(memory, "manual", &ask(memory, parts, 8, 2, 300).update).unwrap();
    }
    flush(memory).unwrap();
    memory.clock.advance(Span::HOUR);
    memory.store.sizes().unwrap().log - before
}

/// A recall that is alone in its transaction, as without a daemon, and the recalls of ten quiet minutes.
#[test]
fn few_recalls_are_short_log_records_too() {
    let memory = many();
    let rng = SeededRng::new(6);
    let subject = || -> Vec<i8> { (0..12).map(|_| (rng.next_u64() % 255) as i8).collect() };
    for _ in 0..3 {
        let bytes = stored_bytes(&memory, &[subject()]);
        assert!(bytes <= 650, "a recall: {bytes} bytes");
        let (first, second) = (subject(), subject());
        let recalls: Vec<Vec<i8>> =
            (0..10).map(|number| if number % 2 == 0 { first.clone() } else { second.clone() }).collect();
        let bytes = stored_bytes(&memory, &recalls);
        assert!(bytes <= 2000, "ten recalls: {bytes} bytes");
    }
}

#[test]
fn the_weakest_learned_edges_are_dropped() {
    let memory = TestMemory::new();
    for number in 0..=40 {
        put_node(&memory, &testing::node(number), &[1], 1.0, 0);
    }
    let together =
        |other: u64, gain: f64| RecallUpdate { pairs: vec![pair(0, other, gain)], ..RecallUpdate::default() };
    for other in 1..=40 {
        record(&memory, "manual", &together(other, other as f64)).unwrap();
    }
    flush(&memory).unwrap();
    let strongest = |memory: &TestMemory| -> Vec<u64> {
        (1..=40).filter(|&other| strength(memory, 0, EdgeKind::CoRetrieval, other).is_some()).collect()
    };
    assert_eq!(strongest(&memory), (9..=40).collect::<Vec<_>>());
    record(&memory, "manual", &together(1, 50.0)).unwrap();
    flush(&memory).unwrap();
    assert_eq!(strongest(&memory), [1].into_iter().chain(10..=40).collect::<Vec<_>>());
}

#[test]
fn one_pair_for_each_recall_is_stored() {
    let memory = TestMemory::new();
    for number in 1..=4 {
        put_node(&memory, &testing::node(number), &[1], 1.0, 0);
    }
    let pairs = |pairs: &[(u64, u64)]| RecallUpdate {
        pairs: pairs.iter().map(|&(a, b)| pair(a, b, 0.4)).collect(),
        ..RecallUpdate::default()
    };
    record(&memory, "manual", &pairs(&[(1, 2), (1, 3)])).unwrap();
    record(&memory, "manual", &pairs(&[(4, 1), (2, 1)])).unwrap();
    record(&memory, "manual", &pairs(&[(1, 4)])).unwrap();
    flush(&memory).unwrap();
    assert_eq!(strength(&memory, 2, EdgeKind::CoRetrieval, 1), Some(0.8), "in any order");
    assert_eq!(strength(&memory, 1, EdgeKind::CoRetrieval, 4), Some(0.8));
    assert_eq!(strength(&memory, 1, EdgeKind::CoRetrieval, 3), Some(0.4));
    assert_eq!(memory.store.edges(id(3)).unwrap().len(), 2);
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Weights stay within floor and cap after any operations.
    #[test]
    fn weights_stay_within_bounds(steps in proptest::collection::vec((0u8..6, 0u64..4, 0.0f64..500.0, 0i64..4_000_000_000), 1..30)) {
        let mut config = Config::defaults().unwrap();
        config.reinforce.delta = 30.0;
        config.recall.co_retrieval_base = 60.0;
        let memory = TestMemory::with(config);
        for number in 0..4 {
            put_node(&memory, &testing::node(number), &[1, number as i8], 1.0, 0);
            put(&memory, |tx| tx.put_edge(&edge(&memory, number, 0, EdgeKind::Structural, 1.0, 0)).or(Ok(())));
        }
        for (step, node, amount, millis) in steps {
            memory.clock.advance(Span(millis));
            let now = memory.now();
            let config = &memory.config;
            match step {
                0 => put(&memory, |tx| weight::bump(tx, id(node), amount, config, now).map(drop)),
                1 => put(&memory, |tx| weight::bump(tx, id(node), -amount, config, now).map(drop)),
                2 => put(&memory, |tx| mark::mark(tx, now.minus(Span(millis + 1)), amount + 0.1, config, Visibility::of_person(now)).map(drop)),
                3 => put(&memory, |tx| weight::change(tx, id(node), weight::WeightChange::By(amount - 250.0), &config.weight, now).map(drop)),
                _ => write_down(&memory, &ask(&memory, &[1, node as i8], 3, 2, 300)),
            }
            for number in 0..4 {
                let weight = weight(&memory, number);
                prop_assert!((0.01..=100.0).contains(&weight), "{}", weight);
                for edge in memory.store.edges(id(number)).unwrap() {
                    prop_assert!((0.05..=100.0).contains(&edge.strength), "{:?}", edge);
                }
            }
        }
    }
}
