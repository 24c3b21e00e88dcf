//! Erases deleted texts for good: from the log, the records, the indexes, the prompts of runs and the quarantine.
//!
//! A deletion keeps what it deleted in the log, so that it can be undone. An erasure drops the history up to the deletion,
//! of the whole memory: there is no log that lacks one text only, because every later transaction has images of others.

use super::backup::{self, BackupCallbacks, BackupPart};
use super::{Memory, key};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Message, Node, NodeId};
use poc_store::{
    CompactionCallbacks, LoggedChangeKind, LoggedTransaction, Record, Records, Table,
    each_quarantined_record, repair_folders,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Shorter lines of a text are too common to tell where it was copied to.
const MIN_LINE_CHARS: usize = 16;

/// The erased texts, as the strings that identify copies of them. White space is compared as single spaces, because prompts
/// indent and wrap texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedTexts(Vec<String>);

impl ErasedTexts {
    /// Adds a note, with those of its keys that were made from its title.
    pub fn add_note(&mut self, node: &Node) {
        self.add(&node.title);
        self.add(&node.body);
        let slug = key::slug(&node.title);
        let of_title = |key: &&String| key.strip_prefix(&slug).is_some_and(is_number_suffix);
        let keys = std::iter::once(&node.key).chain(&node.aliases);
        self.0.extend(keys.filter(of_title).cloned());
    }

    /// Adds a message.
    pub fn add_message(&mut self, message: &Message) {
        self.add(&message.text);
    }

    /// Adds all texts that a note has had since the history begins.
    pub fn add_history(&mut self, memory: &Memory, id: NodeId) -> Result<()> {
        for change in memory.store.history(id)? {
            match change.kind {
                LoggedChangeKind::Created(_) => {}
                LoggedChangeKind::Changed { before, after } => {
                    self.add_note(&before);
                    self.add_note(&after);
                }
                LoggedChangeKind::Deleted(before) => self.add_note(&before),
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str) {
        let lines = text.lines().map(with_single_spaces);
        self.0.extend(lines.filter(|line| line.chars().count() >= MIN_LINE_CHARS));
        let whole = with_single_spaces(text);
        if !whole.is_empty() {
            self.0.push(whole);
        }
    }

    /// Adds other texts.
    pub(super) fn append(&mut self, mut other: ErasedTexts) {
        self.0.append(&mut other.0);
    }

    fn are_in(&self, text: &str) -> bool {
        let text = with_single_spaces(text);
        self.0.iter().any(|known| text.contains(known.as_str()))
    }

    fn are_in_note(&self, node: &Node) -> bool {
        self.are_in(&node.title) || self.are_in(&node.body)
    }

    fn are_in_transaction(&self, txn: &LoggedTransaction) -> bool {
        txn.writes.iter().any(|write| {
            let mut images = [&write.before, &write.after].into_iter().flatten();
            images.any(|image| self.are_in_record(write.table, image))
        })
    }

    fn are_in_record(&self, table: Table, bytes: &[u8]) -> bool {
        let decoded = match table {
            Table::Nodes => Node::decode(bytes).ok().map(|node| self.are_in_note(&node)),
            Table::Messages => Message::decode(bytes).ok().map(|message| self.are_in(&message.text)),
            _ => None,
        };
        decoded.unwrap_or_else(|| self.are_in_bytes(bytes))
    }

    /// For the content of a file of a run, which is JSON.
    fn are_in_file(&self, bytes: &[u8]) -> bool {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => self.are_in_json(&value),
            Err(_) => self.are_in_bytes(bytes),
        }
    }

    fn are_in_bytes(&self, bytes: &[u8]) -> bool {
        self.are_in(&String::from_utf8_lossy(bytes))
    }

    fn are_in_json(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Array(items) => items.iter().any(|item| self.are_in_json(item)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| self.are_in(name) || self.are_in_json(value))
            }
            _ => false,
        }
    }
}

/// What [`key::unique`] appends to a slug: nothing, or `-2` and so on.
fn is_number_suffix(suffix: &str) -> bool {
    suffix.is_empty() || suffix.strip_prefix('-').is_some_and(|number| number.parse::<u64>().is_ok())
}

fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What an erasure did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureReport {
    /// Where the history of the memory begins now.
    pub history_since: Timestamp,
    /// Rows of runs and proposals that quoted the texts, and were deleted.
    pub rows: usize,
    /// Files with prompts and replies of runs that were deleted.
    pub run_files: usize,
    /// What was deleted from the quarantine, by name.
    pub quarantine: Vec<String>,
    /// What repairs have replaced, by name in the quarantine. What can be read of it does not have the texts. It stays,
    /// because it may be the only copy of other notes.
    pub kept_repairs: Vec<String>,
    /// Notes, by key, and messages, by id, that contain the texts too. They stay.
    pub elsewhere: Vec<String>,
    /// Generations and archives of backups that still have the texts.
    pub backups: Vec<PathBuf>,
    /// Places and generations of backups that cannot be read now, or not completely, and may have them.
    pub unread_backups: Vec<PathBuf>,
}

/// When texts were erased last. Written after the deletion, because compaction always keeps the newest
/// transaction and that must not be the deletion.
#[derive(Serialize, Deserialize)]
struct LastErasure {
    at: Timestamp,
}

impl Record for LastErasure {
    const TABLE: Table = Table::Meta;
}

const LAST_ERASURE: &[u8] = b"erasure";

/// Removes what is left of texts after they were deleted. Drops the history of the whole memory up to now, for all tenants.
///
/// # Errors
/// As `Store::compact`. After an error the texts are deleted but not yet erased from log and records; the next compaction
/// that drops the history does that.
pub fn erase(
    memory: &Memory,
    texts: &ErasedTexts,
    op: &str,
    callbacks: &CompactionCallbacks<'_>,
) -> Result<ErasureReport> {
    let store = &memory.store;
    let rows = store
        .transact(memory.cause("manual", op), |tx| {
            let mut rows = 0;
            for table in [Table::Runs, Table::Proposals] {
                for (key, value) in tx.raw_range(table, &[])? {
                    if texts.are_in_bytes(&value) {
                        tx.put_raw(table, &key, None)?;
                        rows += 1;
                    }
                }
            }
            Ok(rows)
        })?
        .value;
    // Before the compaction, which may be interrupted and can be repeated; afterwards nothing is left to search for.
    let mut copies = remove_copies(memory, texts)?;
    let mark = LastErasure { at: memory.now() };
    let marked = store.transact(memory.cause("manual", op), |tx| tx.put(LAST_ERASURE, &mark))?.seq;
    // Everything but the newest transaction.
    store.compact(Some(Timestamp(i64::MAX)), callbacks).map_err(incomplete)?;
    let base = store.history_base().filter(|base| base.seq + 1 >= marked).ok_or_else(|| {
        Error::internal("the text is deleted, but the history that has it could not be dropped")
            .hint("write something and erase again")
    })?;
    // Runs that began before the deletion have ended meanwhile.
    let since = remove_copies(memory, texts)?;
    copies.run_files += since.run_files;
    copies.quarantine.extend(since.quarantine);
    let elsewhere = elsewhere(memory, texts)?;
    let in_part = |part: BackupPart<'_>| match part {
        BackupPart::Transaction(txn) => texts.are_in_transaction(txn),
        BackupPart::File(bytes) => texts.are_in_file(bytes),
    };
    // Last: the erasure is complete, and a search that is cancelled is no error.
    let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: callbacks.check_cancelled };
    let backups = backup::search(&memory.paths, &in_part, &callbacks);
    Ok(ErasureReport {
        history_since: base.at,
        rows,
        run_files: copies.run_files,
        quarantine: copies.quarantine,
        kept_repairs: since.kept_repairs,
        elsewhere,
        backups: backups.found,
        unread_backups: backups.unread,
    })
}

/// What to do when the compaction of an erasure has failed.
fn incomplete(error: Error) -> Error {
    let completes = "the text is deleted, but the history still has it: `poc-memory compact --keep 0s` completes the erasure";
    let hint = match &error.hint {
        Some(hint) => format!("{hint}; {completes}"),
        None => completes.to_owned(),
    };
    error.hint(hint)
}

/// Copies of the texts outside of log, records and indexes. See [`ErasureReport`].
struct RemovedCopies {
    run_files: usize,
    quarantine: Vec<String>,
    kept_repairs: Vec<String>,
}

/// Deletes the files of runs that contain the texts, and what may contain them in the quarantine.
fn remove_copies(memory: &Memory, texts: &ErasedTexts) -> Result<RemovedCopies> {
    let run_files = remove_run_files(&memory.paths.runs(), texts)?;
    let (quarantine, kept_repairs) = clear_quarantine(&memory.paths.store(), texts)?;
    Ok(RemovedCopies { run_files, quarantine, kept_repairs })
}

