use super::*;
use crate::insert;
use crate::recall::{self, RecallOptions};
use crate::testing::draft;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::Error;
use poc_graph::rng::SeededRng;
use poc_graph::time::{ManualClock, Timestamp};
use std::cell::Cell;
use std::sync::Arc;

/// Opens the memory in a folder with a hash embedder of `dimensions` dimensions.
fn open(folder: &tempfile::TempDir, dimensions: usize) -> Memory {
    let mut config = Config::defaults().unwrap();
    (config.embedder.kind, config.embedder.dimensions) = ("hash".into(), dimensions);
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
    let rng = Arc::new(SeededRng::new(dimensions as u64));
    Memory::open(Paths::in_folder(folder.path()), config, clock, rng).unwrap()
}

fn note(memory: &Memory, body: &str) -> NodeId {
    insert::insert(memory, draft(body), memory.cause("manual", "insert")).unwrap().id
}

fn nearest(memory: &Memory, text: &str) -> Vec<NodeId> {
    let vector = memory.embedder.embed_one(text).unwrap();
    memory.vectors.search(&vector, 1, &|_| true).unwrap().into_iter().map(|hit| hit.id).collect()
}

fn run(memory: &Memory) -> Option<MigrationReport> {
    migrate(memory, "manual", &MigrationCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) })
        .unwrap()
}

/// Runs a migration that is stopped after a number of transactions.
fn stopped_after(memory: &Memory, transactions: usize) {
    let left = Cell::new(transactions);
    let check_cancelled = || match left.replace(left.get().wrapping_sub(1)) {
        0 => Err(Error::unavailable("stopped")),
        _ => Ok(()),
    };
    assert!(
        migrate(
            memory,
            "manual",
            &MigrationCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled }
        )
        .is_err()
    );
}

#[test]
fn old_vectors_are_used_until_the_migration_is_complete() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let ids: Vec<NodeId> =
        (0..100).map(|n| note(&memory, &format!("tree{n} grows beside lake{n}"))).collect();
    assert_eq!(run(&memory), None);
    drop(memory);

    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), nearest(&memory, "tree7 lake7")), ("hash-64-1", vec![ids[7]]));
    // The migration is stopped before its end.
    stopped_after(&memory, 2);
    drop(memory);

    let memory = open(&folder, 128);
    assert_eq!(memory.embedder.name(), "hash-64-1");
    // Changing a text deletes the new vectors of the old text.
    let changed = Draft::of(&memory, ids[0]);
    insert::insert(&memory, changed, memory.cause("manual", "insert")).unwrap();
    let done = run(&memory).unwrap();
    assert_eq!(
        (done.already_embedded, done.notes),
        (2 * BATCH_NOTES as u64 - 1, 100 - (2 * BATCH_NOTES as u64 - 1))
    );
    // Written after the migration and before the store is opened again.
    let late = note(&memory, "a heron stands in the reeds");
    assert_eq!(nearest(&memory, "heron reeds"), [late]);
    drop(memory);

    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), run(&memory)), ("hash-128-1", None));
    assert_eq!(nearest(&memory, "tree7 lake7"), [ids[7]]);
    assert_eq!(nearest(&memory, "heron reeds"), [late]);
    assert_eq!(nearest(&memory, "a fish in the harbour"), [ids[0]]);
    assert_eq!(memory.vectors.of(late)[0].1.len(), 128);
}

#[test]
fn undo_does_not_restore_a_text_without_vectors_of_the_embedder() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let ids = ["a gull on the mast", "an otter in the weir"].map(|body| note(&memory, body));
    let edited = Draft::of(&memory, ids[0]);
    insert::insert(&memory, edited, memory.cause("manual", "insert")).unwrap();
    let edit = memory.store.view().seq;
    drop(memory);
    let memory = open(&folder, 128);
    run(&memory).unwrap();
    let migration = memory.store.view().seq;
    drop(memory);

    let memory = open(&folder, 128);
    let undone = |seq| crate::undo::undo_single(&memory, seq);
    assert!(undone(migration).unwrap_err().to_string().contains("changed no note"));
    insta::assert_snapshot!(
        undone(edit).unwrap().refused.unwrap(),
        @"the text of `a-gull-on-the-mast` has no vectors of the current embedder `hash-128-1`"
    );
    // Texts written since can be restored as usual.
    let cause = memory.cause("manual", "delete");
    memory.store.transact(cause, |tx| crate::delete::apply(tx, ids[1], memory.now())).unwrap();
    let delete = memory.store.view().seq;
    assert_eq!(undone(delete).unwrap().refused, None);
    assert_eq!(nearest(&memory, "otter weir"), [ids[1]]);
}

