mod identifiers;

use super::candidates::RetrievalQuery;
use super::retriever::DEPTH;
use super::*;
use poc_config::{Config, Fusion};
use poc_embed::{Embedder, HashEmbedder};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Delta, EdgeKind, Node, NodeId, State, Trust, View, Visibility, testing};
use poc_index::{MentionIndex, TextIndex, VectorIndex, testing as indexes};
use poc_rank::standard_score::Moments;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The `hash` embedder, optionally presented as a contextual embedder.
struct Hashed {
    inner: HashEmbedder,
    contextual: bool,
}

impl Embedder for Hashed {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }
    fn contextual(&self) -> bool {
        self.contextual
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.inner.embed(texts)
    }
}

struct World {
    config: Config,
    embedder: Hashed,
    view: View,
    text: TextIndex,
    vectors: VectorIndex,
    mentions: MentionIndex,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(notes: &[(&str, &str)]) -> World {
        let notes: Vec<Node> =
            (0u64..).zip(notes).map(|(number, (title, body))| note(number, title, body)).collect();
        World::of(&notes, &[])
    }

    /// Adds notes that follow each other in a session.
    fn of(notes: &[Node], sessions: &[(u64, u64)]) -> World {
        World::with(Config::defaults().unwrap(), notes, sessions)
    }

    fn with(config: Config, notes: &[Node], sessions: &[(u64, u64)]) -> World {
        let embedder = Hashed { inner: HashEmbedder::new(256).unwrap(), contextual: false };
        let mut deltas = Vec::new();
        for node in notes {
            for (part, text) in [(0, &node.title), (1, &node.body)] {
                deltas.push(Delta::Vector(node.id, part, embedder.embed_one(text).unwrap().into()));
            }
            deltas.push(Delta::Node(Arc::new(node.clone())));
        }
        for &(first, last) in sessions {
            for number in first..last {
                for (a, b) in [(number, number + 1), (number + 1, number)] {
                    deltas.push(Delta::Edge(testing::edge(a, b, EdgeKind::Structural, 1.0)));
                }
            }
        }
        let (folder, text, vectors) = indexes::fed(&config, &embedder, &deltas);
        let mentions = indexes::mentions(&deltas);
        let mut view = View::new();
        view.apply(1, &deltas);
        World { config, embedder, view, text, vectors, mentions, _folder: folder }
    }

    fn find(&self, text: &str, wanted: usize) -> Retrieval {
        self.seen(text, wanted, Visibility::of_person(Timestamp(0)))
    }

    fn seen(&self, text: &str, wanted: usize, visibility: Visibility) -> Retrieval {
        self.retriever().find(text, wanted, visibility).unwrap()
    }

    fn retriever(&self) -> Retriever<'_> {
        Retriever {
            view: &self.view,
            text: &self.text,
            vectors: &self.vectors,
            mentions: &self.mentions,
            embedder: &self.embedder,
            config: &self.config.retrieve,
            except: &[],
            hidden: None,
            list_derived: false,
        }
    }

    fn contextual(mut self) -> World {
        self.embedder.contextual = true;
        self
    }

    fn by_ranks(mut self) -> World {
        self.config.retrieve.fusion = Fusion::Rrf;
        self
    }
}

fn note(number: u64, title: &str, body: &str) -> Node {
    Node { title: title.into(), body: body.into(), ..testing::node(number) }
}

fn number(id: NodeId) -> u64 {
    (0..1000).find(|&number| testing::node(number).id == id).unwrap()
}

fn numbers(found: &Retrieval) -> Vec<u64> {
    found.hits.iter().map(|hit| number(hit.id)).collect()
}

fn share(hit: &RetrievalHit, signal: &str) -> f64 {
    hit.shares.iter().find(|(name, _)| *name == signal).map_or(0.0, |(_, share)| *share)
}

