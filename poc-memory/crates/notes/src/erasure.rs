//! Erases deleted texts for good: from the log, the records, the indexes, the prompts of runs, the copies of files of
//! vaults and the quarantine.
//!
//! A deletion keeps the deleted records in the log, so that it can be undone. An erasure deletes the history of
//! the whole memory up to the deletion: one text alone cannot be cut out of the log, because the transactions
//! that contain it also contain before-images of other records. A shared log loses the same history, and so do the
//! copies of the other daemons; see [`complete_elsewhere`].

mod erased_texts;
mod shared_log;
#[cfg(test)]
mod tests;
mod unfinished;

pub use erased_texts::ErasedTexts;
pub use shared_log::complete_elsewhere;
pub(crate) use unfinished::remove_without_deletion;
pub use unfinished::{ErasureTarget, UnfinishedErasure, unfinished_erasures};

use super::backup::{self, BackupCallbacks, BackupPart};
use super::{Memory, vault};
use parking_lot::MutexGuard;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Message, Node, NodeId, cancellation, normal_key};
use poc_store::{
    CompactionCallbacks, QuarantineNote, Record, Records, Store, Table, delete_quarantine_part,
    for_each_quarantine_record, is_replaced_copy, quarantine_contents, quarantine_names, repair_folders,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The result of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureReport {
    /// Where the history of the memory begins now.
    pub history_since: Timestamp,
    /// Number of deleted rows of runs and proposals that quoted the texts.
    pub rows: usize,
    /// Number of deleted files with prompts and replies of runs.
    pub run_files: usize,
    /// Files of runs, or their folder, that could not be read or deleted after the history was deleted. They may
    /// contain the texts.
    pub unread_run_files: Vec<PathBuf>,
    /// Number of deleted copies of files of vaults from before a write-back.
    pub vault_copies: usize,
    /// Names of data that was deleted from the quarantine.
    pub quarantine: Vec<String>,
    /// Names of quarantined data that repairs replaced. Its readable parts do not contain the texts. It is
    /// kept, because it may be the only copy of other notes.
    pub kept_repairs: Vec<String>,
    /// Keys of notes and ids of messages that also contain the texts. They are kept.
    pub elsewhere: Vec<String>,
    /// Generations and archives of backups that still contain the texts.
    pub backups: Vec<PathBuf>,
    /// Folders, generations and archives of backups that could not be read completely and may still contain
    /// the texts. The list of the backups itself if it could not be read.
    pub unread_backups: Vec<PathBuf>,
    /// Other generations and archives of backups that may contain the texts, because an erasure was interrupted after
    /// it had deleted the history, from which the texts are known. Empty if all texts are known.
    pub unsearched_backups: Vec<PathBuf>,
}

/// The erasures that were completed last, and when. They have ids and no texts: other daemons over the same log find
/// the texts in their copies of it. The record is written after the deletion, because a compaction always keeps the
/// newest transaction, which must not be the deletion.
#[derive(Serialize, Deserialize)]
struct LastErasures {
    at: Timestamp,
    erasures: Vec<UnfinishedErasure>,
}

impl Record for LastErasures {
    const TABLE: Table = Table::Meta;
}

/// The key of the record. Earlier releases wrote one with only the time under `erasure`, which nothing reads.
const LAST_ERASURES: &[u8] = b"erasures";

/// An erasure, from before the deletion until no copy of the text is left. If it is interrupted,
/// [`unfinished_erasures`] names it, and every later erasure completes it.
pub struct Erasure<'a> {
    memory: &'a Memory,
    entry: UnfinishedErasure,
    /// Whether it continues an erasure that was interrupted, whose entry it has.
    is_continued: bool,
    // Otherwise one erasure could remove the entry of another whose deletion it has not seen.
    _running: MutexGuard<'a, ()>,
}

