//! The edges of new notes equal those of a naive search of the whole index for each keyword and vector.

use super::*;
use crate::testing::{TestMemory, draft};
use crate::{Draft, insert};
use poc_config::Config;
use poc_rank::cosine::cosine;
use poc_search::retrieve::nearest::{self, NearestNote};
use proptest::prelude::*;

/// The edges of a note, by the definition.
fn naive(memory: &Memory, view: &View, note: &BatchNote, batch: &[BatchNote]) -> Vec<AutomaticEdge> {
    let config = &memory.config.insert;
    let thresholds = memory.config.cosines().unwrap();
    let in_batch = |id: NodeId| batch.iter().any(|other| other.id == id);
    let mut edges: Vec<AutomaticEdge> = Vec::new();
    for keyword in &note.keywords {
        let number = view.keyword_number(keyword);
        let shares = |id: NodeId| {
            let has = |number| view.find(id).is_some_and(|ix| view.keywords(ix).contains(&number));
            id != note.id && !in_batch(id) && number.is_some_and(has)
        };
        let sharing = batch.iter().filter(|other| other.keywords.contains(keyword));
        let found = naive_nearest(memory, note, config.keyword_edges, &shares, sharing);
        for near in found.iter().filter(|near| near.cosine >= thresholds.keyword) {
            match edges.iter_mut().find(|edge| edge.dst == near.id) {
                Some(edge) => edge.reason = format!("{}, {keyword}", edge.reason),
                None => edges.push(AutomaticEdge {
                    dst: near.id,
                    kind: EdgeKind::Keyword,
                    cosine: near.cosine,
                    reason: keyword.clone(),
                }),
            }
        }
    }
    let live =
        |id: NodeId| id != note.id && !in_batch(id) && view.find(id).is_some_and(|ix| view.is_live(ix));
    let pool = naive_nearest(memory, note, config.semantic_pool, &live, batch.iter());
    let relevance: Vec<f64> = pool.iter().map(|near| near.cosine).collect();
    let alike = |a: usize, b: usize| cosine(&pool[a].vector, &pool[b].vector);
    let chosen = mmr(&relevance, config.semantic_lambda, alike).map(|at| &pool[at]);
    for near in chosen.take_while(|near| near.cosine >= thresholds.semantic) {
        let other = batch.iter().find(|other| other.id == near.id);
        let text =
            other.map_or_else(|| memory.store.node(near.id).unwrap().unwrap().text(), |it| it.text.clone());
        if !WordProfile::of(&note.text).is_lookalike_of(&WordProfile::of(&text)) {
            let (dst, cosine) = (near.id, near.cosine);
            edges.push(AutomaticEdge { dst, kind: EdgeKind::Semantic, cosine, reason: String::new() });
        }
    }
    edges
}

fn naive_nearest<'a>(
    memory: &Memory,
    note: &BatchNote,
    k: usize,
    keep: &dyn Fn(NodeId) -> bool,
    batch: impl Iterator<Item = &'a BatchNote>,
) -> Vec<NearestNote> {
    let vectors =
        |note: &'a BatchNote| note.vectors.iter().filter(|vector| vector.iter().any(|&value| value != 0.0));
    let own = || note.vectors.iter().filter(|vector| vector.iter().any(|&value| value != 0.0));
    let mut found: Vec<NearestNote> = batch
        .filter(|other| other.id != note.id)
        .filter_map(|other| {
            let pairs = own().flat_map(|own| vectors(other).map(move |vector| (cosine(own, vector), vector)));
            let (cosine, vector) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(NearestNote { id: other.id, cosine, vector: vector.as_slice().into() })
        })
        .collect();
    for near in own().flat_map(|vector| nearest::nearest(&*memory.vectors, vector, k, keep).unwrap()) {
        match found.iter_mut().find(|other| other.id == near.id) {
            Some(other) if other.cosine >= near.cosine => {}
            Some(other) => *other = near,
            None => found.push(near),
        }
    }
    found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
    found.truncate(k);
    found
}

fn some(text: &str, keywords: &[u8]) -> Draft {
    Draft { keywords: Some(keywords.iter().map(|word| format!("k{word}")).collect()), ..draft(text) }
}

