//! Compacts a store: deletes history, and rewrites the records without obsolete values.
//!
//! Everything is prepared beside the store, from the log, while the store is in use. Then one rename replaces the
//! beginning of the log, and two renames replace the folder of the records. After an interruption, an open finds the
//! old files or the new ones, or rebuilds the records from the log. The next attempt reuses what an interrupted one has
//! prepared.

pub(super) mod state;

use super::Store;
use super::compaction_error::CompactionError;
use super::compactor::Compactor;
use super::disk::remove_folder;
use super::engine::{Engine, Watermark};
use super::log::{Log, PARTIAL_SEGMENT};
use super::logged_transaction::LogBase;
use super::shared_state::StoreState;
use poc_graph::error::{Code, Result};
use poc_graph::time::Timestamp;
use state::BaseState;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which a compaction is prepared.
pub(super) const FOLDER: &str = "compact";
/// The folder in which the state for a snapshot is prepared.
pub(super) const SNAPSHOT_FOLDER: &str = "snapshot";
/// The folder of the old records until they are deleted.
pub(super) const OLD_RECORDS: &str = "records.old";

/// Callbacks of a compaction.
pub struct CompactionCallbacks<'a> {
    /// Called with the number of transactions read so far and the total to be read.
    pub progress: &'a dyn Fn(u64, u64),
    /// Called often. An error ends the compaction; the next compaction continues it.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// The sizes on disk of the parts of a store, for all tenants together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSizes {
    /// Size of the log in bytes.
    pub log: u64,
    /// Size of the records in bytes.
    pub records: u64,
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Where the history now begins; `None` if the history is complete.
    pub base: Option<LogBase>,
    /// The number of transactions that can no longer be shown or undone.
    pub deleted: u64,
    /// The sizes on disk before.
    pub before: StoreSizes,
    /// The sizes on disk afterwards.
    pub after: StoreSizes,
}

/// History that a compaction would delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletableHistory {
    /// The latest time in it: where the history would begin.
    pub until: Timestamp,
    /// The number of its transactions, at least 1.
    pub transactions: u64,
}

impl Store {
    /// The most that [`Store::compact`] with the same time deletes; `None` if it deletes nothing. It keeps all of it if
    /// the state that the history led to would take more transactions. Reads the log up to that time.
    ///
    /// # Errors
    /// Those of reading the log, and any error that `check_cancelled` returns.
    pub fn deletable_history(
        &self,
        before: Option<Timestamp>,
        check_cancelled: &dyn Fn() -> Result<()>,
    ) -> Result<Option<DeletableHistory>> {
        let log = self.shared.log.as_ref();
        let limit = last_deletable(log, before, log.last(), check_cancelled)?;
        let base = log.base_seq();
        Ok(limit.map(|(seq, until)| DeletableHistory { until, transactions: seq.saturating_sub(base) }))
    }

    /// Compacts the store. With `before`, history before that time is replaced by the state that it led to, and can no
    /// longer be shown or undone. The newest transaction is always kept.
    ///
    /// # Errors
    /// `read_only` if the store accepts no writes, `locked` if a compaction is already running, and any error that a
    /// callback returns. After an error, the store is either unchanged or compacted, and the next compaction continues.
    pub fn compact(
        &self,
        before: Option<Timestamp>,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Compaction> {
        let shared = self.shared.as_ref();
        shared.commits.check_writable()?;
        let Some(compactor) = &shared.compactor else {
            return Err(CompactionError::DamagedStore.into());
        };
        let Some(_running) = compactor.running.try_lock() else {
            return Err(CompactionError::Running.into());
        };
        // A download or a snapshot that was interrupted may have left texts there that are to be erased.
        remove_folder(&shared.directory.join(SNAPSHOT_FOLDER)).map_err(CompactionError::Write)?;
        // No index may still need the transactions that are deleted.
        shared.index_workers.settle();
        let earlier = self.sizes()?;
        let work = CompactionJob { shared, compactor, callbacks };
        let deleted = work.run(before).inspect_err(|error| {
            if error.code == Code::ReadOnly {
                // The prepared files take space that others need more.
                let _ = remove_folder(&shared.directory.join(FOLDER));
            }
        })?;
        let after = self.sizes()?;
        Ok(Compaction { base: shared.log.base(), deleted, before: earlier, after })
    }

    /// Where the history begins, if its beginning was deleted. Earlier states cannot be read, and transactions up to
    /// this point cannot be shown or undone.
    pub fn history_base(&self) -> Option<LogBase> {
        self.shared.log.base()
    }

    /// The number of the first transaction of the history, which begins with 1 or after [`Store::history_base`].
    pub fn first_seq(&self) -> u64 {
        self.shared.log.base_seq() + 1
    }

    /// The total size of the keys and values of all records, in bytes. Reads all records.
    pub fn live_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        self.shared.engine.scan(&[], &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(())
        })?;
        Ok(bytes)
    }
}

