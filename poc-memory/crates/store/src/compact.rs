//! Compacts a store: drops history, and writes the records anew without obsolete values.
//!
//! Everything is prepared beside the store, from the log, while the store is used. The beginning of the log is then
//! replaced with one rename, and the folder of the records with two; an open after an interruption finds the old or the
//! new ones, or rebuilds the records from the log. What was prepared when an attempt was interrupted is used by the next.

use super::Store;
use super::compactor::Compactor;
use super::engine::buffered::BufferedEngine;
use super::engine::{Engine, Mark, Put, changes};
use super::keys;
use super::log::{CompactedSegment, PARTIAL_SEGMENT, compaction_failed, compaction_unwritten, frame};
use super::logged_transaction::{LogBase, LoggedTransaction, MAX_RECORD, Write};
use super::shared_state::Shared;
use super::table::Table;
use poc_graph::Tenant;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder in which it is prepared.
pub(super) const FOLDER: &str = "compact";
/// The old records, until they are deleted.
pub(super) const OLD_RECORDS: &str = "records.old";
/// Bytes of records in one transaction of a state.
const TXN_BYTES: usize = 4 << 20;
/// Transactions between two calls of the callbacks.
const SLICE: u64 = 64;

/// What a compaction calls while it works.
pub struct CompactionCallbacks<'a> {
    /// Called with the number of transactions that were read, and of all that are to be read.
    pub progress: &'a dyn Fn(u64, u64),
    /// Called often. An error ends the compaction; the next one continues.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Where the history begins now; `None` if it has everything.
    pub base: Option<LogBase>,
    /// Transactions that it can no longer show or take back.
    pub dropped: u64,
    /// Bytes of the log before and after.
    pub log_bytes: (u64, u64),
    /// Bytes of the records on disk before and after.
    pub record_bytes: (u64, u64),
}

impl Store {
    /// Compacts the store. With `before`, history that was made before that time is replaced by the state that it led to;
    /// it can no longer be shown or undone. The newest transaction always stays.
    ///
    /// # Errors
    /// `read_only` when the store takes no writes, `locked` when it is being compacted already, and what the callbacks
    /// return. The store is unchanged or compacted then; the next compaction continues.
    pub fn compact(
        &self,
        before: Option<Timestamp>,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Compaction> {
        let shared = self.shared.as_ref();
        shared.commits.check_writable()?;
        let Some(compactor) = &shared.compactor else {
            return Err(Error::internal("a damaged store is not compacted"));
        };
        let Some(_running) = compactor.running.try_lock() else {
            return Err(Error::new(Code::Locked, "the memory is being compacted already"));
        };
        // Nobody may still need transactions that are dropped.
        shared.index_workers.settle();
        let sizes = self.sizes()?;
        let work = Work { shared, compactor, callbacks };
        let dropped = work.run(before).inspect_err(|error| {
            if error.code == Code::ReadOnly {
                // What was prepared takes space that others need more.
                let _ = remove(&shared.directory.join(FOLDER));
            }
        })?;
        let after = self.sizes()?;
        Ok(Compaction {
            base: shared.log.base(),
            dropped,
            log_bytes: (sizes.0, after.0),
            record_bytes: (sizes.1, after.1),
        })
    }

    /// Where the history begins, if its beginning was dropped. States before it cannot be read, and transactions up to it
    /// cannot be shown or undone.
    pub fn history_base(&self) -> Option<LogBase> {
        self.shared.log.base()
    }

    /// Bytes of keys and values of all records. Reads all of them.
    pub fn live_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        self.shared.engine.scan(&[], &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(())
        })?;
        Ok(bytes)
    }
}

/// A compaction.
struct Work<'a> {
    shared: &'a Shared,
    compactor: &'a Compactor,
    callbacks: &'a CompactionCallbacks<'a>,
}

