//! Erasures of real memories, with a search of their files.

use super::*;
use crate::delete;
use crate::testing::TestMemory;
use poc_config::Config;
use poc_store::testing::{MemoryLog, any_content};
use std::sync::Arc;

const SECRET: &str = "Zanzibarquetzal";

/// The files that contain the text. In long transactions of the log and in records, it is compressed.
fn files_with_it(folder: &Path) -> Vec<PathBuf> {
    let mut found = backup::files_below(folder).unwrap();
    found.retain(|file| {
        let bytes = fs::read(file).unwrap();
        any_content(&bytes, |bytes| String::from_utf8_lossy(bytes).contains(SECRET))
    });
    found
}

/// Deletes a note and returns its texts.
fn deleted(memory: &TestMemory, id: NodeId) -> ErasedTexts {
    let cause = memory.cause("manual", "delete");
    let deleted = memory.store.transact(cause, |tx| delete::apply(tx, id, memory.now())).unwrap();
    let mut texts = ErasedTexts::default();
    texts.add_note(&deleted.value.node);
    texts
}

fn quiet() -> CompactionCallbacks<'static> {
    CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) }
}

#[test]
fn an_erased_text_is_in_no_file_and_others_stay() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    memory.note("kept", "The gate opens at noon.");
    let (store, runs) = (memory.paths.store(), memory.paths.runs());
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(runs.join("linker/1.json"), &serde_json::json!({ "prompt": SECRET }).to_string());
    write(runs.join("linker/2.json"), "{\"prompt\":\"nothing\"}");
    write(runs.join("linker/3.json"), &serde_json::json!({ "prompt": "  user: bob\n    pw: 1" }).to_string());
    let copies = vault::copies_folder(&memory.paths).join("vault");
    write(copies.join("deep/hidden.md"), &format!("---\ntitle: x\n---\nThe word of the gate is {SECRET}.\n"));
    write(copies.join("other.md"), "nothing");
    write(store.join("quarantine/piece"), SECRET);
    write(store.join("quarantine/other"), "nothing");
    memory.store.checkpoint().unwrap();
    assert!(!files_with_it(&store).is_empty());
    let mut texts = deleted(&memory, id);
    texts.add(SECRET);
    texts.add("user: bob\npw: 1");
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert_eq!((report.run_files, report.quarantine), (2, vec!["piece".to_owned()]));
    assert_eq!((report.vault_copies, files_with_it(&copies)), (1, Vec::new()));
    assert_eq!((files_with_it(&store), files_with_it(&runs)), (Vec::new(), Vec::new()));
    assert!(runs.join("linker/2.json").exists() && copies.join("other.md").exists());
    assert!(store.join("quarantine/other").exists());
    assert!(memory.find("kept").is_ok() && memory.find("hidden").is_err());
}

/// An HNSW graph cannot lose a vector, so it is built again.
#[test]
fn no_file_has_a_graph_with_the_vector_of_an_erased_text() {
    let mut config = Config::defaults().unwrap();
    config.vectors.exact_below = 0;
    let memory = TestMemory::with(config);
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    memory.note("kept", "The gate opens at noon.");
    let has_graph = || {
        let files = backup::files_below(&memory.paths.store()).unwrap();
        files.iter().any(|file| file.file_name().unwrap().to_string_lossy().starts_with("graph-"))
    };
    let texts = deleted(&memory, id);
    memory.store.checkpoint().unwrap();
    assert!(has_graph());
    erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert!(!has_graph());
    memory.note("new", "The gate closes at dusk.");
    memory.store.checkpoint().unwrap();
    assert!(has_graph());
}