#[test]
fn rank_fusion_scores_hits_by_their_ranks() {
    let world = World::new(&[
        ("Journal", "Changes are appended before pages are touched"),
        ("Pages", "A journal records every change"),
        ("Soup", "Lentils and lemon"),
    ])
    .by_ranks();
    let found = world.find("journal", 10);
    assert_eq!(found.named, [("meaning", 3), ("title", 1), ("text", 1)]);
    let ranks: Vec<_> = found.hits.iter().map(|hit| (number(hit.id), hit.ranks.clone())).collect();
    assert_eq!(
        ranks,
        [
            (0, vec![("meaning", 1), ("title", 1)]),
            (1, vec![("meaning", 2), ("text", 1)]),
            (2, vec![("meaning", 3)])
        ]
    );
    for hit in &found.hits {
        let expected: f64 = hit.ranks.iter().map(|&(_, rank)| 1.0 / (60.0 + rank as f64)).sum();
        assert!((hit.score - expected).abs() < 1e-12 && hit.score <= 3.0 / 61.0);
        let shares: f64 = hit.shares.iter().map(|(_, share)| share).sum();
        assert!((hit.score - shares).abs() < 1e-12);
    }
    assert_eq!(world.find("journal", 1).hits, found.hits[..1]);
}

#[test]
fn weights_of_rank_fusion_are_settings() {
    let mut world = World::new(&[("Journal", "Lemon"), ("Lemon", "Journal")]).by_ranks();
    world.config.retrieve.rrf.vector_weight = 0.0;
    world.config.retrieve.rrf.body_weight = 2.0;
    let found = world.find("journal", 9);
    let scores: Vec<(u64, f64)> = found.hits.iter().map(|hit| (number(hit.id), hit.score)).collect();
    assert_eq!(scores, [(1, 2.0 / 61.0), (0, 1.0 / 61.0)]);
}

#[test]
fn an_excluded_note_does_not_affect_ranks_or_means() {
    let all: Vec<Node> =
        (0..60).map(|number| note(number, &format!("harbour {number}"), "harbour and quay")).collect();
    let hidden = |note: &Node| number(note.id).is_multiple_of(2);
    let quarantined = |note: &Node| Node {
        trust: if hidden(note) { Trust::Quarantined } else { Trust::User },
        ..note.clone()
    };
    let expired = |note: &Node| Node { expires: hidden(note).then_some(Timestamp(0)), ..note.clone() };
    let some: Vec<Node> = all.iter().filter(|note| !hidden(note)).cloned().collect();
    let model = Visibility::of_model(Timestamp(0));
    let alone = World::of(&some, &[]).seen("harbour 7", MAX_HITS, model);
    for half in [all.iter().map(quarantined).collect::<Vec<_>>(), all.iter().map(expired).collect()] {
        let world = World::of(&half, &[]);
        let found = world.seen("harbour 7", MAX_HITS, model);
        assert_eq!((numbers(&found), &found.named), (numbers(&alone), &alone.named));
        // The index includes the excluded note in document frequencies and lengths, so BM25 itself differs.
        assert!((share(&found.hits[0], "meaning") - share(&alone.hits[0], "meaning")).abs() < 1e-6);
        assert_eq!(
            world.by_ranks().seen("harbour", MAX_HITS, model).named,
            [("meaning", 30), ("title", 30), ("text", 30)]
        );
    }
    let world = World::of(&all, &[]);
    assert_eq!(
        world.find("harbour", MAX_HITS).named,
        [("meaning", 60); 1].into_iter().chain([("words", 60)]).collect::<Vec<_>>()
    );
    assert_eq!(world.find("harbour", 7).named, [("meaning", DEPTH), ("words", DEPTH)]);
}

#[test]
fn a_text_without_content_finds_nothing() {
    let world = World::new(&[("Journal", "Lemon")]);
    assert_eq!(world.find("…", 9).hits, []);
    assert_eq!(world.by_ranks().find("…", 9).hits, []);
}

#[test]
fn retired_notes_are_not_found() {
    let retired = Node { state: State::Superseded, ..note(0, "Harbour", "harbour") };
    let world = World::of(&[retired, note(1, "Harbour", "quay")], &[]);
    assert_eq!(numbers(&world.find("harbour", 9)), [1]);
}