/// A compaction in progress, or the preparation of a snapshot.
pub(super) struct CompactionJob<'a> {
    pub(super) shared: &'a StoreState,
    pub(super) compactor: &'a Compactor,
    pub(super) callbacks: &'a CompactionCallbacks<'a>,
}

/// The number of the last transaction that a compaction may delete, and the latest time up to it. `last` is the newest
/// transaction. `None` if nothing may be deleted.
fn last_deletable(
    log: &Log,
    before: Option<Timestamp>,
    last: u64,
    check_cancelled: &dyn Fn() -> Result<()>,
) -> Result<Option<(u64, Timestamp)>> {
    let Some(before) = before else { return Ok(None) };
    // Records and views that end with the newest transaction stay valid.
    let limit = log.last_before(before, last.saturating_sub(1), check_cancelled)?;
    Ok(limit.filter(|(seq, _)| *seq > log.base_seq()))
}

impl CompactionJob<'_> {
    /// Runs the compaction. Returns the number of transactions that were deleted.
    fn run(&self, before: Option<Timestamp>) -> Result<u64> {
        let log = self.shared.log.as_ref();
        let (old_base, last) = (log.base_seq(), log.last());
        let limit = last_deletable(log, before, last, self.callbacks.check_cancelled)?;
        let folder = self.shared.directory.join(FOLDER);
        let target = limit.map_or(last, |(seq, _)| seq);
        let engine = self.prepare(&folder, target)?;
        let mut deleted = 0;
        if let Some((seq, at)) = limit
            && let Some(origin) = log.origin()?
        {
            let base = LogBase { seq, at, origin };
            let state = BaseState::new(&engine, base, self.callbacks.check_cancelled);
            if let Some(checksum) = self.replace_log(&state, base)? {
                // The log must be replaced first: until then, it has the transactions of these entries, and the next
                // compaction uses this engine if this one is interrupted.
                state.prune(Watermark { seq, checksum })?;
                deleted = seq - old_base;
            }
        }
        self.catch_up(&engine, log.last())?;
        // Otherwise an erased text would remain in the files of the records.
        engine.rewrite(self.callbacks.check_cancelled)?;
        engine.flush()?;
        drop(engine);
        (self.callbacks.check_cancelled)()?;
        self.replace_records(&folder)?;
        if before.is_some() {
            // The files of the indexes must not have what the log has lost either.
            self.shared.index_workers.discard_deleted(&log.keep_synced()?)?;
        }
        self.shared.checkpoint()?;
        log.delete_obsolete(self.compactor.disk.as_ref());
        Ok(deleted)
    }

    /// Replaces the beginning of the log with the state at its base. Returns the checksum of the base's record, or
    /// `None` if the state needs more transactions than it would replace.
    fn replace_log(&self, state: &BaseState<'_>, base: LogBase) -> Result<Option<u32>> {
        let log = self.shared.log.as_ref();
        let Some(first) = state.first()? else { return Ok(None) };
        // The records after the base in its segment are copied, so the segment must not grow any more.
        let end = match log.end_of_segment(base.seq) {
            Some(end) => end,
            None => {
                let rotated = self.compactor.appender.lock().rotate();
                rotated.map_err(CompactionError::Write)?;
                log.end_of_segment(base.seq).unwrap_or_else(|| log.last())
            }
        };
        // Otherwise records and views that end before the base would have to be rebuilt.
        self.shared.checkpoint()?;
        let (mut segment, checksum) = self.write_segment(state, first, end)?;
        (self.callbacks.check_cancelled)()?;
        let replaced = log.replace_beginning(&mut segment, base, self.compactor.disk.as_ref());
        replaced.map_err(CompactionError::Write)?;
        Ok(Some(checksum))
    }

    /// Replaces the records with the prepared ones. Reads wait until then.
    fn replace_records(&self, folder: &Path) -> Result<()> {
        let directory = &self.shared.directory;
        let (records, old) = (directory.join("records"), directory.join(OLD_RECORDS));
        remove_folder(&old).map_err(CompactionError::Write)?;
        self.shared.engine.exchange(&|| {
            let moves: [(&PathBuf, &Path); 2] = [(&records, &old), (&folder.to_owned(), &records)];
            for (from, to) in moves {
                (self.callbacks.check_cancelled)()?;
                if from.exists() {
                    fs::rename(from, to).map_err(CompactionError::Write)?;
                }
            }
            Ok(self.compactor.disk.sync_directory(directory).map_err(CompactionError::Write)?)
        })?;
        Ok(remove_folder(&old).map_err(CompactionError::Write)?)
    }
}

/// Deletes the leftovers of interrupted compactions that the next compaction does not reuse.
pub(super) fn clean_up(directory: &Path) {
    if let Err(error) = remove_folder(&directory.join(OLD_RECORDS)) {
        tracing::debug!("`{OLD_RECORDS}` cannot be deleted: {error}");
    }
    // These are always prepared from scratch.
    let _ = fs::remove_file(directory.join("log").join(PARTIAL_SEGMENT));
    let _ = remove_folder(&directory.join(SNAPSHOT_FOLDER));
}