/// The prompts of runs and the quarantine are searched for the text, which only the caller knows.
#[test]
fn an_interrupted_erasure_is_completed_by_a_compaction() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let (store, runs) = (memory.paths.store(), memory.paths.runs());
    for file in [runs.join("linker/1.json"), store.join("quarantine/piece")] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, serde_json::json!({ "prompt": SECRET }).to_string()).unwrap();
    }
    let mut texts = deleted(&memory, id);
    texts.add(SECRET);
    let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
    let error = erase(&memory, &texts, "delete", &callbacks).unwrap_err();
    insta::assert_snapshot!(error.hint.unwrap(), @"the text is deleted, but the history still contains it: the same command completes the erasure");
    assert_eq!(files_with_it(&runs), Vec::<PathBuf>::new());
    assert!(!files_with_it(&store).is_empty());
    memory.store.compact(Some(Timestamp(i64::MAX)), &quiet()).unwrap();
    assert_eq!(files_with_it(&store), Vec::<PathBuf>::new());
}

/// The process ends anywhere between the beginning and the compaction.
#[test]
fn an_interrupted_erasure_is_named_and_completed_by_the_next_one() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let other = memory.note("other", "It opens at noon.");
    let (store, runs) = (memory.paths.store(), memory.paths.runs());
    fs::create_dir_all(runs.join("linker")).unwrap();
    let run = serde_json::json!({ "prompt": format!("The word of the gate is {SECRET}.") });
    fs::write(runs.join("linker/1.json"), run.to_string()).unwrap();
    let at = memory.now();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap(), []);
    let target = ErasureTarget::Note(id);
    Erasure::begin(&memory, target.clone(), at).unwrap().abandon().unwrap();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap(), []);
    drop(Erasure::begin(&memory, target.clone(), at).unwrap());
    let texts = deleted(&memory, id);
    let [unfinished] = &unfinished_erasures(&memory.paths).unwrap()[..] else { panic!() };
    assert_eq!(unfinished.command(), format!("poc-memory delete {id} --erase"));
    assert!(Erasure::is_repeated(&memory, &target).unwrap());
    assert!(!Erasure::is_repeated(&memory, &ErasureTarget::Note(other)).unwrap());
    // The compaction is interrupted, too.
    let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
    Erasure::begin(&memory, target, at).unwrap().run(&texts, &callbacks).unwrap_err();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap().len(), 1, "it is the same erasure");
    fs::write(runs.join("linker/2.json"), run.to_string()).unwrap();
    // An erasure of another note knows the texts from the log.
    let at = memory.now();
    let erasure = Erasure::begin(&memory, ErasureTarget::Note(other), at).unwrap();
    let texts = deleted(&memory, other);
    let report = erasure.run(&texts, &quiet()).unwrap();
    assert_eq!(report.run_files, 1);
    assert_eq!((files_with_it(&store), files_with_it(&runs)), (Vec::new(), Vec::new()));
    assert_eq!(unfinished_erasures(&memory.paths).unwrap(), []);
    fs::write(store.join("erasures.json"), "damaged").unwrap();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap_err().code, poc_graph::error::Code::Damaged);
    // A file that cannot be read may be intact.
    fs::remove_file(store.join("erasures.json")).unwrap();
    fs::create_dir(store.join("erasures.json")).unwrap();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap_err().code, poc_graph::error::Code::Unavailable);
}

/// Begins an erasure of a note or a message, and leaves it unfinished.
fn interrupted(memory: &Memory, target: ErasureTarget) {
    drop(Erasure::begin(memory, target, memory.now()).unwrap());
}

#[test]
fn an_unfinished_erasure_has_only_the_texts_of_its_own_deletion() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let other = memory.note("other", "It opens at noon.");
    interrupted(&memory, ErasureTarget::Note(id));
    // The clock is stopped, so both deletions have the same time.
    deleted(&memory, other);
    deleted(&memory, id);
    let texts = unfinished::texts(&memory).unwrap();
    assert!(texts.are_in(&format!("The word of the gate is {SECRET}.")));
    assert!(!texts.are_in("It opens at noon."));
}

#[test]
fn an_unfinished_erasure_of_a_note_that_was_deleted_before_has_its_text() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    deleted(&memory, id);
    interrupted(&memory, ErasureTarget::Note(id));
    assert!(unfinished::texts(&memory).unwrap().are_in(&format!("The word of the gate is {SECRET}.")));
}