impl<'a> Erasure<'a> {
    /// Begins an erasure, before anything is deleted. The deletions must have the time `at`. Waits for another
    /// erasure of this memory.
    ///
    /// # Errors
    /// `read_only` or `unavailable` if its beginning cannot be saved, and as [`unfinished_erasures`]. Nothing may be
    /// deleted then.
    pub fn begin(memory: &'a Memory, target: ErasureTarget, at: Timestamp) -> Result<Erasure<'a>> {
        let running = loop {
            if let Some(running) = memory.erasing.try_lock_for(CANCELLATION_INTERVAL) {
                break running;
            }
            cancellation::check()?;
        };
        let (entry, is_new) = unfinished::add(memory, target, at)?;
        Ok(Erasure { memory, entry, is_continued: !is_new, _running: running })
    }

    /// What it deletes.
    pub fn target(&self) -> &ErasureTarget {
        &self.entry.target
    }

    /// Whether an earlier erasure of the same target was interrupted.
    pub fn is_repeated(memory: &Memory, target: &ErasureTarget) -> Result<bool> {
        unfinished::contains(memory, target)
    }

    /// Whether an erasure of any tenant has begun and is not finished. Those whose deletion was undone do not count.
    pub fn has_unfinished(memory: &Memory) -> Result<bool> {
        Ok(!unfinished::without_undone(memory)?.is_empty())
    }

    /// Ends an erasure whose deletion failed with an error. It stays unfinished if something may have been deleted.
    pub fn abandon_after(self, error: &Error) -> Result<()> {
        // The log may have the deletion although its write failed.
        let is_uncertain = match error.code {
            Code::ReadOnly => self.memory.store.may_have_refused_write(),
            Code::Unavailable => !cancellation::is_cancellation(error),
            code => code == Code::Internal,
        };
        // The interrupted erasure that it continues may have deleted something, even if the history lacks it by now.
        if is_uncertain || self.is_continued || self.entry.has_deletion(self.memory)? {
            return Ok(());
        }
        self.abandon()
    }

    /// Ends an erasure that has deleted nothing.
    fn abandon(self) -> Result<()> {
        unfinished::remove_last(&self.memory.paths)
    }

    /// Removes all remaining copies of deleted texts, and of those of interrupted erasures. Drops the history of the
    /// whole memory up to now, for all tenants.
    ///
    /// # Errors
    /// As `Store::compact`. After an error the texts are deleted but not yet erased from log and records.
    pub fn run(self, texts: &ErasedTexts, callbacks: &CompactionCallbacks<'_>) -> Result<ErasureReport> {
        unfinished::remove_repeated(self.memory, &self.entry)?;
        let lacks_texts = unfinished::may_lack_texts(self.memory)?;
        let mut all = unfinished::texts(self.memory)?;
        all.append(texts.clone());
        let mut report = erase(self.memory, &all, self.entry.target.op(), callbacks)?;
        if lacks_texts {
            let mut rest = backup::all_backups(&self.memory.paths);
            rest.retain(|path| !report.backups.contains(path) && !report.unread_backups.contains(path));
            report.unsearched_backups = rest;
        }
        unfinished::remove_all(&self.memory.paths)?;
        Ok(report)
    }
}

/// The time between two checks whether an erasure that waits for another one was cancelled.
const CANCELLATION_INTERVAL: Duration = Duration::from_millis(100);

/// Removes all remaining copies of deleted texts.
fn erase(
    memory: &Memory,
    texts: &ErasedTexts,
    op: &str,
    callbacks: &CompactionCallbacks<'_>,
) -> Result<ErasureReport> {
    let store = &memory.store;
    let quarantine = quarantine_with(memory, texts).map_err(not_erased)?;
    require_no_only_copies(memory, &quarantine, texts).map_err(not_erased)?;
    // Files are searched before the compaction, because the texts of an interrupted erasure are read from the
    // history, which the compaction deletes.
    let run_files = files_with(&memory.paths.runs(), texts).map_err(not_erased)?;
    let vault_copies = files_with(&vault::copies_folder(&memory.paths), texts).map_err(not_erased)?;
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
        })
        .map_err(incomplete)?
        .value;
    run_files.iter().chain(&vault_copies).try_for_each(|file| remove_file(file)).map_err(incomplete)?;
    let kept_repairs = clear_quarantine(&memory.paths.store(), &quarantine).map_err(incomplete)?;
    let mark = LastErasures { at: memory.now(), erasures: unfinished::without_undone(memory)? };
    let marked = store.transact(memory.cause("manual", op), |tx| tx.put(LAST_ERASURES, &mark));
    let marked = marked.map_err(incomplete)?.seq;
    // Everything but the newest transaction.
    store.compact(Some(Timestamp(i64::MAX)), callbacks).map_err(incomplete)?;
    let base = store.history_base().filter(|base| base.seq + 1 >= marked).ok_or_else(|| {
        Error::internal("the text is deleted, but the history that contains it could not be deleted")
            .hint("store a note, then repeat the erasure")
    })?;
    store.erase_shared_history(callbacks).map_err(incomplete)?;
    // Runs that began before the deletion have ended by now.
    let late_run_files = remove_late_run_files(&memory.paths.runs(), texts);
    let elsewhere = elsewhere(memory, texts)?;
    let in_part = |part: BackupPart<'_>| match part {
        BackupPart::Transaction(txn) => texts.are_in_transaction(txn),
        BackupPart::File(bytes) => texts.are_in_file(bytes),
    };
    // Backups are searched last: the erasure itself is then complete, so a cancelled search is not an error.
    let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: callbacks.check_cancelled };
    let backups = backup::search(&memory.paths, &in_part, &callbacks);
    Ok(ErasureReport {
        history_since: base.at,
        rows,
        run_files: run_files.len() + late_run_files.removed,
        unread_run_files: late_run_files.unread,
        vault_copies: vault_copies.len(),
        quarantine,
        kept_repairs,
        elsewhere,
        backups: backups.found,
        unread_backups: backups.unread,
        unsearched_backups: Vec::new(),
    })
}

