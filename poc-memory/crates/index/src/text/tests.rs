//! Tests of the text index: scores, changes and snapshots.

use super::*;
use crate::testing::for_each_damage;
use crate::testing::history::{apply_history, history};
use poc_graph::{Node, testing};
use poc_rank::bm25;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The default settings, read only once because the innermost loop of a test needs them.
fn config() -> poc_config::TextConfig {
    static CONFIG: LazyLock<poc_config::TextConfig> =
        LazyLock::new(|| poc_config::Config::defaults().unwrap().text);
    CONFIG.clone()
}

fn open(directory: &Path) -> TextIndex {
    TextIndex::open(directory, &config()).unwrap()
}

fn note(number: u64, title: &str, body: &str) -> Node {
    Node { title: title.into(), body: body.into(), ..testing::node(number) }
}

fn put(node: &Node) -> Delta {
    Delta::Node(Arc::new(node.clone()))
}

fn filled(notes: &[Node]) -> TextIndex {
    let index = open(Path::new("/nonexistent"));
    index.apply(1, &notes.iter().map(put).collect::<Vec<_>>()).unwrap();
    index
}

fn ids(hits: &[TextHit]) -> Vec<NodeId> {
    hits.iter().map(|hit| hit.id).collect()
}

#[test]
fn a_word_sketch_matches_the_current_text_also_after_an_open() {
    let folder = poc_graph::testing::folder();
    let sketch = |note: &Node| Some(WordSketch::of(&note.text()));
    let (first, second) =
        (note(1, "Pumps", "Three pumps failed"), note(1, "Pumps", "Four valves were replaced"));
    let index = open(folder.path());
    for (seq, note) in [(1, &first), (2, &second)] {
        index.apply(seq, &[put(note)]).unwrap();
        assert_eq!(index.word_sketches([note.id].into_iter()), [sketch(note)]);
    }
    assert_ne!(sketch(&first), sketch(&second));
    index.checkpoint().unwrap();
    let index = open(folder.path());
    assert_eq!(index.word_sketches([second.id].into_iter()), [sketch(&second)]);
    index.apply(3, &[Delta::NodeDeleted(second.id)]).unwrap();
    assert_eq!(index.word_sketches([second.id].into_iter()), [None]);
}

/// BM25 computed by its formula from the texts.
fn brute(index: &TextIndex, notes: &[Node], query: &str, scope: TextScope) -> Vec<(NodeId, f64)> {
    let own = |note: &Node| note.own_title().unwrap_or_default().to_owned();
    let texts: Vec<(Vec<String>, Vec<String>)> = notes
        .iter()
        .map(|note| (index.tokenizer.terms(&own(note)), index.tokenizer.terms(&note.body)))
        .collect();
    let count = |terms: &[String], term: &str| terms.iter().filter(|other| *other == term).count() as f64;
    let measure = |(title, body): &(Vec<String>, Vec<String>), term: Option<&str>| {
        let of = |terms: &[String]| term.map_or(terms.len() as f64, |term| count(terms, term));
        match scope {
            TextScope::Field(TextField::Title) => of(title),
            TextScope::Field(TextField::Body) => of(body),
            TextScope::Both => config().title_weight * of(title) + of(body),
        }
    };
    let documents = match scope {
        TextScope::Both => texts.len(),
        _ => texts.iter().filter(|text| measure(text, None) > 0.0).count(),
    };
    let average = texts.iter().map(|text| measure(text, None)).sum::<f64>() / documents.max(1) as f64;
    let mut found: Vec<(NodeId, f64)> = Vec::new();
    for (note, text) in notes.iter().zip(&texts) {
        let mut score = 0.0;
        for term in index.tokenizer.query(query) {
            let containing = texts.iter().filter(|text| measure(text, Some(&term)) > 0.0).count();
            let (tf, length) = (measure(text, Some(&term)), measure(text, None));
            let saturation = bm25::saturation(tf, length, average, config().k1, config().b);
            score += bm25::idf(documents, containing) * saturation;
        }
        if score > 0.0 {
            found.push((note.id, score));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

/// The content of the index, independent of slots and numbers.
fn contents(index: &TextIndex) -> BTreeMap<NodeId, BTreeMap<String, (u16, u16)>> {
    let postings = index.content.read();
    let names: BTreeMap<u32, NodeId> = postings.documents().map(|(slot, id, ..)| (slot, id)).collect();
    let mut contents: BTreeMap<_, BTreeMap<_, _>> = names.values().map(|&id| (id, BTreeMap::new())).collect();
    for term in postings.terms() {
        for posting in term.postings.each() {
            let terms = contents.get_mut(&names[&posting.document]).unwrap();
            terms.insert(term.name.to_string(), (posting.title, posting.body));
        }
    }
    contents
}

const WORDS: [&str; 8] = ["tree", "Trees", "page", "split", "INC-7", "harbour", "the", "what"];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..8).prop_map(|words| words.join(" "))
}

poc_laws::laws! {
    // Few cases, because each one waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_agree_with_the_formula(texts in prop::collection::vec((text(), text()), 0..10), query in text()) {
        let notes: Vec<Node> =
            (0..).zip(&texts).map(|(number, (title, body))| note(number, title, body)).collect();
        let index = filled(&notes);
        for scope in [TextScope::Field(TextField::Title), TextScope::Field(TextField::Body), TextScope::Both] {
            let expected = brute(&index, &notes, &query, scope);
            let found = index.find(&query, scope, 100, &|_| true);
            prop_assert_eq!(found.len(), expected.len());
            for (hit, (_, score)) in found.iter().zip(&expected) {
                prop_assert!((hit.score - score).abs() < 1e-9, "{:?} {}", hit, score);
            }
            prop_assert_eq!(&index.find(&query, scope, 3, &|_| true)[..], &found[..found.len().min(3)]);
        }
        let (expected, scores) = (index.search_all(&query, 100), index.scores(&query));
        prop_assert_eq!(scores.hits().count(), expected.len());
        prop_assert!(scores.hits().all(|hit| expected.contains(&hit) && scores.of(hit.id) == hit.score));
        prop_assert_eq!(scores.of(testing::node(99).id), 0.0);
    }

    #[test]
    fn the_index_after_any_history_agrees_with_the_remaining_nodes(steps in history(0..6, text(), text()), query in text()) {
        let directory = poc_graph::testing::folder();
        let (index, notes) = apply_history(steps, &note, &|| open(directory.path()));
        let fresh = filled(&notes.into_values().collect::<Vec<_>>());
        prop_assert_eq!(contents(&index), contents(&fresh));
        // Terms are in another order, so sums may differ in the last bit.
        for (a, b) in index.search_all(&query, 9).iter().zip(fresh.search_all(&query, 9)) {
            prop_assert!((a.score - b.score).abs() < 1e-12);
        }
    }
}