#[test]
fn a_repeated_erasure_adds_no_entry() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let note = ErasureTarget::Note(id);
    let messages = ErasureTarget::MessagesBefore { time: memory.now(), recent: true };
    let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
    let erase = |target: &ErasureTarget, texts: &ErasedTexts| {
        let erasure = Erasure::begin(&memory, target.clone(), memory.now()).unwrap();
        erasure.run(texts, &callbacks).unwrap_err();
        unfinished_erasures(&memory.paths).unwrap().len()
    };
    interrupted(&memory, note.clone());
    let texts = deleted(&memory, id);
    for _ in 0..3 {
        assert_eq!(erase(&note, &texts), 1);
    }
    for _ in 0..3 {
        memory.clock.advance(poc_graph::time::Span::SECOND);
        assert_eq!(erase(&messages, &texts), 2);
    }
    // The note is unknown, and its deletion is not in the history any more. The entry stays.
    memory.note("later", "It has a bell.");
    memory.store.compact(Some(Timestamp(i64::MAX)), &quiet()).unwrap();
    let erasure = Erasure::begin(&memory, note, memory.now()).unwrap();
    erasure.abandon_after(&Error::not_found("there is no such note")).unwrap();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap().len(), 2);
}

#[test]
fn an_undone_deletion_does_not_count_as_unfinished_and_the_next_erasure_removes_it() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let other = memory.note("other", "It opens at noon.");
    interrupted(&memory, ErasureTarget::Note(id));
    deleted(&memory, id);
    assert!(Erasure::has_unfinished(&memory).unwrap());
    let deletion = memory.store.transaction(memory.store.last_seq()).unwrap().unwrap();
    let undo = |tx: &mut poc_store::Transaction<'_>| crate::undo::restore(&memory, tx, &deletion.writes);
    assert_eq!(memory.store.transact(memory.cause("manual", "undo"), undo).unwrap().value, None);
    assert!(memory.find("hidden").is_ok());
    assert!(!Erasure::has_unfinished(&memory).unwrap());
    assert_eq!(unfinished::texts(&memory).unwrap(), ErasedTexts::default());
    interrupted(&memory, ErasureTarget::Note(other));
    let [unfinished] = &unfinished_erasures(&memory.paths).unwrap()[..] else { panic!() };
    assert_eq!(unfinished.target, ErasureTarget::Note(other));
}

/// The process ends between the beginning and the deletion.
#[test]
fn an_erasure_that_has_deleted_nothing_is_removed_by_the_next_open() {
    let memory = TestMemory::new();
    let present = memory.note("present", "It opens at noon.");
    let absent = memory.note("absent", "It closes at ten.");
    deleted(&memory, absent);
    let messages = ErasureTarget::MessagesBefore { time: memory.now(), recent: true };
    let begun = [ErasureTarget::Note(absent), messages.clone(), ErasureTarget::Note(present)];
    begun.into_iter().for_each(|target| interrupted(&memory, target));
    assert_eq!(unfinished_erasures(&memory.paths).unwrap().len(), 3);
    let memory = memory.reopened();
    // The note was deleted before, so its text is still in the history.
    let [rest] = &unfinished_erasures(&memory.paths).unwrap()[..] else { panic!() };
    assert_eq!(rest.target, ErasureTarget::Note(absent));
    unfinished::remove_all(&memory.paths).unwrap();
    interrupted(&memory, messages.clone());
    let cause = memory.cause("manual", "forget");
    memory.store.transact(cause, |tx| delete::apply(tx, present, memory.now())).unwrap();
    let memory = memory.reopened();
    let [rest] = &unfinished_erasures(&memory.paths).unwrap()[..] else { panic!() };
    assert_eq!(rest.target, messages);
    // The deletion is no longer in the history.
    memory.note("later", "It has a bell.");
    memory.store.compact(Some(Timestamp(i64::MAX)), &quiet()).unwrap();
    let memory = memory.reopened();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap().len(), 1);
}