const WORDS: [&str; 6] = ["heron", "reeds", "mast 12", "gull", "weir", "otter"];

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Notes use a small vocabulary, so that many are similar; some are updated or retired before. With few candidates,
    /// those that are updated in the batch may be all that are selected at first.
    #[test]
    fn edges_equal_searches_of_all_notes(
        notes in proptest::collection::vec(
            (proptest::collection::vec(0usize..6, 1..6), proptest::collection::vec(0u8..4, 0..3), 0u8..6),
            1..30,
        ),
        stored in 0usize..30,
        semantic_pool in prop::sample::select(&[1usize, 3, 20][..]),
    ) {
        let mut config = Config::defaults().unwrap();
        config.insert.semantic_pool = semantic_pool;
        let memory = TestMemory::with(config);
        let text = |words: &[usize]| words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
        let stored = stored.min(notes.len());
        let mut ids = Vec::new();
        for (words, keywords, action) in &notes[..stored] {
            let supersedes = ids.last().copied().filter(|_| *action == 0);
            let note = Draft { supersedes, ..some(&text(words), keywords) };
            ids.extend(insert::insert(&memory, note, memory.cause("manual", "insert")).map(|done| done.id));
        }
        let view = memory.store.view();
        let batch: Vec<BatchNote> = notes[stored..]
            .iter()
            .enumerate()
            .map(|(at, (words, keywords, action))| {
                let text = text(words);
                let vectors = memory.embedder.embed(&[&text, WORDS[at % 6]]).unwrap();
                // Some are updates of notes that are indexed with another text.
                let updated = ids.get(at).copied().filter(|_| *action < 4);
                let mut words: Vec<String> = keywords.iter().map(|word| format!("k{word}")).collect();
                words.dedup();
                let id = updated.unwrap_or_else(|| memory.new_node_id());
                BatchNote { id, text, keywords: words, vectors, is_quotation: false }
            })
            .collect();
        let found = find(&memory, &view, &batch).unwrap();
        prop_assert_eq!(found.len(), batch.len());
        for (at, (edges, _)) in found.iter().enumerate() {
            prop_assert_eq!(edges, &naive(&memory, &view, &batch[at], &batch[..at]));
        }
    }
}

/// With HNSW, a keyword on more notes than are compared still leads to the nearest of them.
#[test]
fn a_keyword_on_every_note_leads_to_near_notes() {
    let mut config = Config::defaults().unwrap();
    config.vectors.exact_below = 100;
    let memory = TestMemory::with(config);
    let number = |n: usize| format!("{} {}", WORDS[n % 6], ["wind", "rain", "snow", "fog"][n % 4]);
    let drafts: Vec<Draft> =
        (0..MAX_KEYWORD_NOTES + 200).map(|n| some(&format!("{} and page {n}", number(n)), &[0])).collect();
    for chunk in drafts.chunks(200) {
        let prepared = insert::prepare_all(&memory, chunk.to_vec()).unwrap();
        let cause = memory.cause("manual", "insert");
        let now = cause.at;
        let stored = memory.store.transact(cause, |tx| {
            prepared.iter().try_for_each(|note| insert::apply(tx, note.as_ref().unwrap(), now).map(|_| ()))
        });
        let () = stored.unwrap().value;
    }
    let view = memory.store.view();
    assert_eq!(view.keyword_uses(view.keyword_number("k0").unwrap()) as usize, MAX_KEYWORD_NOTES + 200);
    // The nearest note is older than those that are compared: only the candidates of similar meaning contain it.
    let (text, keywords) = (format!("{} and page 3", number(3)), vec!["k0".to_owned()]);
    let vectors = memory.embedder.embed(&[&text]).unwrap();
    let note = BatchNote { id: memory.new_node_id(), text, keywords, vectors, is_quotation: false };
    assert!(!memory.vectors.note_cosines(&[&note.vectors], 1).unwrap().is_exact());
    let (edges, _) = find(&memory, &view, std::slice::from_ref(&note)).unwrap().remove(0);
    let of_keyword: Vec<&AutomaticEdge> =
        edges.iter().filter(|edge| edge.kind == EdgeKind::Keyword).collect();
    assert_eq!(of_keyword.len(), memory.config.insert.keyword_edges);
    assert!(of_keyword[0].cosine > 0.999, "{of_keyword:?}");
}