/// Notes had other titles in its revision, so a store is not searched with it after an update.
#[test]
fn a_snapshot_of_an_earlier_revision_is_not_used() {
    let index = filled(&[note(1, "The best soup", "The **best** [soup](soup.md)")]);
    let directory = poc_graph::testing::folder();
    let path = directory.path().join("snapshot");
    for (tokens, is_used) in [(3, false), (4, true)] {
        let fingerprint = Fingerprint::of(&format!("text index 4, tokens {tokens}, {}", config().language));
        let bytes = snapshot::encode(&index.content.read()).unwrap();
        poc_store::atomic_file::write(&path, fingerprint, 7, &[&bytes]).unwrap();
        let opened = open(directory.path());
        let expected = if is_used { (7, Some(7)) } else { (0, None) };
        assert_eq!((opened.applied(), opened.claimed_seq()), expected);
        assert_eq!(contents(&opened) == contents(&index), is_used);
    }
}

#[test]
fn a_whole_identifier_scores_more_than_its_parts() {
    let notes: Vec<Node> = (0..50)
        .map(|number| {
            note(number, &format!("Incident INC-900{number}"), "INC 90037 mentioned in passing, inc")
        })
        .collect();
    assert_eq!(ids(&filled(&notes).search_all("INC-90037", 1)), [notes[37].id]);
}

#[test]
fn names_of_a_query_and_the_coverage_of_a_note() {
    let notes =
        [note(1, "Soup", "INC-7 in the harbour"), note(2, "INC-7", ""), note(3, "INC 7", "inc-71 harbours")];
    let index = filled(&notes);
    let scores = index.query_terms("what of INC-7 in the harbour?");
    assert_eq!(scores.nodes_with_names().collect::<Vec<_>>(), [notes[0].id, notes[1].id]);
    let covered = [0, 1, 2].map(|at: usize| scores.coverage(notes[at].id, "", &[]));
    assert_eq!(covered[0], 1.0);
    assert!(covered[1] > 0.5 && covered[1] < 1.0 && covered[2] > 0.3, "{covered:?}");
    drop(scores);
    // A word that occurs in no note lowers the coverage of all notes.
    assert!(index.query_terms("zebra in the harbour").coverage(notes[0].id, "", &[]) < 0.5);
    // The key counts if it is passed.
    assert_eq!(index.query_terms("zebra/2").coverage(notes[0].id, "", &[]), 0.0);
    assert_eq!(index.query_terms("zebra/2").coverage(notes[0].id, "zebra/2", &[]), 1.0);
    // A note that is left out counts as little as one that does not exist.
    let rest = filled(&[notes[0].clone(), notes[2].clone()]);
    let of = |index: &TextIndex, except: &[NodeId]| {
        index.query_terms("INC-7 in the zebra harbour").coverage(notes[0].id, "", except)
    };
    assert_eq!(of(&index, &[notes[1].id]), of(&rest, &[]));
    assert!(of(&index, &[notes[1].id]) != of(&index, &[]));
}