#[test]
fn an_erasure_whose_deletion_failed_is_abandoned_unless_something_may_be_deleted() {
    let memory = TestMemory::new();
    let present = ErasureTarget::Note(memory.note("present", "It opens at noon."));
    let absent = ErasureTarget::Message(memory.new_message_id());
    let is_abandoned = |target: &ErasureTarget, code: Code| {
        let erasure = Erasure::begin(&memory, target.clone(), memory.now()).unwrap();
        erasure.abandon_after(&Error::new(code, "it failed")).unwrap();
        let all = unfinished_erasures(&memory.paths).unwrap();
        unfinished::remove_all(&memory.paths).unwrap();
        all.is_empty()
    };
    assert!(is_abandoned(&present, Code::Conflict));
    assert!(is_abandoned(&absent, Code::NotFound));
    assert!(!is_abandoned(&absent, Code::Unavailable));
    // A write whose outcome is unknown.
    assert!(!is_abandoned(&present, Code::Unavailable));
    assert!(!is_abandoned(&present, Code::Internal));
    // The store has cut off what it refused.
    let messages = ErasureTarget::MessagesBefore { time: memory.now(), recent: true };
    assert!(is_abandoned(&present, Code::ReadOnly) && is_abandoned(&messages, Code::ReadOnly));
    // A part of what it deletes may be deleted.
    let ErasureTarget::Note(id) = present else { panic!() };
    let erasure = Erasure::begin(&memory, present, memory.now()).unwrap();
    deleted(&memory, id);
    erasure.abandon_after(&Error::new(Code::ReadOnly, "it failed")).unwrap();
    assert_eq!(unfinished_erasures(&memory.paths).unwrap().len(), 1);
}

#[test]
fn the_command_that_completes_an_erasure_is_quoted_for_a_shell() {
    let memory = TestMemory::new();
    let tenant = memory.of(&poc_graph::Tuple::new([("team", "red & blue")]).unwrap());
    let id = memory.new_message_id();
    interrupted(&tenant, ErasureTarget::Message(id));
    let [unfinished] = &unfinished_erasures(&memory.paths).unwrap()[..] else { panic!() };
    let command = format!("poc-memory --tenant 'team=red & blue' forget --message-id {id} --erase");
    assert_eq!(unfinished.command(), command);
}

/// Otherwise an old entry would stop every later erasure after its deletion.
#[test]
fn the_texts_of_unfinished_erasures_are_also_looked_for_before_a_deletion() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let mut texts = ErasedTexts::default();
    texts.add("It opens at noon.");
    quarantine_repair(
        &memory,
        1,
        &[("copy", &format!("The word of the gate is {SECRET}.")), ("lost", "It closes.")],
    );
    check_erasable(&memory, &texts).unwrap();
    interrupted(&memory, ErasureTarget::Note(id));
    deleted(&memory, id);
    assert_eq!(check_erasable(&memory, &texts).unwrap_err().code, Code::Conflict);
}

/// Makes a file that nobody can read, not even root: a link to itself.
fn make_unreadable(file: &Path) {
    drop(std::os::unix::fs::symlink(file.file_name().unwrap(), file));
}

/// Checks that an unreadable file stops an erasure. Removes the file, and returns the texts of the erasure. Its note is
/// deleted then.
fn stopped_by_unreadable(memory: &TestMemory, file: &Path) -> ErasedTexts {
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    make_unreadable(file);
    let mut texts = ErasedTexts::default();
    texts.add(SECRET);
    assert_eq!(check_erasable(memory, &texts).unwrap_err().code, Code::Unavailable);
    let texts = deleted(memory, id);
    let error = erase(memory, &texts, "delete", &quiet()).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.message.starts_with("the text is deleted but not erased: `"), "{error}");
    fs::remove_file(file).unwrap();
    texts
}

#[test]
fn a_quarantined_file_that_cannot_be_read_stops_an_erasure() {
    let memory = TestMemory::new();
    let texts = stopped_by_unreadable(&memory, &memory.paths.store().join("quarantine/piece"));
    erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert_eq!(files_with_it(&memory.paths.store()), Vec::<PathBuf>::new());
}