/// A direct implementation of the fusion's definition, over all notes.
fn naive(world: &World, text: &str, notes: &[Node], sessions: &[(u64, u64)]) -> Vec<(u64, f64)> {
    let vector = world.embedder.embed_one(text).unwrap();
    let (words, near) = (world.text.scores(text), world.vectors.cosine_scores(&vector).unwrap());
    let live: Vec<&Node> = notes.iter().filter(|note| note.state == State::Active).collect();
    let scale = |of: &dyn Fn(NodeId) -> f64| {
        let mut sums = Moments::default();
        live.iter().for_each(|note| sums.add(of(note.id)));
        sums.scale(live.len())
    };
    let bm25 = |id| words.hits().find(|hit| hit.id == id).map_or(0.0, |hit| hit.score);
    let cosine = |id| near.nearest_passage(id).map_or(0.0, |hit| hit.cosine);
    let (by_words, by_meaning) = (scale(&bm25), scale(&cosine));
    // The weight of the meaning, by the clarity of the words.
    let clearest = live.iter().map(|note| bm25(note.id)).fold(0.0, f64::max);
    let clarity = (clearest * by_words.standard(clearest).max(0.0)).sqrt();
    let weight = if world.embedder.contextual { 0.5 * (12.0 / clarity).clamp(1.0, 4.0) } else { 0.5 };
    let mut own: BTreeMap<u64, f64> = live
        .iter()
        .map(|note| {
            let (a, b) = (by_words.standard(bm25(note.id)), by_meaning.standard(cosine(note.id)));
            (number(note.id), a + weight * b * b.abs())
        })
        .collect();
    let best = own.values().copied().fold(0.0, f64::max);
    for id in words.terms().nodes_with_names() {
        if let Some(own) = own.get_mut(&number(id)) {
            *own += best;
        }
    }
    for id in world.mentions.in_text(text) {
        if let Some(own) = own.get_mut(&number(id)) {
            *own += 0.75 * best;
        }
    }
    let mut best_ten: Vec<(u64, f64)> =
        own.iter().map(|(at, own)| (*at, *own)).filter(|(_, own)| *own > 0.0).collect();
    best_ten.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best_ten.truncate(10);
    let five: Vec<NodeId> = best_ten.iter().take(5).map(|(at, _)| testing::node(*at).id).collect();
    // In a small store a rare name may occur in a tenth of the notes.
    let max = (live.len() / 10).clamp(2, 20);
    let sharing = world.mentions.sharing_names(&five, max, text);
    let by_name = |at: u64| {
        let paths = best_ten.iter().zip(&sharing).flat_map(|((_, own), sharing)| {
            let with = sharing.iter().filter(|(id, _)| number(*id) == at);
            with.map(move |(_, count)| 0.38 * own * (max + 2 - count) as f64 / max as f64)
        });
        paths.fold(0.0, f64::max)
    };
    let by_mention = |at: u64| {
        let best = |ids: Vec<NodeId>| {
            let ids: Vec<u64> = ids.into_iter().map(number).collect();
            let near = best_ten.iter().filter(|(other, _)| ids.contains(other));
            near.map(|(_, own)| *own).fold(0.0, f64::max)
        };
        let id = testing::node(at).id;
        (0.35 * best(world.mentions.mentioning(id)))
            .max(0.30 * best(world.mentions.mentioned_by(id)))
            .max(by_name(at))
    };
    let worth = |number: Option<u64>, of: u64| {
        let session =
            |number: u64| sessions.iter().position(|(first, last)| (*first..=*last).contains(&number));
        let there = number.filter(|&number| session(number).is_some() && session(number) == session(of));
        there.and_then(|number| own.get(&number)).map_or(0.0, |own| own.max(0.0))
    };
    let is_linked = |at: u64| {
        let id = testing::node(at).id;
        let in_session = sessions.iter().any(|(first, last)| first < last && (*first..=*last).contains(&at));
        in_session || !world.mentions.mentioning(id).is_empty() || !world.mentions.mentioned_by(id).is_empty()
    };
    let by_likeness = |at: u64| {
        if !world.embedder.contextual || is_linked(at) {
            return 0.0;
        }
        let near = own.iter().filter(|(other, own)| **other != at && **own > 0.0);
        let mut near: Vec<(f64, f64)> = near
            .filter_map(|(other, own)| {
                Some((world.vectors.similarity(testing::node(at).id, testing::node(*other).id)?, *own))
            })
            .filter(|(cosine, _)| *cosine > 0.6)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter().take(5).map(|(cosine, own)| 0.75 / 5.0 * cosine * own).sum()
    };
    // Every run of five notes of a session, or the whole session if it is shorter, with a note that scores.
    let mut windows: Vec<(u64, u64, f64)> = Vec::new();
    for &(first, last) in sessions.iter().filter(|(first, last)| first < last) {
        for start in first..=last.saturating_sub(4).max(first) {
            let window = start..=(start + 4).min(last);
            let ids: Vec<NodeId> = window.clone().map(|at| testing::node(at).id).collect();
            let words = by_words.standard(words.joined().of(&ids));
            let mean = ids.iter().map(|id| cosine(*id)).sum::<f64>() / ids.len() as f64;
            let meaning = by_meaning.standard(mean);
            if window.clone().any(|at| own.get(&at).is_some_and(|own| *own > 0.0)) {
                windows.push((*window.start(), *window.end(), words + weight * meaning * meaning.abs()));
            }
        }
    }
    let by_window = |at: u64| {
        let around = windows.iter().filter(|(first, last, _)| (*first..=*last).contains(&at));
        around.map(|(.., score)| 0.7 * score).fold(0.0, f64::max)
    };
    let mut found: Vec<(u64, f64)> = own
        .iter()
        .map(|(&at, own)| {
            let beside = worth(at.checked_sub(1), at) + worth(Some(at + 1), at);
            let further = worth(at.checked_sub(2), at) + worth(Some(at + 2), at);
            (at, own + by_mention(at) + 0.25 * beside + 0.20 * further + by_window(at) + by_likeness(at))
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

const WORDS: [&str; 10] =
    ["Harbour", "harbour", "quay", "INC-7", "INC-8", "store_open", "lemon", "the", "soup", "lighthouse"];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..6).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The result agrees with scoring every note, each score is the sum of its shares, and a shorter result is a
    /// prefix of a longer one.
    #[test]
    fn score_fusion_agrees_with_its_definition(
        texts in proptest::collection::vec((text(), text()), 1..30), query in text(), cut in 0u64..30, wanted in 1usize..40,
        rest in any::<bool>(), contextual in any::<bool>(),
    ) {
        let notes: Vec<Node> = (0..).zip(&texts).map(|(number, (title, body))| note(number, title, body)).collect();
        let last = notes.len() as u64 - 1;
        let cut = cut.min(last);
        let mut sessions = vec![(0, cut)];
        if cut < last && rest {
            sessions.push((cut + 1, last));
        }
        let world = World::of(&notes, &sessions);
        let world = if contextual { world.contextual() } else { world };
        let found = world.find(&query, wanted);
        let expected = naive(&world, &query, &notes, &sessions);
        prop_assert_eq!(found.hits.len(), wanted.min(notes.len()));
        for (hit, (_, score)) in found.hits.iter().zip(&expected) {
            prop_assert!((hit.score - score).abs() < 1e-6, "{:?} {:?}", hit, expected);
            let shares: f64 = hit.shares.iter().map(|(_, share)| share).sum();
            prop_assert!((hit.score - shares).abs() < 1e-9);
        }
        prop_assert_eq!(&world.find(&query, 1).hits[..], &found.hits[..1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The same test with more notes than candidates, where names lead to further notes.
    #[test]
    fn score_fusion_of_many_notes_agrees_with_its_definition(
        picks in proptest::collection::vec((0usize..30, 0usize..30, 0usize..200, 0usize..200), 80..300),
        query in proptest::collection::vec(0usize..30, 1..3), wanted in 1usize..80,
    ) {
        let word = |at: usize| ["b", "d", "f", "g", "k", "l"][at % 6].repeat(1 + at / 6) + "o";
        let query = query.into_iter().map(word).collect::<Vec<_>>().join(" ");
        let text = |&(one, two, name, other)| format!("{} {} Name{name} Name{other}", word(one), word(two));
        let notes: Vec<Node> = (0..).zip(&picks).map(|(number, picks)| note(number, "", &text(picks))).collect();
        let world = World::of(&notes, &[]);
        let (found, expected) = (world.find(&query, wanted), naive(&world, &query, &notes, &[]));
        prop_assert_eq!(found.hits.len(), wanted);
        for (hit, (_, score)) in found.hits.iter().zip(&expected) {
            prop_assert!((hit.score - score).abs() < 1e-6, "{:?} {:?}", hit, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The best notes by both scores agree with scoring every note, whatever their rank in either list, with or without
    /// a vector. Hidden notes are not among them.
    #[test]
    fn no_note_among_many_is_missed(
        bodies in proptest::collection::vec(proptest::collection::vec((0u32..400, 0u32..3), 0..12), 20..90),
        query in proptest::collection::vec(0u32..60, 1..6), pool in 1usize..20, hidden in proptest::collection::vec(0usize..90, 0..20),
    ) {
        // Small numbers stand for common words.
        let text = |words: &[(u32, u32)]| {
            let letter = |number: u32| char::from(b"bcdfghjklmnpqrstvwxz"[number as usize % 20]);
            let words = words.iter().map(|&(number, times)| number >> (2 * times));
            words.map(|number| format!("{}a{}u ", letter(number / 20), letter(number))).collect::<String>()
        };
        let notes: Vec<Node> = (0..).zip(&bodies).map(|(number, words)| note(number, "", &text(words))).collect();
        let world = World::of(&notes, &[]);
        let except: Vec<NodeId> = hidden.iter().filter_map(|at| Some(notes.get(*at)?.id)).collect();
        let query = text(&query.iter().map(|&number| (number, 0)).collect::<Vec<_>>());
        let vector = world.embedder.embed_one(&query).unwrap();
        let retriever = world.retriever().without(&except);
        let question = RetrievalQuery::of(&retriever, &query, &vector, Visibility::of_person(Timestamp(0))).unwrap();
        let found = question.lists(5, pool).pool;

        let seen = || notes.iter().map(|note| note.id).filter(|id| !except.contains(id));
        let (words, near) = (world.text.scores(&query), world.vectors.cosine_scores(&vector).unwrap());
        let mut nearest: Vec<NodeId> = seen().filter(|id| near.of(*id).is_some()).collect();
        nearest.sort_by(|a, b| near.of(*b).unwrap().total_cmp(&near.of(*a).unwrap()).then(a.cmp(b)));
        nearest.truncate(pool);
        let mut expected: Vec<(f64, NodeId)> = seen()
            .filter(|id| words.of(*id) > 0.0 || nearest.contains(id))
            .map(|id| (question.score(question.base_score(words.of(id), near.of(id).unwrap_or(0.0))), id))
            .collect();
        expected.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        expected.truncate(pool);
        prop_assert_eq!(found.iter().map(|found| (found.score, found.id)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_hidden_note_is_in_no_window() {
    let session = |trust| {
        let mut notes: Vec<Node> =
            (0..4).map(|number| Node { trust, ..note(number, "", "nobody answered the door") }).collect();
        notes[0] = note(0, "", "the harbour at night");
        notes.extend((4..9).map(|number| note(number, "", "soup")));
        World::of(&notes, &[(0, 3)]).seen("harbour", 1, Visibility::of_model(Timestamp(0)))
    };
    assert!(share(&session(Trust::User).hits[0], "window") > 0.0);
    assert_eq!(share(&session(Trust::Quarantined).hits[0], "window"), 0.0);
}

#[test]
fn notes_missing_from_the_view_are_left_out() {
    let notes: Vec<Node> = (0..400).map(|number| note(number, "", "the keeper of the harbour")).collect();
    let mut world = World::of(&notes, &[]);
    let mut deltas: Vec<Delta> =
        notes[390..].iter().map(|note| Delta::Node(Arc::new(note.clone()))).collect();
    let retired = Node { state: State::Superseded, ..notes[3].clone() };
    deltas.push(Delta::Node(Arc::new(retired)));
    world.view = View::new();
    world.view.apply(1, &deltas);
    let found = world.find("harbour", 20);
    assert_eq!(numbers(&found), (390..400).collect::<Vec<_>>());
    assert_eq!(found.named, [("meaning", 10), ("words", 10)]);
}

#[test]
fn a_note_linked_with_a_good_note_gets_a_share_of_its_score() {
    let bodies = ["The harbour at night", "Soup and lemon", "Bread and butter", "Nobody answered", "Oil"];
    let notes: Vec<Node> = (0..).zip(bodies).map(|(number, body)| note(number, "", body)).collect();
    let with = |links: &[(u64, u64, EdgeKind)]| {
        let mut world = World::of(&notes, &[]);
        let links = links.iter().map(|&(from, to, kind)| Delta::Edge(testing::edge(from, to, kind, 0.8)));
        world.view.apply(2, &links.collect::<Vec<_>>());
        world.find("the harbour at night", 5)
    };
    let share_of = |found: &Retrieval, at: u64| {
        let hit = found.hits.iter().find(|hit| number(hit.id) == at).unwrap();
        (share(hit, "link"), hit.linked_from)
    };
    let good = with(&[]).hits[0].score;
    let found = with(&[(0, 3, EdgeKind::Link), (4, 0, EdgeKind::Link), (0, 1, EdgeKind::Contradicts)]);
    for linked in [3, 4] {
        let (share, from) = share_of(&found, linked);
        assert!((share - 0.5 * 0.8 * good).abs() < 1e-6);
        assert_eq!(from, Some(testing::node(0).id));
    }
    assert_eq!(share_of(&found, 1), (0.0, None));
    // Notes that are not asked for pass nothing on.
    assert_eq!(share_of(&with(&[(1, 2, EdgeKind::Link)]), 2), (0.0, None));
}

#[test]
fn links_of_quarantined_and_superseded_notes_pass_nothing() {
    let good = || note(0, "", "The harbour at night");
    let linked = || note(1, "", "Soup and lemon");
    let share_between = |first: Node, second: Node, kind: EdgeKind| {
        let others = [note(2, "", "Bread and butter"), note(3, "", "Nobody answered")];
        let mut world = World::of(&[others.as_slice(), &[first, second]].concat(), &[]);
        world.view.apply(2, &[Delta::Edge(testing::edge(0, 1, kind, 0.8))]);
        // A person sees quarantined notes.
        let found = world.find("the harbour at night", 5);
        found.hits.iter().map(|hit| share(hit, "link")).sum::<f64>()
    };
    let quarantined = |note: Node| Node { trust: Trust::Quarantined, ..note };
    assert!(share_between(good(), linked(), EdgeKind::Link) > 0.0);
    assert_eq!(share_between(good(), quarantined(linked()), EdgeKind::Link), 0.0);
    assert_eq!(share_between(quarantined(good()), linked(), EdgeKind::Link), 0.0);
    let retired = Node { state: State::Superseded, ..linked() };
    assert_eq!(share_between(good(), retired, EdgeKind::Link), 0.0);
    for kind in [EdgeKind::Contradicts, EdgeKind::Supersedes] {
        assert_eq!(share_between(good(), linked(), kind), 0.0);
    }
}

/// Notes 0 to 4, where 4 was derived from 1 and 2.
fn with_fact(origins: [Node; 2], fact: Node) -> World {
    let [one, two] = origins;
    let others = [note(0, "", "Soup and lemon"), note(3, "", "The harbour at night")];
    let mut world = World::of(&[others.as_slice(), &[one, two, fact]].concat(), &[]);
    let derived = |origin| Delta::Edge(testing::edge(4, origin, EdgeKind::DerivedFrom, 1.0));
    world.view.apply(2, &[derived(1), derived(2)]);
    world
}

#[test]
fn a_derived_note_leads_to_its_origins_and_is_represented_by_them() {
    let origins = || [note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")];
    let fact = || note(4, "", "Lin lives in Lisbon");
    let world = with_fact(origins(), fact());
    let find = |world: &World, list: bool| {
        let retriever = world.retriever().listing_derived(list);
        retriever.find("where does Lin live, in Lisbon?", 5, Visibility::of_person(Timestamp(0))).unwrap()
    };
    let folded = find(&world, false);
    let listed = find(&world, true);
    assert_eq!(numbers(&listed)[0], 4);
    assert_eq!(listed.hits[0].derived, None);
    let places = |found: &Retrieval, at: u64| found.hits.iter().position(|hit| number(hit.id) == at);
    assert_eq!(places(&folded, 4), None);
    for origin in [1, 2] {
        let hit = &folded.hits[places(&folded, origin).unwrap()];
        assert_eq!(hit.derived, Some(testing::node(4).id));
        assert!((share(hit, "derived") - 0.5 * listed.hits[0].score).abs() < 1e-9);
        assert!(places(&folded, origin) < Some(2));
    }
    assert_eq!(folded.hits.len(), 4);

    // The note is treated like others if none of its sources can be found, or if it is requested by its key.
    let retired = origins().map(|note| Node { state: State::Superseded, ..note });
    assert_eq!(numbers(&find(&with_fact(retired, fact()), false))[0], 4);
    let key = world.view.key(world.view.find(testing::node(4).id).unwrap()).to_owned();
    assert_eq!(numbers(&world.find(&key, 5))[0], 4);
    // A single visible source is enough.
    let [one, two] = origins();
    let world = with_fact([Node { trust: Trust::Quarantined, ..one }, two], fact());
    let found = world.seen("where does Lin live, in Lisbon?", 5, Visibility::of_model(Timestamp(0)));
    assert_eq!(numbers(&found)[0], 2);
    assert!(!numbers(&found).contains(&4));
}

#[test]
fn a_quarantined_derived_note_leads_nowhere() {
    let fact = Node { trust: Trust::Quarantined, ..note(4, "", "Lin lives in Lisbon") };
    let world = with_fact([note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")], fact);
    let found = world.seen("where does Lin live?", 5, Visibility::of_model(Timestamp(0)));
    assert!(found.hits.iter().all(|hit| hit.derived.is_none() && share(hit, "derived") == 0.0));
}

#[test]
fn neighbors_in_a_session_are_found_too() {
    let notes: Vec<Node> =
        ["Good morning", "Did you see the lighthouse?", "Yes, yesterday", "Nice", "Soup then"]
            .iter()
            .enumerate()
            .map(|(number, body)| note(number as u64, "", body))
            .collect();
    let mut world = World::of(&notes, &[(0, 4)]);
    let found = world.find("who saw the lighthouse", 5);
    assert_eq!(numbers(&found)[0], 1);
    let of = |found: &Retrieval, at: u64| found.hits.iter().find(|hit| number(hit.id) == at).unwrap().clone();
    assert!((share(&of(&found, 2), "order") - 0.25 * found.hits[0].score).abs() < 0.2 * found.hits[0].score);
    assert!(share(&of(&found, 3), "order") > 0.0);
    assert_eq!(share(&of(&found, 4), "order"), 0.0);
    world.config.retrieve.graph = false;
    assert!(world.find("who saw the lighthouse", 5).hits.iter().all(|hit| share(hit, "order") == 0.0));
}

#[test]
fn similar_notes_are_found_if_there_are_no_links() {
    let notes: Vec<Node> = (0..)
        .zip([
            "the keeper of the lighthouse at the harbour",
            "the keepers of a lighthouse at a harbour",
            "lentils and lemon",
            "the keeper of the lighthouse at a harbour",
            "so it is",
        ])
        .map(|(number, body)| note(number, "", body))
        .collect();
    let share_of = |world: &World, at: u64| {
        let found = world.find("who keeps the lighthouse at the harbour", 5);
        share(found.hits.iter().find(|hit| number(hit.id) == at).unwrap(), "alike")
    };
    let mut world = World::of(&notes, &[(3, 4)]).contextual();
    assert!(share_of(&world, 0) > 0.0 && share_of(&world, 1) > 0.0);
    // The note has no similar note, but is part of a session.
    assert_eq!((share_of(&world, 2), share_of(&world, 3)), (0.0, 0.0));
    world.config.retrieve.scores.alike_weight = 0.0;
    assert_eq!(share_of(&world, 0), 0.0);
    world.config.retrieve.scores.alike_weight = 0.75;
    world.config.retrieve.scores.alike_cosine = 1.0;
    assert_eq!(share_of(&world, 0), 0.0);
    world.config.retrieve.scores.alike_cosine = 0.6;
    world.config.retrieve.graph = false;
    assert_eq!(share_of(&world, 0), 0.0);
    assert_eq!(share_of(&World::of(&notes, &[]), 0), 0.0);
}

#[test]
fn notes_that_a_hit_mentions_or_is_mentioned_by_are_found_too() {
    let mut world = World::new(&[
        ("Ann Lee", "The keeper of the lighthouse was born in Port Albert."),
        ("Port Albert", "A town by the sea with a quay."),
        ("Soup", "Lentils, as Ann Lee made them."),
        ("Bread", "Flour and water."),
        ("Rain", "It falls."),
    ]);
    let found = world.find("where was the keeper of the lighthouse born", 5);
    let share = |found: &Retrieval, at: u64, signal| {
        share(found.hits.iter().find(|hit| number(hit.id) == at).unwrap(), signal)
    };
    assert_eq!(numbers(&found)[0], 0);
    assert!(share(&found, 1, "mention") > share(&found, 2, "mention") && share(&found, 2, "mention") > 0.0);
    assert_eq!(share(&found, 3, "mention"), 0.0);
    assert!(share(&world.find("what is Port Albert like", 5), 1, "named") > 0.0);
    assert_eq!(share(&world.find("what is a port like", 5), 1, "named"), 0.0);
    world.config.retrieve.graph = false;
    assert_eq!(share(&world.find("where was the keeper of the lighthouse born", 5), 1, "mention"), 0.0);
}

/// If all notes have the words of a question, the vector score weighs more with a contextual embedder. Rare words and
/// other embedders leave its weight unchanged.
#[test]
fn meaning_weighs_more_where_the_words_are_common() {
    let bodies: Vec<String> = (0..100)
        .map(|number| format!("The card payment was declined {number} times at shop {}", number % 7))
        .collect();
    let mut notes: Vec<(&str, &str)> = bodies.iter().map(|body| ("", body.as_str())).collect();
    notes.push(("", "Zebras graze beside the quarry near Ulaanbaatar"));
    let plain = World::new(&notes);
    let mut contextual = World::new(&notes).contextual();
    contextual.config.retrieve.scores.alike_weight = 0.0;
    let factors = |world: &World, text: &str| -> Vec<f64> {
        let (before, after) = (plain.find(text, 5), world.find(text, 50));
        let of = |hit: &RetrievalHit| {
            let same = after.hits.iter().find(|other| other.id == hit.id).unwrap();
            assert_eq!(share(same, "words"), share(hit, "words"));
            share(same, "meaning") / share(hit, "meaning")
        };
        before.hits.iter().map(of).collect()
    };
    let are = |factors: Vec<f64>, expected: f64| {
        assert!(factors.iter().all(|factor| (factor - expected).abs() < 1e-9), "{factors:?}");
    };
    are(factors(&contextual, "card payment declined"), 4.0);
    are(factors(&contextual, "zebras graze beside the quarry near Ulaanbaatar"), 1.0);
    contextual.config.retrieve.scores.meaning_factor = 1.5;
    are(factors(&contextual, "card payment declined"), 1.5);
    contextual.config.retrieve.scores.clear_words = 0.0;
    are(factors(&contextual, "card payment declined"), 1.0);
}
