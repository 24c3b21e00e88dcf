//! Inserting, updating, superseding, linking, weighting and deleting single notes.

mod shared_snapshot;

use super::link::{self, Link, LinkOutcome};
use super::testing::{TestMemory, draft};
use super::weight::{self, WeightChange};
use super::{Draft, Memory, batch, delete, history, insert, supersede, visit};
use poc_config::Config;
use poc_embed::Embedder;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Span;
use poc_graph::{Edge, EdgeKind, Node, NodeId, State, Trust, VisitOutcome, former_title_of, title_of};
use poc_store::Transaction;
use serde_json::json;
use std::sync::Arc;

fn describe(error: Error) -> String {
    format!("{}: {error}\n{}", error.code.name(), error.hint.as_deref().unwrap_or_default())
}

fn write<T>(memory: &TestMemory, build: impl Fn(&mut Transaction) -> Result<T>) -> Result<T> {
    memory.store.transact(memory.cause("manual", "test"), build).map(|done| done.value)
}

fn node(memory: &TestMemory, id: NodeId) -> Node {
    memory.store.node(id).unwrap().unwrap()
}

fn edges(memory: &TestMemory, id: NodeId, kind: EdgeKind) -> Vec<Edge> {
    memory.store.edges(id).unwrap().into_iter().filter(|edge| edge.kind == kind).collect()
}

fn linked(memory: &TestMemory, src: NodeId, dst: NodeId) -> Result<LinkOutcome> {
    let link = Link {
        src,
        dst,
        kind: EdgeKind::Link,
        strength: 0.8,
        reason: "because".into(),
        provenance: "manual".into(),
    };
    write(memory, |tx| link::add(tx, &link, memory.now()))
}

const JOURNAL: &str = "The journal is written before the pages of the B-tree, so that a crash loses no key.";

#[test]
fn a_note_is_stored_once() {
    let memory = TestMemory::new();
    let first = memory.insert(draft("# The journal\n\nIt is cut at a checkpoint.")).unwrap();
    assert_eq!((first.key.as_str(), first.duplicate), ("the-journal", false));
    let stored = node(&memory, first.id);
    assert_eq!((stored.title.as_str(), stored.version, stored.trust), ("The journal", 1, Trust::User));

    let seq = memory.store.view().seq;
    let again = memory.insert(Draft {
        key: Some("other".into()),
        ..draft("# The journal\n\nIt is cut at a checkpoint.\n")
    });
    assert_eq!(again.unwrap(), insert::InsertReport { duplicate: true, seq: None, ..first });
    assert_eq!(memory.store.view().seq, seq, "a duplicate writes nothing");
}

#[test]
fn a_note_with_the_title_that_an_earlier_release_derived_is_stored_once() {
    let memory = TestMemory::new();
    let body = "# **heck** is a [library](https://example.org)";
    let former = memory.insert(Draft { title: former_title_of(body), ..draft(body) }).unwrap();
    let again = memory.insert(draft(body)).unwrap();
    assert_eq!((again.id, again.duplicate), (former.id, true));
    // It is read again from a source that has not changed.
    let title = title_of(body);
    let update = Draft { key: Some(former.key.clone()), update: true, title: title.clone(), ..draft(body) };
    let again = memory.insert(Draft { former_title: former_title_of(body), ..update.clone() }).unwrap();
    assert_eq!((again.id, again.duplicate), (former.id, true));
    let again = memory.insert(Draft { title: None, ..update.clone() }).unwrap();
    assert!(again.duplicate, "the text is the same");
    // A title that is given replaces it.
    assert!(memory.insert(update).unwrap().updated);
    assert_eq!(Some(node(&memory, former.id).title), title);
    // The next text gives the note its title.
    let update = Draft { key: Some(former.key), update: true, ..draft("# The *next* text") };
    memory.insert(update).unwrap();
    assert_eq!(node(&memory, former.id).title, "The next text");
}