#[test]
fn a_file_of_a_run_that_cannot_be_read_stops_an_erasure_until_the_history_is_deleted() {
    let memory = TestMemory::new();
    let file = memory.paths.runs().join("linker/1.json");
    let texts = stopped_by_unreadable(&memory, &file);
    check_erasable(&memory, &texts).unwrap();
    // A run writes its file during the compaction.
    let writes = || {
        make_unreadable(&file);
        Ok(())
    };
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &writes };
    let report = erase(&memory, &texts, "delete", &callbacks).unwrap();
    assert_eq!(report.unread_run_files, [memory.paths.runs()]);
    assert_eq!(files_with_it(&memory.paths.store()), Vec::<PathBuf>::new());
}

/// Puts a store with these notes into the quarantine, as a repair does.
fn quarantine_repair(memory: &TestMemory, number: u8, notes: &[(&str, &str)]) {
    let replaced = TestMemory::new();
    for (key, body) in notes {
        replaced.note(key, body);
    }
    quarantine_store(memory, number, &replaced);
}

fn quarantine_store(memory: &TestMemory, number: u8, replaced: &TestMemory) {
    quarantine_as(memory, &format!("repair-{number}"), "log", replaced);
}

/// Copies the log of a store to a folder of the quarantine, with the source of the moves.
fn quarantine_as(memory: &TestMemory, name: &str, source: &str, replaced: &TestMemory) {
    let folder = memory.paths.store().join("quarantine").join(name);
    fs::create_dir_all(folder.join("log")).unwrap();
    for file in backup::files_below(&replaced.paths.store().join("log")).unwrap() {
        fs::copy(&file, folder.join("log").join(file.file_name().unwrap())).unwrap();
    }
    let manifest = serde_json::json!({ "source": source, "folder": name, "moves": [] });
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
}

/// A replaced store may be the only copy of messages.
#[test]
fn messages_that_only_the_quarantine_has_stop_an_erasure() {
    let memory = TestMemory::new();
    let replaced = TestMemory::new();
    replaced.note("copy", &format!("The word of the gate is {SECRET}."));
    let message = Message {
        id: poc_graph::MessageId::from_bytes([7; 16]),
        text: "It opens at noon.".into(),
        metadata: "{}".into(),
        created: Timestamp(1),
        provenance: "manual".into(),
        chunks: Vec::new(),
    };
    let put = |memory: &TestMemory| {
        memory.store.transact(memory.cause("manual", "write"), |tx| tx.put_message(&message)).unwrap();
    };
    put(&replaced);
    quarantine_store(&memory, 1, &replaced);
    let mut texts = ErasedTexts::default();
    texts.add(SECRET);
    assert_eq!(check_erasable(&memory, &texts).unwrap_err().code, Code::Conflict);
    put(&memory);
    check_erasable(&memory, &texts).unwrap();
}

/// What was deleted since the copy was damaged is only in the copy, and must not be restored.
#[test]
fn a_damaged_copy_of_a_shared_log_that_stops_an_erasure_is_to_be_deleted() {
    let replaced = TestMemory::new();
    replaced.note("copy", &format!("The word of the gate is {SECRET}."));
    replaced.note("deleted", "The gate opens at noon.");
    let mut texts = ErasedTexts::default();
    texts.add(SECRET);
    let hint = |memory: &TestMemory| {
        quarantine_as(memory, "copy-1", "copy", &replaced);
        let error = check_erasable(memory, &texts).unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        error.hint.unwrap()
    };
    let shared = TestMemory::over(Arc::new(MemoryLog::default()).writer(), 1);
    insta::assert_snapshot!(hint(&shared), @"it is a damaged copy that the shared log has replaced: `poc-memory doctor quarantine delete copy-1` deletes it; then erase again");
    let unreadable = shared.paths.store().join("quarantine/copy-1/view");
    make_unreadable(&unreadable);
    let error = check_erasable(&shared, &texts).unwrap_err();
    assert_eq!(error.code, Code::Unavailable, "{error}");
    assert!(error.hint.unwrap().contains("`poc-memory doctor quarantine delete copy-1`"));
    delete_quarantine_part(&shared.paths.store(), "copy-1").unwrap();
    check_erasable(&shared, &texts).unwrap();
    // A memory that is no copy any more has these notes nowhere else.
    assert!(
        hint(&TestMemory::new()).starts_with("`poc-memory doctor quarantine restore copy-1` restores them")
    );
}