#[test]
fn undo_deletes_the_vectors_of_the_undone_text() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let id = note(&memory, "a gull on the mast");
    insert::insert(&memory, Draft::of(&memory, id), memory.cause("manual", "insert")).unwrap();
    let edit = memory.store.view().seq;
    drop(memory);
    // The migration is complete, but the store was not opened again, as if a daemon had it open.
    let memory = open(&folder, 128);
    run(&memory).unwrap();
    assert_eq!(crate::undo::undo_single(&memory, edit).unwrap().refused, None);
    assert!(memory.store.vectors(id, "hash-128-1").unwrap().is_empty());
    drop(memory);
    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), nearest(&memory, "gull mast")), ("hash-128-1", vec![id]));
    let vector = memory.embedder.embed_one("a gull on the mast").unwrap();
    assert!(memory.vectors.search(&vector, 1, &|_| true).unwrap()[0].cosine > 0.95);
}

#[test]
fn deleted_notes_are_not_counted() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let ids = ["a gull on the mast", "an otter in the weir"].map(|body| note(&memory, body));
    drop(memory);
    let memory = open(&folder, 128);
    let cause = memory.cause("manual", "delete");
    memory.store.transact(cause, |tx| crate::delete::apply(tx, ids[1], memory.now())).unwrap();
    let total = Cell::new(0);
    let callbacks = MigrationCallbacks { progress: &|_, all| total.set(all), check_cancelled: &|| Ok(()) };
    let report = migrate(&memory, "manual", &callbacks).unwrap().unwrap();
    assert_eq!((total.get(), report.already_embedded, report.notes), (1, 0, 1));
}

#[test]
fn missing_vectors_are_reported_and_computed_later() {
    let folder = poc_graph::testing::folder();
    drop(open(&folder, 64));
    let memory = open(&folder, 128);
    run(&memory).unwrap();
    let many = MAX_NOTES_AT_OPEN + 1;
    let ids: Vec<NodeId> =
        (0..many).map(|n| note(&memory, &format!("tree{n} grows beside lake{n}"))).collect();
    drop(memory);
    let memory = open(&folder, 128);
    assert!(memory.store.vectors(ids[0], "hash-128-1").unwrap().is_empty());
    let degraded = || crate::answer_status::of(&memory, &memory.store.view()).degraded.join("");
    insta::assert_snapshot!(degraded(), @"vectors: notes have no vectors of `hash-128-1` yet (257 notes have no vectors); `poc-memory embed migrate` computes them");
    let done = run(&memory).unwrap();
    assert_eq!((done.from, done.to, done.notes), ("hash-128-1".into(), "hash-128-1".into(), many as u64));
    assert_eq!((degraded(), nearest(&memory, "tree7 lake7")), (String::new(), vec![ids[7]]));
    drop(memory);
    assert_eq!(run(&open(&folder, 128)), None);
}

#[test]
fn a_store_opens_when_the_configured_embedder_cannot_be_used() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let id = note(&memory, "a gull on the mast");
    drop(memory);
    let lost = |folder: &tempfile::TempDir| {
        let mut config = Config::defaults().unwrap();
        (config.embedder.kind, config.embedder.model) = ("candle".into(), "/nowhere/at/all".into());
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
        Memory::open(Paths::in_folder(folder.path()), config, clock, Arc::new(SeededRng::new(7)))
    };
    let memory = lost(&folder).unwrap();
    assert_eq!((memory.embedder.name(), nearest(&memory, "gull mast")), ("hash-64-1", vec![id]));
    let degraded = crate::answer_status::of(&memory, &memory.store.view()).degraded.join("");
    assert!(degraded.starts_with("embedder: ") && degraded.contains("/nowhere/at/all"), "{degraded}");
    assert!(lost(&poc_graph::testing::folder()).is_err());
}