impl Work<'_> {
    /// Returns how many transactions were dropped.
    fn run(&self, before: Option<Timestamp>) -> Result<u64> {
        let log = self.shared.log.as_ref();
        let (old_base, last) = (log.base_seq(), log.last());
        let limit = match before {
            // Records and views that end with the newest transaction stay valid.
            Some(before) => {
                log.last_before(before, last.saturating_sub(1), self.callbacks.check_cancelled)?
            }
            None => None,
        };
        let limit = limit.filter(|(seq, _)| *seq > old_base);
        let folder = self.shared.directory.join(FOLDER);
        let target = limit.map_or(last, |(seq, _)| seq);
        let engine = self.prepare(&folder, target)?;
        let mut dropped = 0;
        if let Some((seq, at)) = limit
            && let Some(origin) = log.origin()?
        {
            let base = LogBase { seq, at, origin };
            prune(&engine, seq)?;
            if let Some(checksum) = self.replace_log(&engine, base)? {
                engine.apply(Vec::new().into(), Mark { seq, checksum })?;
                dropped = seq - old_base;
            }
        }
        self.catch_up(&engine, log.last())?;
        // Otherwise an erased text stays in the files of the records.
        engine.rewrite()?;
        engine.flush()?;
        drop(engine);
        (self.callbacks.check_cancelled)()?;
        self.replace_records(&folder)?;
        self.shared.checkpoint()?;
        log.delete_obsolete(self.compactor.disk.as_ref());
        Ok(dropped)
    }

    /// An engine in the folder with everything up to a transaction.
    fn prepare(&self, folder: &Path, target: u64) -> Result<BufferedEngine> {
        let log = self.shared.log.as_ref();
        let open = || BufferedEngine::new((self.compactor.engine)(folder)?, self.compactor.buffer);
        let usable = |engine: &BufferedEngine| -> Result<bool> {
            let mark = engine.mark()?;
            let is_of_log = mark == Mark::default()
                || log.read(mark.seq)?.is_some_and(|(_, checksum)| checksum == mark.checksum);
            Ok(is_of_log && mark.seq <= target && engine.unfinished()?.is_none_or(|mark| mark.seq <= target))
        };
        let engine = match open() {
            Ok(engine) if usable(&engine)? => engine,
            opened => {
                drop(opened);
                remove(folder).map_err(|error| compaction_unwritten(&error))?;
                open()?
            }
        };
        self.catch_up(&engine, target)?;
        Ok(engine)
    }

    fn catch_up(&self, engine: &BufferedEngine, target: u64) -> Result<()> {
        let log = self.shared.log.as_ref();
        let mut next = engine.mark()?.seq + 1;
        while next <= target {
            (self.callbacks.check_cancelled)()?;
            (self.callbacks.progress)(next, log.last());
            let end = target.min(next + SLICE - 1);
            log.replay(next, end, &mut |txn, checksum| {
                engine.apply(changes(&txn)?.into(), Mark { seq: txn.seq, checksum })
            })?;
            next = end + 1;
        }
        Ok(())
    }

    /// Replaces the beginning of the log by the state in an engine. Returns the checksum of the record of the base, or
    /// `None` when the state needs more transactions than it replaces.
    fn replace_log(&self, engine: &dyn Engine, base: LogBase) -> Result<Option<u32>> {
        let log = self.shared.log.as_ref();
        let mut count = 0;
        each_state_txn(engine, &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        if base.seq < count {
            return Ok(None);
        }
        let first = base.seq - count + 1;
        // What follows the base in its segment is copied, so that segment must not grow any more.
        let end = match log.end_of_segment(base.seq) {
            Some(end) => end,
            None => {
                let rotated = self.compactor.appender.lock().rotate();
                rotated.map_err(|error| compaction_unwritten(&error))?;
                log.end_of_segment(base.seq).unwrap_or_else(|| log.last())
            }
        };
        // Records and views that end before the base would have to be rebuilt.
        self.shared.checkpoint()?;
        let unwritten = |error: io::Error| compaction_unwritten(&error);
        let disk = self.compactor.disk.as_ref();
        let mut segment = CompactedSegment::create(&log.directory(), disk, first).map_err(unwritten)?;
        let (mut next, mut checksum) = (first, 0);
        let mut add = |tenant: Tenant, writes: Vec<Write>| -> Result<()> {
            (self.callbacks.check_cancelled)()?;
            let mut txn = LoggedTransaction::state(next, tenant, &base, writes);
            txn.base = (next == first).then_some(base);
            let payload = txn.encode()?;
            if payload.len() > MAX_RECORD {
                return Err(compaction_failed("a record is too long", &payload.len()));
            }
            let (record, of_record) = frame(next, &payload);
            segment.add(&record).map_err(unwritten)?;
            (next, checksum) = (next + 1, of_record);
            Ok(())
        };
        each_state_txn(engine, &mut add)?;
        log.replay_payloads(base.seq + 1, end, &mut |seq, payload, _| {
            segment.add(&frame(seq, &payload).0).map_err(unwritten)?;
            Ok(true)
        })?;
        // What is read back is compared with the engine.
        let mut records = 0u64;
        segment.finish(&mut |txn| {
            if txn.seq.is_multiple_of(SLICE) {
                (self.callbacks.check_cancelled)()?;
            }
            for write in txn.writes.iter().filter(|_| txn.is_state()) {
                records += 1;
                if engine.get(&write.table.engine_key(txn.tenant, &write.key))? != write.after {
                    return Err(compaction_failed("a record differs when it is read back", &txn.seq));
                }
            }
            Ok(())
        })?;
        let mut expected = 0u64;
        engine.scan(&[], &mut |_, _| {
            expected += 1;
            Ok(())
        })?;
        if records != expected {
            return Err(compaction_failed("records are missing when it is read back", &records));
        }
        (self.callbacks.check_cancelled)()?;
        log.replace_beginning(&mut segment, base, disk).map_err(unwritten)?;
        Ok(Some(checksum))
    }

    /// Puts the prepared records in the place of the records. Reads wait meanwhile.
    fn replace_records(&self, folder: &Path) -> Result<()> {
        let directory = &self.shared.directory;
        let (records, old) = (directory.join("records"), directory.join(OLD_RECORDS));
        let unmoved = |error: io::Error| compaction_unwritten(&error);
        remove(&old).map_err(unmoved)?;
        self.shared.engine.exchange(&|| {
            let moves: [(&PathBuf, &Path); 2] = [(&records, &old), (&folder.to_owned(), &records)];
            for (from, to) in moves {
                (self.callbacks.check_cancelled)()?;
                if from.exists() {
                    fs::rename(from, to).map_err(unmoved)?;
                }
            }
            self.compactor.disk.sync_directory(directory).map_err(unmoved)
        })?;
        remove(&old).map_err(unmoved)
    }
}