/// A replaced store may be the only copy of other notes.
#[test]
fn files_that_a_repair_replaced_stay_unless_they_contain_the_text() {
    let memory = TestMemory::new();
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    quarantine_repair(&memory, 1, &[("lost-1", "The gate opens at noon.")]);
    quarantine_repair(&memory, 2, &[("lost-2", &format!("The word of the other gate is {SECRET}."))]);
    let mut texts = deleted(&memory, id);
    texts.add(SECRET);
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert_eq!(report.quarantine, ["repair-2"]);
    assert_eq!(report.kept_repairs, ["repair-1"]);
    assert_eq!(quarantine_names(&memory.paths.store()).unwrap(), ["repair-1"]);
}

#[test]
fn keys_that_were_made_from_a_title_are_erased_with_it() {
    let mut texts = ErasedTexts::default();
    let node = |key: &str| Node {
        key: key.to_owned(),
        title: format!("{SECRET} opens"),
        aliases: vec!["gate".into()],
        ..poc_graph::testing::node(1)
    };
    texts.add_note(&node("zanzibarquetzal-opens-2"));
    assert!(texts.are_in("link `zanzibarquetzal-opens-2` to `noon`"));
    assert!(!texts.are_in("link `gate` to `noon`"));
    let mut texts = ErasedTexts::default();
    texts.add_note(&node("zanzibarquetzal-opens-late"));
    assert!(!texts.are_in("link `zanzibarquetzal-opens-late` to `noon`"));
}

#[test]
fn the_backups_with_an_erased_text_are_named() {
    let memory = TestMemory::new();
    let away = poc_graph::testing::folder();
    let (folder, file) = (away.path().join("folder"), away.path().join("memory.tar"));
    let gone = away.path().join("gone.tar");
    let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let back_up = |at: i64| {
        let (store, paths) = (&memory.store, &memory.paths);
        backup::create(store, paths, &folder, 9, Timestamp(at), &callbacks).unwrap()
    };
    memory.note("kept", "The gate opens at noon.");
    let before = back_up(1000);
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let with = back_up(2000);
    for archive in [&file, &gone] {
        backup::create_archive(&memory.store, &memory.paths, archive, Timestamp(3000), &callbacks).unwrap();
    }
    fs::remove_file(&gone).unwrap();
    let run = memory.paths.runs().join("linker/1.json");
    fs::create_dir_all(run.parent().unwrap()).unwrap();
    fs::write(run, serde_json::json!({ "prompt": SECRET }).to_string()).unwrap();
    let texts = deleted(&memory, id);
    let after = back_up(4000);
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    // After the deletion, the log still has the text.
    assert_eq!(report.backups, [folder.join(&after.name), folder.join(&with.name), file]);
    assert_eq!(report.unread_backups, std::slice::from_ref(&gone));
    let erased = back_up(5000);
    fs::remove_file(folder.join(&before.name).join("manifest.json")).unwrap();
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert!(!report.backups.contains(&folder.join(&erased.name)), "{:?}", report.backups);
    assert_eq!(report.unread_backups, [folder.join(&before.name), gone.clone()]);
    // A damaged part may contain the text, and so may a disk that is not mounted.
    let path = folder.join(&erased.name).join(&erased.manifest.log[0].file.path);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(path, bytes).unwrap();
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert!(report.unread_backups.contains(&folder.join(&erased.name)), "{report:?}");
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let report = erase(&memory, &texts, "delete", &quiet()).unwrap();
    assert_eq!(report.unread_backups, [folder, gone.clone()]);
    // A search that is cancelled is not an error.
    let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
    let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
    assert_eq!(backup::search(&memory.paths, &|_| true, &callbacks).unread.len(), 3);
}