/// Adds to the error of a check that the texts are deleted, and how to complete the erasure.
fn not_erased(error: Error) -> Error {
    let brings_back = "`poc-memory undo` brings the text back";
    let hint = match &error.hint {
        Some(hint) => format!("{hint}; or {brings_back}"),
        None => brings_back.to_owned(),
    };
    let message = format!("the text is deleted but not erased: {}", error.message);
    Error { message, ..error }.hint(hint)
}

/// Adds a hint to the error of a step between the checks and the end of the compaction: how to complete the erasure.
fn incomplete(error: Error) -> Error {
    let completes =
        "the text is deleted, but the history still contains it: the same command completes the erasure";
    let hint = match &error.hint {
        Some(hint) => format!("{hint}; {completes}"),
        None => completes.to_owned(),
    };
    error.hint(hint)
}

/// The files below a folder that contain the texts.
fn files_with(folder: &Path, texts: &ErasedTexts) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in backup::files_below(folder)? {
        if has_texts(&file, texts)? {
            found.push(file);
        }
    }
    Ok(found)
}

/// Whether a file contains the texts.
fn has_texts(file: &Path, texts: &ErasedTexts) -> Result<bool> {
    Ok(read_if_present(file)?.is_some_and(|bytes| texts.are_in_file(&bytes)))
}

/// Files of runs that were written during the erasure.
#[derive(Default)]
struct LateRunFiles {
    /// Number of deleted files.
    removed: usize,
    /// Files, or their folder, that could not be read or deleted.
    unread: Vec<PathBuf>,
}

/// Deletes the files of runs that contain the texts, after the history was deleted. A repetition of the erasure would
/// not know the texts of the history any more, so a file that cannot be read is not an error.
fn remove_late_run_files(folder: &Path, texts: &ErasedTexts) -> LateRunFiles {
    let mut late = LateRunFiles::default();
    let files = backup::files_below(folder).unwrap_or_else(|error| {
        tracing::warn!("the files of runs were not searched: {error}");
        late.unread.push(folder.to_owned());
        Vec::new()
    });
    for file in files {
        let removed = has_texts(&file, texts).and_then(|has_texts| {
            if has_texts {
                remove_file(&file)?;
            }
            Ok(usize::from(has_texts))
        });
        match removed {
            Ok(removed) => late.removed += removed,
            Err(error) => {
                tracing::warn!("a file of a run may contain the text: {error}");
                late.unread.push(file);
            }
        }
    }
    late
}

/// Refuses an erasure that would stop after the deletion, or that would delete notes or messages which only the
/// quarantine has. The erasure also deletes the texts of unfinished ones, so their parts of the quarantine count, too.
///
/// # Errors
/// `conflict` with the part of the quarantine that has the texts and such records; `unavailable` when a part of the
/// quarantine, a file of a run or a copy of a file of a vault cannot be read.
pub fn check_erasable(memory: &Memory, texts: &ErasedTexts) -> Result<()> {
    let mut all = unfinished::texts(memory)?;
    all.append(texts.clone());
    require_no_only_copies(memory, &quarantine_with(memory, &all)?, &all)?;
    files_with(&memory.paths.runs(), &all)?;
    files_with(&vault::copies_folder(&memory.paths), &all).map(drop)
}