#[test]
fn a_note_without_text_or_too_much_of_it_is_refused() {
    let mut config = Config::defaults().unwrap();
    config.insert.max_node_bytes = 100;
    let memory = TestMemory::with(config);
    insta::assert_snapshot!(describe(memory.insert(draft(" \n")).unwrap_err()), @r"
    invalid_argument: `title`: the note has neither a title nor a body
    give a title, a body or both
    ");
    insta::assert_snapshot!(describe(memory.insert(draft(&"x".repeat(120))).unwrap_err()), @r"
    invalid_argument: `body`: the note has 202 bytes of text, more than the maximum of 100
    split it into several notes, one idea each
    ");
    assert_eq!(memory.store.view().node_count(), 0);
}

#[test]
fn keys_are_made_readable_and_unique() {
    let memory = TestMemory::new();
    let key =
        |body: &str| memory.insert(Draft { title: Some("The journal".into()), ..draft(body) }).unwrap().key;
    assert_eq!([key("one"), key("two"), key("three")], ["the-journal", "the-journal-2", "the-journal-3"]);
}

#[test]
fn a_taken_key_is_a_conflict_and_nothing_changes() {
    let memory = TestMemory::new();
    let id = memory.note("journal", JOURNAL);
    let error = memory.insert(Draft { key: Some("journal".into()), ..draft("Something else") }).unwrap_err();
    insta::assert_snapshot!(describe(error), @r"
    conflict: `key`: the key `journal` is taken
    give `update` to store it as a new version, `supersedes` with `journal` to retire the old note, or another key to keep both
    ");
    assert_eq!(memory.store.view().node_count(), 1);
    assert_eq!(node(&memory, id).body, JOURNAL);
}

#[test]
fn an_update_is_a_new_version() {
    let memory = TestMemory::new();
    let other = memory
        .note("pages", "Pages of the B-tree are written after the journal, so that a crash loses no key.");
    let id = memory
        .insert(Draft { key: Some("journal".into()), author: Some("Ann".into()), ..draft(JOURNAL) })
        .unwrap()
        .id;
    assert_eq!(edges(&memory, id, EdgeKind::Semantic).len(), 1, "alike in meaning");
    let change = |body: &str| Draft { key: Some("journal".into()), update: true, ..draft(body) };

    assert!(memory.insert(change(JOURNAL)).unwrap().duplicate);
    assert_eq!(node(&memory, id).version, 1);

    memory.clock.advance(Span::DAY);
    let updated = memory.insert(change("Lentil soup for lunch")).unwrap();
    assert_eq!((updated.id, updated.updated, updated.duplicate), (id, true, false));
    let now = node(&memory, id);
    assert_eq!(
        (now.version, now.body.as_str(), now.author.as_deref()),
        (2, "Lentil soup for lunch", Some("Ann"))
    );
    assert_eq!(now.modified, memory.now());
    assert_eq!(edges(&memory, id, EdgeKind::Semantic), [], "edges follow the text");
    assert_eq!(edges(&memory, other, EdgeKind::Semantic), []);

    // Only the given fields change; the text, its vectors and its edges stay.
    memory.insert(Draft { body: None, emotion: Some(5.0), ..change("") }).unwrap();
    let now = node(&memory, id);
    assert_eq!((now.version, now.body.as_str(), now.emotion), (3, "Lentil soup for lunch", 5.0));

    let changes: Vec<String> =
        history::find(&memory, "journal", poc_graph::Visibility::of_person(memory.now()))
            .unwrap()
            .entries
            .iter()
            .map(|entry| {
                let fields: Vec<&str> = entry.fields.iter().map(|change| change.field.as_str()).collect();
                format!("v{} {} {fields:?}", entry.version, entry.kind.name())
            })
            .collect();
    insta::assert_snapshot!(changes.join("\n"), @r#"
    v1 created []
    v2 changed ["title", "body"]
    v3 changed ["emotion"]
    "#);
}

#[test]
fn an_update_with_the_text_of_another_note_is_refused() {
    let memory = TestMemory::new();
    memory.insert(Draft { title: Some("Journal".into()), key: Some("a".into()), ..draft(JOURNAL) }).unwrap();
    memory.insert(Draft { title: Some("Journal".into()), key: Some("b".into()), ..draft("Soup") }).unwrap();
    let update = Draft { key: Some("b".into()), update: true, ..draft(JOURNAL) };
    insta::assert_snapshot!(describe(memory.insert(update).unwrap_err()), @r"
    conflict: `a` already has this text
    to retire `b`, supersede it with `a`
    ");
}

#[test]
fn a_change_between_preparing_and_storing_is_detected() {
    let memory = TestMemory::new();
    let id = memory.note("journal", JOURNAL);
    let update =
        insert::prepare(&memory, Draft { key: Some("journal".into()), update: true, ..draft("new") })
            .unwrap();
    let fresh = insert::prepare(&memory, Draft { key: Some("soup".into()), ..draft("Lentils") }).unwrap();
    let same = insert::prepare(&memory, draft("Lentils")).unwrap();
    memory.insert(Draft { key: Some("journal".into()), update: true, ..draft("meanwhile") }).unwrap();

    let now = memory.now();
    let refused = write(&memory, |tx| insert::apply(tx, &update, now)).unwrap_err();
    assert_eq!((refused.code, node(&memory, id).body.as_str()), (Code::Conflict, "meanwhile"));
    // In one transaction, each note sees those stored before it.
    let (first, second) =
        write(&memory, |tx| Ok((insert::apply(tx, &fresh, now)?, insert::apply(tx, &same, now)?))).unwrap();
    assert_eq!((second.id, second.duplicate), (first.id, true));
    // Once more, the key is taken.
    assert!(write(&memory, |tx| insert::apply(tx, &fresh, now)).unwrap().duplicate);
}

/// The hash embedder, with a writer that stores the next of its texts as the note `journal` at each call.
struct RacingEmbedder {
    memory: Memory,
    texts: parking_lot::Mutex<Vec<&'static str>>,
}

impl RacingEmbedder {
    /// A handle to the memory whose notes are prepared while another handle stores these texts, the last one first.
    fn over(memory: &TestMemory, texts: &[&'static str]) -> Memory {
        let racing =
            RacingEmbedder { memory: Memory::clone(memory), texts: parking_lot::Mutex::new(texts.to_vec()) };
        Memory { embedder: Arc::new(racing), ..Memory::clone(memory) }
    }
}

impl Embedder for RacingEmbedder {
    fn name(&self) -> &str {
        self.memory.embedder.name()
    }

    fn dimensions(&self) -> usize {
        self.memory.embedder.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let next = self.texts.lock().pop();
        if let Some(text) = next {
            let draft = Draft { key: Some("journal".into()), update: true, ..draft(text) };
            insert::insert(&self.memory, draft, self.memory.cause("manual", "insert"))?;
        }
        self.memory.embedder.embed(texts)
    }

    fn contextual(&self) -> bool {
        self.memory.embedder.contextual()
    }
}

#[test]
fn an_update_is_prepared_again_if_another_writer_is_faster() {
    let memory = TestMemory::new();
    let update = |text: &str| Draft { key: Some("journal".into()), update: true, ..draft(text) };
    // The first writer stores the note and the second changes it, each while the update is prepared.
    let slow = RacingEmbedder::over(&memory, &["Changed by another writer.", "Stored by another writer."]);
    let done = insert::insert(&slow, update("Stored by the slow writer."), slow.cause("manual", "insert"));
    let done = done.unwrap();
    assert_eq!((done.updated, done.version), (true, 3));
    assert_eq!(node(&memory, done.id).body, "Stored by the slow writer.");
    assert_eq!(memory.store.view().node_count(), 1);

    // The same in a batch, in which the other notes are not stored twice.
    let slow = RacingEmbedder::over(&memory, &["Changed once more."]);
    let drafts = [update("From a batch."), draft("Another note of the batch.")];
    let cause = slow.cause("manual", "insert");
    let stored = batch::insert_all(&slow, &drafts, |draft| Ok(draft.clone()), &cause, &|_| {}).unwrap();
    let stored: Vec<_> =
        stored.into_iter().map(|done| done.unwrap()).map(|done| (done.key, done.version)).collect();
    assert_eq!(stored[0], ("journal".to_owned(), 5));
    assert_eq!(stored[1], ("another-note-of-the-batch".to_owned(), 1));
    assert_eq!(node(&memory, done.id).body, "From a batch.");

    // An update of a certain version is not made on another one.
    for version in [0, 5] {
        let slow = RacingEmbedder::over(&memory, &["Changed again."]);
        let draft = Draft { if_version: Some(version), ..update("Too late.") };
        let refused = insert::insert(&slow, draft, slow.cause("manual", "insert")).unwrap_err();
        assert_eq!(refused.code, Code::Conflict);
    }
    // Neither is a note stored that must be new if another writer has just stored it.
    let memory = TestMemory::new();
    let slow = RacingEmbedder::over(&memory, &["Stored by another writer."]);
    let new = Draft { if_version: Some(0), ..update("Too late.") };
    let refused = insert::insert(&slow, new, slow.cause("manual", "insert")).unwrap_err();
    assert_eq!((refused.code, refused.at.and_then(|at| at.version)), (Code::Conflict, Some(1)));
    assert_eq!(memory.find("journal").unwrap().body, "Stored by another writer.");
}

#[test]
fn an_update_gives_up_if_other_writers_never_stop() {
    let memory = TestMemory::new();
    let texts: Vec<&'static str> = ["One.", "Two."].into_iter().cycle().take(100).collect();
    let slow = RacingEmbedder::over(&memory, &texts);
    let draft = Draft { key: Some("journal".into()), update: true, ..draft("Never stored.") };
    let refused = insert::insert(&slow, draft, slow.cause("manual", "insert")).unwrap_err();
    insta::assert_snapshot!(describe(refused), @r"
    conflict: `journal` was changed in between
    try again
    ");
}

#[test]
fn a_note_gets_edges_to_notes_with_the_same_keyword_or_meaning() {
    let memory = TestMemory::new();
    let with = |key: &str, body: &str, words: &[&str]| Draft {
        key: Some(key.into()),
        keywords: Some(words.iter().map(|word| (*word).into()).collect()),
        ..draft(body)
    };
    let near = memory
        .insert(with("near", "A crash of the machine loses no key of the B-tree", &["Storage", "tree"]))
        .unwrap()
        .id;
    let far = memory.insert(with("far", "Lentil soup needs salt", &["storage"])).unwrap().id;
    let new = memory
        .insert(with("new", "A crash of the machine loses no key of a B-tree", &["storage", "tree"]))
        .unwrap();
    let keyword = edges(&memory, new.id, EdgeKind::Keyword);
    assert_eq!(keyword.len(), 1, "one edge although two keywords are shared, and none to a dissimilar note");
    assert_eq!((keyword[0].src, keyword[0].dst, keyword[0].reason.as_str()), (new.id, near, "storage, tree"));
    assert!(keyword[0].strength >= 0.5 && keyword[0].strength <= 1.0);
    assert_eq!((new.keyword_edges, new.semantic_edges), (1, 1));
    assert_eq!(edges(&memory, new.id, EdgeKind::Semantic)[0].dst, near);
    assert_eq!(memory.store.edges(far).unwrap(), []);
}

#[test]
fn keyword_edges_are_limited_to_the_nearest_notes_per_keyword() {
    let mut config = Config::defaults().unwrap();
    config.insert.keyword_edges = 2;
    config.cosines.values_mut().for_each(|cosines| cosines.semantic = 2.0);
    let memory = TestMemory::with(config);
    let bodies = [
        "the page cache is cold at boot",
        "the page cache is cold at start",
        "the page cache is warm at noon",
        "page cache",
    ];
    let drafts: Vec<Draft> =
        bodies.iter().map(|body| Draft { keywords: Some(vec!["cache".into()]), ..draft(body) }).collect();
    // In one batch, each note sees those before it.
    let prepared: Vec<_> =
        insert::prepare_all(&memory, drafts).unwrap().into_iter().map(Result::unwrap).collect();
    let now = memory.now();
    let done = write(&memory, |tx| {
        prepared.iter().map(|note| insert::apply(tx, note, now)).collect::<Result<Vec<_>>>()
    })
    .unwrap();
    let counts: Vec<usize> = done.iter().map(|note| note.keyword_edges).collect();
    assert_eq!(counts[..3], [0, 1, 2]);
    assert!(counts[3] <= 2);
    assert_eq!(
        edges(&memory, done[1].id, EdgeKind::Keyword).iter().filter(|edge| edge.src == done[1].id).count(),
        1
    );
}

#[test]
fn a_superseded_note_leaves_retrieval_and_its_links_move_to_the_successor() {
    let memory = TestMemory::new();
    let old = memory.note("old", JOURNAL);
    let friend = memory.note("friend", "Checkpoints cut the log");
    let fan = memory.note("fan", "A note about soup");
    assert_eq!(linked(&memory, old, friend).unwrap(), LinkOutcome::Added);
    assert_eq!(linked(&memory, fan, old).unwrap(), LinkOutcome::Added);

    let new = memory.insert(Draft { supersedes: Some(old), ..draft("The journal is gone") }).unwrap().id;
    let retired = node(&memory, old);
    assert_eq!((retired.state, retired.version), (State::Superseded, 2));
    let replaced = edges(&memory, new, EdgeKind::Supersedes);
    assert_eq!((replaced[0].src, replaced[0].dst, replaced[0].strength), (new, old, 1.0));
    let links: Vec<(NodeId, NodeId)> =
        edges(&memory, new, EdgeKind::Link).iter().map(|edge| (edge.src, edge.dst)).collect();
    assert_eq!(links, [(new, friend), (fan, new)]);

    let again =
        write(&memory, |tx| supersede::apply(tx, old, friend, "manual", "", &memory.config, memory.now()))
            .unwrap_err();
    insta::assert_snapshot!(describe(again), @r"
    conflict: `old`: `old` is superseded already
    `the-journal-is-gone` replaces it
    ");
    let update = memory.insert(Draft { key: Some("old".into()), update: true, ..draft("x") }).unwrap_err();
    insta::assert_snapshot!(describe(update), @r"
    conflict: `old` is superseded, so its text cannot be changed
    update `the-journal-is-gone`, which replaces it
    ");
    let itself =
        write(&memory, |tx| supersede::apply(tx, new, new, "manual", "", &memory.config, memory.now()))
            .unwrap_err();
    assert_eq!(itself.code, Code::InvalidArgument);
    // The content of a retired note may be stored again.
    assert!(!memory.insert(Draft { key: Some("back".into()), ..draft(JOURNAL) }).unwrap().duplicate);
}

#[test]
fn a_note_may_take_the_key_and_even_the_text_of_the_one_it_supersedes() {
    let memory = TestMemory::new();
    let old = memory.note("journal", JOURNAL);
    let new = memory
        .insert(Draft { key: Some("journal".into()), supersedes: Some(old), ..draft(JOURNAL) })
        .unwrap();
    assert_eq!((new.duplicate, new.key.as_str()), (false, "journal"));
    assert_eq!(node(&memory, old).key, "journal-old");
    assert_eq!(memory.find("journal").unwrap().id, new.id);
    assert_eq!(
        memory.store.view().find_key("journal").and_then(|ix| memory.store.view().id(ix)),
        Some(new.id)
    );
}

#[test]
fn a_duplicate_supersedes_with_the_existing_note() {
    let memory = TestMemory::new();
    let old = memory.note("old", "The journal is slow");
    let there = memory.note("there", JOURNAL);
    let done = memory.insert(Draft { supersedes: Some(old), ..draft(JOURNAL) }).unwrap();
    assert_eq!((done.id, done.duplicate), (there, true));
    assert_eq!(node(&memory, old).state, State::Superseded);
    assert_eq!(edges(&memory, there, EdgeKind::Supersedes).len(), 1);
}

#[test]
fn a_text_past_its_date_is_stored_again() {
    let memory = TestMemory::new();
    let date = memory.now().plus(Span::DAY);
    let first = memory.insert(Draft { expires: Some(date), ..draft(JOURNAL) }).unwrap();
    let other = memory.note("other", "The journal is slow");
    assert!(memory.insert(draft(JOURNAL)).unwrap().duplicate);
    memory.clock.advance(Span::DAY);
    let again = memory.insert(draft(JOURNAL)).unwrap();
    assert_eq!((again.duplicate, again.id == first.id), (false, false));
    assert_eq!(node(&memory, first.id).state, State::Expired);
    let repeated = memory.insert(draft(JOURNAL)).unwrap();
    assert_eq!((repeated.id, repeated.duplicate), (again.id, true));
    // A note can also be changed to a text that is past its date.
    let text = "The key is here";
    let last = memory.insert(Draft { expires: Some(date.plus(Span::DAY)), ..draft(text) }).unwrap();
    memory.clock.advance(Span::DAY);
    let update = Draft { key: Some("other".into()), update: true, ..draft(text) };
    assert!(memory.insert(update).unwrap().updated);
    assert_eq!(node(&memory, last.id).state, State::Expired);
    assert_eq!(node(&memory, other).body, text);
}

#[test]
fn a_note_is_recognised_with_the_label_of_a_project_that_it_does_not_have() {
    let memory = TestMemory::new();
    let stored = |words: &[&str], key: Option<&str>, ignores_labels: bool| Draft {
        keywords: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        key: key.map(str::to_owned),
        ignores_labels,
        ..draft(JOURNAL)
    };
    let first = memory.insert(stored(&["storage"], Some("journal"), true)).unwrap();
    for key in [Some("journal"), None] {
        let again = memory.insert(stored(&["storage", "project:a"], key, true)).unwrap();
        assert_eq!((again.id, again.duplicate), (first.id, true), "{key:?}");
    }
    assert_eq!(node(&memory, first.id).keywords, ["storage"]);
    // Other keywords make another note, and so does the label where the caller gives it.
    assert!(!memory.insert(stored(&["disk", "project:a"], None, true)).unwrap().duplicate);
    assert!(!memory.insert(stored(&["storage", "project:a"], None, false)).unwrap().duplicate);
}

#[test]
fn a_link_is_created_once_and_needs_two_nodes() {
    let memory = TestMemory::new();
    let (a, b) = (memory.note("a", "one"), memory.note("b", "two"));
    assert_eq!(linked(&memory, a, b).unwrap(), LinkOutcome::Added);
    assert_eq!(linked(&memory, a, b).unwrap(), LinkOutcome::AlreadyPresent(0.8));
    assert_eq!(node(&memory, a).version, 1, "a link is not an edit");
    assert_eq!(linked(&memory, a, a).unwrap_err().code, Code::InvalidArgument);
    assert!(write(&memory, |tx| link::remove(tx, a, EdgeKind::Link, b)).unwrap());
    assert!(!write(&memory, |tx| link::remove(tx, a, EdgeKind::Link, b)).unwrap());
    let by_hand = write(&memory, |tx| link::remove(tx, a, EdgeKind::Semantic, b)).unwrap_err();
    insta::assert_snapshot!(describe(by_hand), @r"
    invalid_argument: `kind`: edges of kind `semantic` cannot be created or removed by hand
    the kinds are `link`, `contradicts` and `derived-from`
    ");
}

#[test]
fn a_weight_is_decayed_before_a_change_and_stays_within_bounds() {
    let memory = TestMemory::new();
    let id = memory.note("a", "one");
    let change = |change| {
        write(&memory, |tx| weight::change(tx, id, change, &memory.config.weight, memory.now())).unwrap()
    };
    let half_life = Span((std::f64::consts::LN_2 / memory.config.weight.decay * 1000.0) as i64);
    memory.clock.advance(half_life);
    let by = change(WeightChange::By(0.5));
    assert!((by.before - 0.5).abs() < 1e-6 && (by.after - 1.0).abs() < 1e-6, "{by:?}");
    assert_eq!(change(WeightChange::To(1e9)).after, memory.config.weight.cap);
    assert_eq!(change(WeightChange::By(-1e9)).after, memory.config.weight.floor);
    assert_eq!(node(&memory, id).version, 1, "learning is not an edit");
    assert_eq!(memory.store.activity(id).unwrap().unwrap().touched, memory.now());
    let refused = write(&memory, |tx| {
        weight::change(tx, id, WeightChange::To(f64::NAN), &memory.config.weight, memory.now())
    });
    assert_eq!(refused.unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn a_weight_change_survives_a_round_trip() {
    for (text, change) in
        [("2.5", WeightChange::To(2.5)), ("+0.3", WeightChange::By(0.3)), ("-0.3", WeightChange::By(-0.3))]
    {
        assert_eq!(text.parse::<WeightChange>().unwrap(), change);
        assert_eq!(change.to_string(), text);
        let encoded = serde_json::to_value(change).unwrap();
        assert_eq!(serde_json::from_value::<WeightChange>(encoded).unwrap(), change);
    }
    insta::assert_snapshot!(describe("much".parse::<WeightChange>().unwrap_err()), @r"
    invalid_argument: `value`: `much` is not a weight
    write `2.5` to set it, `+0.3` or `-0.3` to change it by that amount
    ");
}

#[test]
fn a_weight_in_json_is_a_number_or_a_text() {
    let read = |json: serde_json::Value| serde_json::from_value::<WeightChange>(json);
    assert_eq!(read(json!(2)).unwrap(), WeightChange::To(2.0));
    assert_eq!(read(json!(0.5)).unwrap(), WeightChange::To(0.5));
    assert_eq!(read(json!("0.5")).unwrap(), WeightChange::To(0.5));
    // Without quotes, it is not clear whether the weight becomes negative or is lowered.
    let refused = read(json!(-0.3)).unwrap_err().to_string();
    assert_eq!(refused, "-0.3 is below 0; write `\"-0.3\"` as text to lower the weight by that amount");
    for wrong in [json!(true), json!(null), json!([1])] {
        assert!(read(wrong).unwrap_err().to_string().starts_with("the value is not a weight; "));
    }
}

#[test]
fn a_deleted_note_leaves_only_its_history() {
    let memory = TestMemory::new();
    let (a, b) = (memory.note("a", JOURNAL), memory.note("b", "two"));
    linked(&memory, a, b).unwrap();
    write(&memory, |tx| visit::record(tx, "linker", a, VisitOutcome::Processed, memory.now())).unwrap();
    let deleted = write(&memory, |tx| delete::apply(tx, a, memory.now())).unwrap();
    assert_eq!((deleted.node.key.as_str(), deleted.edges), ("a", 1));
    assert_eq!(memory.store.edges(b).unwrap(), []);
    assert_eq!(memory.store.visits(a).unwrap(), []);
    assert_eq!(write(&memory, |tx| delete::apply(tx, a, memory.now())).unwrap_err().code, Code::NotFound);
    let history =
        history::find(&memory, &a.to_string(), poc_graph::Visibility::of_person(memory.now())).unwrap();
    assert_eq!(
        (history.key.as_str(), history.entries.last().unwrap().kind),
        ("a", history::ChangeKind::Deleted)
    );
    assert!(!memory.insert(draft(JOURNAL)).unwrap().duplicate, "its content is free again");
}

#[test]
fn an_unknown_name_gets_a_suggestion() {
    let memory = TestMemory::new();
    memory.note("journal-replay", "one");
    insta::assert_snapshot!(describe(memory.find("jurnal-replay").unwrap_err()), @r"
    not_found: there is no note `jurnal-replay`
    did you mean `journal-replay`?
    ");
    insta::assert_snapshot!(describe(memory.find("what's this").unwrap_err()), @r"
    not_found: there is no note `what's this`
    `poc-memory search 'what'\''s this'` looks for it
    ");
    insta::assert_snapshot!(describe(memory.find("-x").unwrap_err()), @r"
    not_found: there is no note `-x`
    `poc-memory search -- -x` looks for it
    ");
    for wordless in ["", "?!"] {
        let hint = memory.find(wordless).unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("`poc-memory list` shows the notes"), "{wordless}");
    }
    memory.note("people/anna-berger", "two");
    insta::assert_snapshot!(describe(memory.find("Ana Berger").unwrap_err()), @r"
    not_found: there is no note `Ana Berger`
    did you mean `anna-berger`?
    ");
    insta::assert_snapshot!(describe(memory.find("people/jonas-keller").unwrap_err()), @r"
    not_found: there is no note `people/jonas-keller`
    `poc-memory search people/jonas-keller` looks for it
    ");
    let id = memory.find("journal-replay").unwrap().id;
    assert_eq!(memory.find(&id.to_string()).unwrap().id, id);
}

#[test]
fn a_visit_records_the_version_it_saw() {
    let memory = TestMemory::new();
    let id = memory.note("a", "one");
    memory.insert(Draft { key: Some("a".into()), update: true, ..draft("two") }).unwrap();
    let seen =
        write(&memory, |tx| visit::record(tx, "linker", id, VisitOutcome::Skipped, memory.now())).unwrap();
    assert_eq!((seen.version, seen.at), (2, memory.now()));
    assert_eq!(memory.store.visits(id).unwrap(), [("linker".to_owned(), seen)]);
    let nobody = write(&memory, |tx| visit::record(tx, " ", id, VisitOutcome::Skipped, memory.now()));
    assert_eq!(nobody.unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn a_temporary_memory_has_no_shared_log() {
    let mut config = Config::defaults().unwrap();
    config.store.log = "postgres://ann@db/notes".into();
    assert_eq!(TestMemory::with(config).config.store.log, "");
}