/// A repetition knows no text to search for, so it must not say that no backup contains it.
#[test]
fn backups_are_named_as_not_searched_if_an_erasure_was_interrupted_after_it_had_deleted_the_history() {
    let memory = TestMemory::new();
    let away = poc_graph::testing::folder();
    let folder = away.path().join("folder");
    let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let other = memory.note("other", "It opens at noon.");
    let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
    let with = backup::create(&memory.store, &memory.paths, &folder, 9, Timestamp(1000), &callbacks).unwrap();
    let target = ErasureTarget::Note(id);
    let erasure = Erasure::begin(&memory, target.clone(), memory.now()).unwrap();
    let texts = deleted(&memory, id);
    erase(&memory, &texts, "delete", &quiet()).unwrap();
    drop(erasure);
    let repeated = Erasure::begin(&memory, target, memory.now()).unwrap();
    let report = repeated.run(&ErasedTexts::default(), &quiet()).unwrap();
    assert_eq!(report.backups, Vec::<PathBuf>::new());
    assert_eq!(report.unsearched_backups, [folder.join(&with.name)]);
    // The next erasure has nothing to complete.
    let erasure = Erasure::begin(&memory, ErasureTarget::Note(other), memory.now()).unwrap();
    let texts = deleted(&memory, other);
    let report = erasure.run(&texts, &quiet()).unwrap();
    assert_eq!(report.backups, [folder.join(&with.name)]);
    assert_eq!(report.unsearched_backups, Vec::<PathBuf>::new());
}

/// The other daemon finds the texts of the erasure in its own copy of the log.
#[test]
fn a_text_erased_from_a_shared_log_is_deleted_from_the_files_of_other_daemons() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (TestMemory::over(log.writer(), 7), TestMemory::over(log.writer(), 8));
    let catch_up = || assert!(second.store.wait_published(log.head(), Duration::from_secs(60)));
    let text = format!("The word of the gate is {SECRET}.");
    let id = first.note("hidden", &text);
    first.note("kept", "The gate opens at noon.");
    catch_up();
    let (store, runs) = (second.paths.store(), second.paths.runs());
    fs::create_dir_all(runs.join("linker")).unwrap();
    fs::write(runs.join("linker/1.json"), serde_json::json!({ "prompt": text }).to_string()).unwrap();
    fs::write(runs.join("linker/2.json"), "{\"prompt\":\"nothing\"}").unwrap();
    let copies = vault::copies_folder(&second.paths).join("vault");
    fs::create_dir_all(&copies).unwrap();
    fs::write(copies.join("hidden.md"), &text).unwrap();
    second.store.checkpoint().unwrap();
    assert_eq!(complete_elsewhere(&second, &quiet()).unwrap(), None);
    let erasure = Erasure::begin(&first, ErasureTarget::Note(id), first.now()).unwrap();
    let texts = deleted(&first, id);
    erasure.run(&texts, &quiet()).unwrap();
    catch_up();
    let erased = log.records()[0].seq - 1;
    assert_eq!(erased, log.head() - 1, "everything but the newest change is deleted");
    assert!(!log.has_text(SECRET.as_bytes()));
    assert!(!files_with_it(&store).is_empty());
    assert_eq!(complete_elsewhere(&second, &quiet()).unwrap(), Some(erased));
    assert_eq!((files_with_it(&store), files_with_it(&runs)), (Vec::new(), Vec::new()));
    assert_eq!(files_with_it(&copies), Vec::<PathBuf>::new());
    assert!(runs.join("linker/2.json").exists());
    assert!(second.find("kept").is_ok() && second.find("hidden").is_err());
    assert_eq!(complete_elsewhere(&second, &quiet()).unwrap(), None);
}