/// Deletes what interrupted compactions of the store in a directory have left and the next one does not use.
pub(super) fn clean_up(directory: &Path) {
    if let Err(error) = remove(&directory.join(OLD_RECORDS)) {
        tracing::debug!("`{OLD_RECORDS}` cannot be deleted: {error}");
    }
    // It is begun anew each time.
    let _ = fs::remove_file(directory.join("log").join(PARTIAL_SEGMENT));
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deletes from the index of changes what the log no longer has after transaction `base`: changes other than the creation
/// of a node, and all changes of deleted nodes.
fn prune(engine: &dyn Engine, base: u64) -> Result<()> {
    let mut gone: Vec<Put> = Vec::new();
    let mut last_node: Option<(Vec<u8>, bool)> = None;
    engine.scan(&[], &mut |full, value| {
        let Some((tenant, Table::Changes, key)) = Table::split_engine_key(full) else { return Ok(()) };
        let id = key.get(..16).unwrap_or_default();
        let node = Table::Nodes.engine_key(tenant, id);
        let exists = match &last_node {
            Some((last, exists)) if *last == node => *exists,
            _ => engine.get(&node)?.is_some(),
        };
        last_node = Some((node, exists));
        if keys::read_change(key)? <= base && (value.is_empty() || !exists) {
            gone.push((full.to_vec(), None));
        }
        Ok(())
    })?;
    engine.apply(gone.into(), engine.mark()?)
}

/// Calls `each` with the records of an engine, in parts of one tenant.
fn each_state_txn(engine: &dyn Engine, each: &mut dyn FnMut(Tenant, Vec<Write>) -> Result<()>) -> Result<()> {
    let mut part: Option<(Tenant, Vec<Write>)> = None;
    let mut bytes = 0;
    engine.scan(&[], &mut |full, value| {
        let Some((tenant, table, key)) = Table::split_engine_key(full) else {
            return Err(compaction_failed("a record has no table", &full.len()));
        };
        if bytes >= TXN_BYTES || part.as_ref().is_some_and(|(of, _)| *of != tenant) {
            if let Some((tenant, writes)) = part.take() {
                each(tenant, writes)?;
            }
            bytes = 0;
        }
        bytes += full.len() + value.len();
        let write = Write { table, key: key.to_vec(), before: None, after: Some(value.to_vec()) };
        part.get_or_insert_with(|| (tenant, Vec::new())).1.push(write);
        Ok(())
    })?;
    let (tenant, writes) = part.unwrap_or_default();
    each(tenant, writes)
}