/// The part of the quarantine that has a note of the memory's tenant, given by its key or full id; `None` if no part
/// has it. Reads the quarantine.
///
/// # Errors
/// `unavailable` when a part of the quarantine cannot be read.
pub fn quarantine_part_with_note(memory: &Memory, name: &str) -> Result<Option<String>> {
    let (key, id) = (normal_key(name), name.parse::<NodeId>().ok());
    for part in quarantine_names(&memory.paths.store())? {
        cancellation::check()?;
        let contents = quarantine_contents(&memory.paths.store(), &part)?;
        let notes = contents.get(&memory.store.tenant()).into_iter().flat_map(|own| &own.notes);
        let mut present = notes.filter(|note| !note.deleted).map(|note| &note.node);
        if present.any(|node| node.key == *key || Some(node.id) == id) {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Refuses an erasure that would delete notes or messages which only these parts of the quarantine have. The parts
/// contain the texts.
fn require_no_only_copies(memory: &Memory, parts: &[String], texts: &ErasedTexts) -> Result<()> {
    let tenants = memory.store.all_tenants()?;
    for name in parts {
        let lacking =
            lacking_in(memory, &tenants, name, texts).map_err(|error| with_copy_hint(memory, name, error))?;
        if lacking > 0 {
            let message = format!(
                "`{name}` in the quarantine contains the text, and also {lacking} notes and messages that the \
                 memory does not have"
            );
            let error = Error::conflict(message)
                .hint(format!(
                    "`poc-memory doctor quarantine restore {name}` restores them, `poc-memory doctor quarantine delete \
                     {name}` deletes them; then erase again"
                ))
                .field("erase");
            return Err(with_copy_hint(memory, name, error));
        }
    }
    Ok(())
}

/// The number of notes and messages that a part of the quarantine has and the memory lacks, without those that contain
/// the texts.
fn lacking_in(memory: &Memory, tenants: &[Store], name: &str, texts: &ErasedTexts) -> Result<u64> {
    let mut lacking = 0;
    for (tenant, own) in quarantine_contents(&memory.paths.store(), name)? {
        let present = tenants.iter().find(|own| own.tenant() == tenant);
        for QuarantineNote { node, deleted } in own.notes {
            let is_here = match present {
                Some(present) => present.node(node.id)?.is_some(),
                None => false,
            };
            lacking += u64::from(!deleted && !is_here && !texts.are_in_note(&node));
        }
        for record in own.records.iter().filter(|record| record.table == Table::Messages) {
            let message = Message::decode(&record.value)?;
            let is_here = match present {
                Some(present) => present.message(message.id)?.is_some(),
                None => false,
            };
            lacking += u64::from(!is_here && !texts.are_in(&message.text));
        }
    }
    Ok(lacking)
}

/// An error about a part of the quarantine that stops an erasure. If it is a damaged copy of the memory's shared log,
/// the hint only says how to delete it: the shared log has replaced it, and what was deleted since then must not return.
fn with_copy_hint(memory: &Memory, name: &str, error: Error) -> Error {
    if memory.store.shared_log().is_none() || !is_replaced_copy(&memory.paths.store(), name) {
        return error;
    }
    error.hint(format!(
        "it is a damaged copy that the shared log has replaced: `poc-memory doctor quarantine delete {name}` deletes \
         it; then erase again"
    ))
}

/// The parts of the quarantine of a memory that must be deleted for the texts.
fn quarantine_with(memory: &Memory, texts: &ErasedTexts) -> Result<Vec<String>> {
    let store = &memory.paths.store();
    let repairs = repair_folders(store);
    let mut found = Vec::new();
    for name in quarantine_names(store)? {
        let is_found = may_part_have(store, &name, repairs.contains(&name), texts)
            .map_err(|error| with_copy_hint(memory, &name, error))?;
        if is_found {
            found.push(name);
        }
    }
    Ok(found)
}

/// Whether a part of the quarantine of a store may have the texts. Pieces of a log and folders of records are
/// compressed and cannot be searched for a part of a text, so they count as containing it. Data that a repair replaced
/// is decoded as far as possible.
fn may_part_have(store: &Path, name: &str, is_repair: bool, texts: &ErasedTexts) -> Result<bool> {
    let folder = &store.join("quarantine");
    let path = folder.join(name);
    // Only the path below the quarantine counts, because the folders above it may have any name.
    let is_compressed = |file: &PathBuf| {
        let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
        name.contains(".log") || name.contains("records")
    };
    let may_have_them = |file: &PathBuf| -> Result<bool> {
        if is_compressed(file) {
            return Ok(!is_repair);
        }
        Ok(read_if_present(file)?.is_some_and(|bytes| texts.are_in_bytes(&bytes)))
    };
    let files = if path.is_dir() { backup::files_below(&path)? } else { vec![path] };
    let mut is_found = false;
    for file in &files {
        is_found = is_found || may_have_them(file)?;
    }
    if is_repair && !is_found {
        for_each_quarantine_record(store, name, &mut |table, bytes| {
            is_found = is_found || texts.are_in_record(table, bytes);
        })?;
    }
    Ok(is_found)
}

/// Deletes parts of the quarantine. Returns the names of the repairs that are kept.
fn clear_quarantine(store: &Path, parts: &[String]) -> Result<Vec<String>> {
    parts.iter().try_for_each(|name| delete_quarantine_part(store, name).map(drop))?;
    let mut kept = quarantine_names(store)?;
    let repairs = repair_folders(store);
    kept.retain(|name| repairs.contains(name));
    Ok(kept)
}

/// The notes and messages of all tenants that also contain the texts.
fn elsewhere(memory: &Memory, texts: &ErasedTexts) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for own in memory.store.all_tenants()? {
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

/// Reads a file; `None` if it was deleted after it was listed. A file that cannot be read may contain the texts.
fn read_if_present(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable(format!("`{}` cannot be read: {error}", file.display()))
            .hint("make the file readable or delete it, then erase again")),
    }
}

/// Deletes a file, if it is there.
fn remove_file(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::unavailable(format!("`{}` cannot be deleted: {error}", file.display())))
        }
        _ => Ok(()),
    }
}