#[test]
fn other_names_are_searched_like_the_title() {
    let named = Node { other_names: vec!["Zebra Plan".into()], ..note(1, "Roadmap", "What comes first.") };
    let plain = note(2, "Roadmap", "What comes first, with a zebra.");
    let index = filled(&[named.clone(), plain]);
    assert_eq!(ids(&index.search("zebra", TextField::Title, 9, &|_| true)), [named.id]);
    index.apply(2, &[put(&note(1, "Roadmap", "What comes first."))]).unwrap();
    assert_eq!(ids(&index.search("zebra", TextField::Title, 9, &|_| true)), []);
}

#[test]
fn a_key_that_is_written_like_a_title_is_searched_like_one() {
    let person = Node { key: "people/Freya Lund".into(), ..note(1, "", "Agent in Copenhagen.") };
    let index = filled(&[person.clone(), note(2, "", "Call the Lund office.")]);
    assert_eq!(ids(&index.search("lund", TextField::Title, 9, &|_| true)), [person.id]);
    let coverage = index.query_terms("Freya Lund agent").coverage(person.id, "", &[]);
    assert!(coverage >= QueryTerms::FULL_COVERAGE, "{coverage}");
    index.apply(2, &[put(&Node { key: "people/agent".into(), ..person })]).unwrap();
    assert_eq!(ids(&index.search("lund", TextField::Title, 9, &|_| true)), []);
}

#[test]
fn a_title_scores_more_than_a_body() {
    let notes = [note(1, "Soup", "about the harbour"), note(2, "Harbour", "about the soup")];
    let index = filled(&notes);
    assert_eq!(ids(&index.search_all("harbour", 9)), [notes[1].id, notes[0].id]);
    assert_eq!(ids(&index.search("harbour", TextField::Title, 9, &|_| true)), [notes[1].id]);
    assert_eq!(ids(&index.search("harbour", TextField::Body, 9, &|_| true)), [notes[0].id]);
    assert_eq!(ids(&index.search("harbour", TextField::Body, 9, &|id| id != notes[0].id)), []);
    assert_eq!(index.search_all("harbour", 0), []);
    assert_eq!(index.search_all("zebra", 9), []);
}

#[test]
fn equal_scores_are_ordered_by_id() {
    let notes: Vec<Node> = [3, 1, 2].into_iter().map(|number| note(number, "Harbour", "")).collect();
    assert_eq!(ids(&filled(&notes).search_all("harbour", 2)), [notes[1].id, notes[2].id]);
}

#[test]
fn a_snapshot_of_another_language_is_not_used() {
    let directory = poc_graph::testing::folder();
    let index = open(directory.path());
    index.apply(5, &[put(&note(1, "Harbour", ""))]).unwrap();
    index.checkpoint().unwrap();
    assert_eq!(open(directory.path()).applied(), 5);
    let german = poc_config::TextConfig { language: "german".into(), ..config() };
    assert_eq!(TextIndex::open(directory.path(), &german).unwrap().applied(), 0);
}

#[test]
fn damaged_snapshots_are_not_loaded() {
    let directory = poc_graph::testing::folder();
    let index = open(directory.path());
    let notes: Vec<Node> = (0..20).map(|number| note(number, "Harbour INC-7", "a page splits")).collect();
    index.apply(5, &notes.iter().map(put).collect::<Vec<_>>()).unwrap();
    index.checkpoint().unwrap();
    let path = directory.path().join("snapshot");
    for_each_damage(&path, |damage| {
        let opened = open(directory.path());
        assert_eq!((opened.applied(), opened.search_all("harbour", 9).len()), (0, 0), "damage {damage}");
    });
    assert_eq!(open(directory.path()).search_all("harbour", 99).len(), 20);
}

#[test]
fn a_reset_removes_the_snapshot() {
    let directory = poc_graph::testing::folder();
    let index = open(directory.path());
    index.apply(5, &[put(&note(1, "Harbour", ""))]).unwrap();
    index.checkpoint().unwrap();
    index.reset().unwrap();
    assert_eq!((index.applied(), open(directory.path()).applied()), (0, 0));
}

#[test]
fn settings_out_of_range_are_errors() {
    let check =
        |text: poc_config::TextConfig| TextIndex::open(Path::new("/nonexistent"), &text).err().unwrap();
    insta::assert_snapshot!(check(poc_config::TextConfig { k1: -1.0, ..config() }), @"`text.k1`: k1 of BM25 cannot be -1");
    insta::assert_snapshot!(check(poc_config::TextConfig { b: 1.5, ..config() }), @"`text.b`: b of BM25 cannot be 1.5");
    let report = check(poc_config::TextConfig { title_weight: -1.0, ..config() });
    insta::assert_snapshot!(report, @"`text.title-weight`: a term of a title cannot count -1 times");
}