/// Deletes the files of runs that contain the texts.
fn remove_run_files(folder: &Path, texts: &ErasedTexts) -> Result<usize> {
    let mut removed = 0;
    for file in backup::files_below(folder)? {
        let Ok(bytes) = fs::read(&file) else { continue };
        if texts.are_in_file(&bytes) {
            fs::remove_file(&file).map_err(|error| unremovable(&file, &error))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Deletes what the quarantine of a store has, if it may contain the texts. Pieces of a log and folders of records are
/// compressed, so their contents cannot be searched for a part of a text. What a repair has replaced is decoded as far as
/// possible, and deleted only if it contains them. Returns the names of what was deleted, and of the repairs that stay.
fn clear_quarantine(store: &Path, texts: &ErasedTexts) -> Result<(Vec<String>, Vec<String>)> {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    let folder = &store.join("quarantine");
    let repairs = repair_folders(store);
    let Ok(entries) = fs::read_dir(folder) else { return Ok((removed, kept)) };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if repairs.contains(&name) {
            let mut has_them = false;
            each_quarantined_record(store, &name, &mut |table, bytes| {
                has_them = has_them || texts.are_in_record(table, bytes);
            })?;
            if !has_them {
                kept.push(name);
                continue;
            }
        }
        // By the path below the quarantine: the folders above it may have any name.
        let is_compressed = |file: &PathBuf| {
            let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
            name.contains(".log") || name.contains("records")
        };
        let files = if path.is_dir() { backup::files_below(&path)? } else { vec![path.clone()] };
        let may_have_them = files
            .iter()
            .any(|file| is_compressed(file) || fs::read(file).is_ok_and(|bytes| texts.are_in_bytes(&bytes)));
        if !may_have_them {
            continue;
        }
        let done = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        done.map_err(|error| unremovable(&path, &error))?;
        removed.push(name);
    }
    removed.sort();
    kept.sort();
    Ok((removed, kept))
}

/// What else of the memory contains the texts, of all tenants.
fn elsewhere(memory: &Memory, texts: &ErasedTexts) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (tuple, _) in memory.store.tenants()? {
        let own = memory.store.for_tenant(&tuple);
        for (_, node) in own.range::<Node>(&[])? {
            if texts.are_in_note(&node) {
                found.push(node.key);
            }
        }
        for (_, message) in own.range::<Message>(&[])? {
            if texts.are_in(&message.text) {
                found.push(message.id.to_string());
            }
        }
    }
    Ok(found)
}

fn unremovable(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be deleted: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delete;
    use crate::testing::TestMemory;

    const SECRET: &str = "Zanzibarquetzal";

    /// Texts that are so short are not compressed, so they can be searched for.
    fn files_with_it(folder: &Path) -> Vec<PathBuf> {
        let mut found = backup::files_below(folder).unwrap();
        found.retain(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).contains(SECRET));
        found
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
        write(
            runs.join("linker/3.json"),
            &serde_json::json!({ "prompt": "  user: bob\n    pw: 1" }).to_string(),
        );
        write(store.join("quarantine/piece"), SECRET);
        write(store.join("quarantine/other"), "nothing");
        memory.store.checkpoint().unwrap();
        assert!(!files_with_it(&store).is_empty());
        let mut texts = ErasedTexts::default();
        let deleted =
            memory.store.transact(memory.cause("manual", "delete"), |tx| delete::apply(tx, id, memory.now()));
        texts.add_note(&deleted.unwrap().value.node);
        texts.add(SECRET);
        texts.add("user: bob\npw: 1");
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
        let report = erase(&memory, &texts, "delete", &callbacks).unwrap();
        assert_eq!((report.run_files, report.quarantine), (2, vec!["piece".to_owned()]));
        assert_eq!((files_with_it(&store), files_with_it(&runs)), (Vec::new(), Vec::new()));
        assert!(runs.join("linker/2.json").exists() && store.join("quarantine/other").exists());
        assert!(memory.find("kept").is_ok() && memory.find("hidden").is_err());
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
        let mut texts = ErasedTexts::default();
        let deleted =
            memory.store.transact(memory.cause("manual", "delete"), |tx| delete::apply(tx, id, memory.now()));
        texts.add_note(&deleted.unwrap().value.node);
        texts.add(SECRET);
        let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
        let error = erase(&memory, &texts, "delete", &callbacks).unwrap_err();
        insta::assert_snapshot!(error.hint.unwrap(), @"the text is deleted, but the history still has it: `poc-memory compact --keep 0s` completes the erasure");
        assert_eq!(files_with_it(&runs), Vec::<PathBuf>::new());
        assert!(!files_with_it(&store).is_empty());
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
        memory.store.compact(Some(Timestamp(i64::MAX)), &callbacks).unwrap();
        assert_eq!(files_with_it(&store), Vec::<PathBuf>::new());
    }

    /// It may be the only copy of other notes.
    #[test]
    fn what_a_repair_has_replaced_stays_unless_it_has_the_text() {
        let (memory, replaced) = (TestMemory::new(), TestMemory::new());
        let id = memory.note("hidden", &format!("The word of the gate is {SECRET}."));
        let repair = |number: u8, text: &str| {
            replaced.note(&format!("lost-{number}"), text);
            let name = format!("repair-{number}");
            let folder = memory.paths.store().join("quarantine").join(&name);
            fs::create_dir_all(folder.join("log")).unwrap();
            for file in backup::files_below(&replaced.paths.store().join("log")).unwrap() {
                fs::copy(&file, folder.join("log").join(file.file_name().unwrap())).unwrap();
            }
            let manifest = serde_json::json!({ "source": "log", "folder": name, "moves": [] });
            fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
        };
        repair(1, "The gate opens at noon.");
        repair(2, &format!("The word of the other gate is {SECRET}."));
        let mut texts = ErasedTexts::default();
        let deleted =
            memory.store.transact(memory.cause("manual", "delete"), |tx| delete::apply(tx, id, memory.now()));
        texts.add_note(&deleted.unwrap().value.node);
        texts.add(SECRET);
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
        let report = erase(&memory, &texts, "delete", &callbacks).unwrap();
        assert_eq!(report.quarantine, ["repair-2"]);
        assert_eq!(report.kept_repairs, ["repair-1"]);
        assert_eq!(repair_folders(&memory.paths.store()), ["repair-1"]);
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
        let away = tempfile::tempdir().unwrap();
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
            backup::create_archive(&memory.store, &memory.paths, archive, Timestamp(3000), &callbacks)
                .unwrap();
        }
        fs::remove_file(&gone).unwrap();
        let run = memory.paths.runs().join("linker/1.json");
        fs::create_dir_all(run.parent().unwrap()).unwrap();
        fs::write(run, serde_json::json!({ "prompt": SECRET }).to_string()).unwrap();
        let deleted =
            memory.store.transact(memory.cause("manual", "delete"), |tx| delete::apply(tx, id, memory.now()));
        let after = back_up(4000);
        let mut texts = ErasedTexts::default();
        texts.add_note(&deleted.unwrap().value.node);
        let compaction = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
        let report = erase(&memory, &texts, "delete", &compaction).unwrap();
        // After the deletion, the log still has the text.
        assert_eq!(report.backups, [folder.join(&after.name), folder.join(&with.name), file]);
        assert_eq!(report.unread_backups, std::slice::from_ref(&gone));
        let erased = back_up(5000);
        fs::remove_file(folder.join(&before.name).join("manifest.json")).unwrap();
        let report = erase(&memory, &texts, "delete", &compaction).unwrap();
        assert!(!report.backups.contains(&folder.join(&erased.name)), "{:?}", report.backups);
        assert_eq!(report.unread_backups, [folder.join(&before.name), gone.clone()]);
        // A part that is damaged may have it, and so may a disk that is not there.
        let path = folder.join(&erased.name).join(&erased.manifest.log[0].file.path);
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(path, bytes).unwrap();
        let report = erase(&memory, &texts, "delete", &compaction).unwrap();
        assert!(report.unread_backups.contains(&folder.join(&erased.name)), "{report:?}");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        let report = erase(&memory, &texts, "delete", &compaction).unwrap();
        assert_eq!(report.unread_backups, [folder, gone.clone()]);
        // A search that is cancelled is no error.
        let stops = || Err(Error::new(poc_graph::error::Code::Unavailable, "the daemon is stopping"));
        let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &stops };
        assert_eq!(backup::search(&memory.paths, &|_| true, &callbacks).unread.len(), 3);
    }
}