#[test]
fn without_the_file_the_embedder_with_the_most_vectors_is_used() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let ids: Vec<NodeId> = (0..40).map(|n| note(&memory, &format!("tree{n} grows beside lake{n}"))).collect();
    drop(memory);
    let memory = open(&folder, 128);
    stopped_after(&memory, 1);
    let file = memory.paths.store().join("embedder.json");
    drop(memory);
    std::fs::remove_file(&file).unwrap();
    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), nearest(&memory, "tree39 lake39")), ("hash-64-1", vec![ids[39]]));
    run(&memory).unwrap();
    drop(memory);
    std::fs::remove_file(&file).unwrap();
    // Both embedders have all vectors, so the configuration decides.
    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), nearest(&memory, "tree39 lake39")), ("hash-128-1", vec![ids[39]]));
}

/// A draft that changes the text of a note.
struct Draft;
impl Draft {
    fn of(memory: &Memory, id: NodeId) -> crate::Draft {
        let key = Some(memory.store.node(id).unwrap().unwrap().key);
        crate::Draft { key, update: true, ..draft("a fish in the harbour") }
    }
}

#[test]
fn the_embedder_of_an_old_store_is_known_by_its_vectors() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let id = note(&memory, "a fish in the harbour");
    drop(memory);
    let file = Paths::in_folder(folder.path()).store().join("embedder.json");
    std::fs::remove_file(&file).unwrap();
    let memory = open(&folder, 128);
    assert_eq!((memory.embedder.name(), nearest(&memory, "fish")), ("hash-64-1", vec![id]));
    assert!(memory.configured_embedder.is_some() && file.exists());
}

#[test]
fn a_store_whose_embedder_is_missing_is_usable_otherwise() {
    let folder = poc_graph::testing::folder();
    let memory = open(&folder, 64);
    let id = note(&memory, "a fish in the harbour");
    drop(memory);
    let store = Paths::in_folder(folder.path()).store();
    let record = embedder::read(&store).unwrap().unwrap();
    let settings = poc_config::EmbedderConfig {
        kind: "static".into(),
        model: "/nowhere".into(),
        ..record.settings.clone()
    };
    embedder::write(&store, &EmbedderRecord { settings, ..record }).unwrap();
    let memory = open(&folder, 128);
    let error = memory.embedder.embed_one("fish").unwrap_err();
    insta::assert_snapshot!(error, @"`embedder`: the vectors of this store were computed by `hash-64-1`, which is not available");
    assert_eq!(memory.store.node(id).unwrap().unwrap().body, "a fish in the harbour");
    let view = memory.store.view();
    let visibility = poc_graph::Visibility::of_person(memory.now());
    let found = memory.retriever(&view).find("fish", 5, visibility).unwrap();
    assert_eq!(
        found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(),
        [id],
        "questions are answered by words"
    );
    let vector = memory.embedder.embed_question("fish").unwrap();
    let options = RecallOptions { text: "fish", vector: &vector, k: 5, hops: 1, oversample: 5 };
    let recalled = recall::recall(&memory, &view, &options, memory.now()).unwrap();
    let hits: Vec<_> = recalled.hits.iter().map(|hit| (hit.id, hit.similarity)).collect();
    assert_eq!((hits, recalled.no_match), (vec![(id, 1.0)], false));
    assert_eq!(recalled.update.used, [id]);
    let nothing = RecallOptions { text: "bicycle", ..options };
    assert!(recall::recall(&memory, &view, &nothing, memory.now()).unwrap().hits.is_empty());
    let degraded = crate::answer_status::of(&memory, &view).degraded.join("");
    insta::assert_snapshot!(degraded, @"vectors: `hash-64-1` is not available: notes are found by words only");
    assert_eq!(run(&memory).unwrap().notes, 1);
    drop(memory);
    assert_eq!(nearest(&open(&folder, 128), "fish"), [id]);
}
