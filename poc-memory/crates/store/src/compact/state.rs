//! The state after a transaction, as an engine and as a compacted segment.

#[cfg(test)]
mod tests;

use super::CompactionJob;
use crate::compaction_error::CompactionError;
use crate::disk::remove_folder;
use crate::engine::buffered::BufferedEngine;
use crate::engine::{CHECK_RECORDS, Engine, Put, Watermark, changes};
use crate::keys;
use crate::log::{CompactedSegment, frame};
use crate::logged_transaction::{LogBase, LoggedTransaction, MAX_RECORD, Write};
use crate::table::Table;
use poc_graph::Tenant;
use poc_graph::error::Result;
use std::path::Path;

/// Number of bytes of records in one transaction of a state.
const TXN_BYTES: usize = 4 << 20;
/// Number of transactions between two calls of the callbacks.
const SLICE: u64 = 64;

impl CompactionJob<'_> {
    /// Prepares an engine in the folder that contains everything up to transaction `target`.
    pub(crate) fn prepare(&self, folder: &Path, target: u64) -> Result<BufferedEngine> {
        let log = self.shared.log.as_ref();
        let open = || {
            let engine = (self.compactor.engine)(folder)?;
            BufferedEngine::over_log(engine, self.compactor.buffer, self.shared.log.clone())
        };
        let usable = |engine: &BufferedEngine| -> Result<bool> {
            let watermark = engine.watermark()?;
            let is_of_log = watermark == Watermark::default()
                || log.read(watermark.seq)?.is_some_and(|(_, checksum)| checksum == watermark.checksum);
            Ok(is_of_log
                && watermark.seq <= target
                && engine.unfinished()?.is_none_or(|watermark| watermark.seq <= target))
        };
        let engine = match open() {
            Ok(engine) if usable(&engine)? => engine,
            opened => {
                drop(opened);
                remove_folder(folder).map_err(CompactionError::Write)?;
                open()?
            }
        };
        self.catch_up(&engine, target)?;
        Ok(engine)
    }

    pub(crate) fn catch_up(&self, engine: &BufferedEngine, target: u64) -> Result<()> {
        let log = self.shared.log.as_ref();
        let mut next = engine.watermark()?.seq + 1;
        while next <= target {
            (self.callbacks.check_cancelled)()?;
            (self.callbacks.progress)(next, log.last());
            let end = target.min(next + SLICE - 1);
            log.replay(next, end, &mut |txn, checksum| {
                engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum })
            })?;
            next = end + 1;
        }
        Ok(())
    }

    /// Writes a segment that begins with a state, as transactions from number `first` to the base, and
    /// continues with the transactions up to `end`. Reads the segment back to check it. Returns it with the checksum of
    /// the base's record.
    pub(crate) fn write_segment(
        &self,
        state: &BaseState<'_>,
        first: u64,
        end: u64,
    ) -> Result<(CompactedSegment, u32)> {
        let BaseState { engine, base, .. } = *state;
        let log = self.shared.log.as_ref();
        let disk = self.compactor.disk.as_ref();
        let mut segment =
            CompactedSegment::create(&log.directory(), disk, first).map_err(CompactionError::Write)?;
        let (mut next, mut checksum) = (first, 0);
        let mut add = |tenant: Tenant, writes: Vec<Write>| -> Result<()> {
            (self.callbacks.check_cancelled)()?;
            let mut txn = LoggedTransaction::state(next, tenant, &base, writes);
            txn.base = (next == first).then_some(base);
            let payload = txn.encode()?;
            if payload.len() > MAX_RECORD {
                return Err(CompactionError::TooLong(payload.len()).into());
            }
            let (record, of_record) = frame(next, &payload);
            segment.add(&record).map_err(CompactionError::Write)?;
            (next, checksum) = (next + 1, of_record);
            Ok(())
        };
        state.each_txn(&mut add)?;
        log.replay_payloads(base.seq + 1, end, &mut |seq, payload, _| {
            if seq.is_multiple_of(SLICE) {
                (self.callbacks.check_cancelled)()?;
            }
            segment.add(&frame(seq, &payload).0).map_err(CompactionError::Write)?;
            Ok(true)
        })?;
        // The records read back are compared with the engine.
        let mut records = 0u64;
        segment.finish(&mut |txn| {
            if txn.seq.is_multiple_of(SLICE) {
                (self.callbacks.check_cancelled)()?;
            }
            for write in txn.writes.iter().filter(|_| txn.is_state()) {
                records += 1;
                if engine.get(&write.table.engine_key(txn.tenant, &write.key))? != write.after {
                    return Err(CompactionError::Different(txn.seq).into());
                }
            }
            Ok(())
        })?;
        if records != state.count()? {
            return Err(CompactionError::Incomplete(records).into());
        }
        Ok((segment, checksum))
    }
}

/// The state that a compacted log begins with: the records of an engine at the base, without the entries in the index
/// of changes that such a log has no transactions for. These are changes other than the creation of a node, and all
/// changes of deleted nodes.
pub(crate) struct BaseState<'a> {
    engine: &'a dyn Engine,
    base: LogBase,
    // Called often while the records are read, as in `CompactionCallbacks`.
    check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// Receives a key, a value, and whether the record is part of the state.
type StateVisitor<'a> = dyn FnMut(&[u8], &[u8], bool) -> Result<()> + 'a;

impl<'a> BaseState<'a> {
    /// The state at `base`, where the engine must end. An error of `check_cancelled` ends every method that reads it.
    pub(crate) fn new(
        engine: &'a dyn Engine,
        base: LogBase,
        check_cancelled: &'a dyn Fn() -> Result<()>,
    ) -> BaseState<'a> {
        BaseState { engine, base, check_cancelled }
    }

    /// The number of the first transaction in a segment with the state. `None` if the state needs more transactions
    /// than it would replace.
    pub(crate) fn first(&self) -> Result<Option<u64>> {
        let mut count = 0;
        self.each_txn(&mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok((self.base.seq + 1).checked_sub(count).filter(|first| *first > 0))
    }

    /// Deletes the entries that are not part of the state from the engine, and sets its watermark.
    pub(crate) fn prune(&self, watermark: Watermark) -> Result<()> {
        let mut deletions: Vec<Put> = Vec::new();
        self.scan(&mut |full, _, is_part| {
            if !is_part {
                deletions.push((full.to_vec(), None));
            }
            Ok(())
        })?;
        self.engine.apply(deletions.into(), watermark)
    }

    /// The number of records of the state.
    fn count(&self) -> Result<u64> {
        let mut count = 0;
        self.scan(&mut |_, _, is_part| {
            count += u64::from(is_part);
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `each` with the records of the state, in batches of a single tenant.
    fn each_txn(&self, each: &mut dyn FnMut(Tenant, Vec<Write>) -> Result<()>) -> Result<()> {
        let mut part: Option<(Tenant, Vec<Write>)> = None;
        let mut bytes = 0;
        self.scan(&mut |full, value, is_part| {
            if !is_part {
                return Ok(());
            }
            let Some((tenant, table, key)) = Table::split_engine_key(full) else {
                return Err(CompactionError::NoTable(full.len()).into());
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

    /// Calls `each` with every record of the engine and whether it is part of the state.
    fn scan(&self, each: &mut StateVisitor<'_>) -> Result<()> {
        let mut last_node: Option<(Vec<u8>, bool)> = None;
        let mut read = 0u64;
        self.engine.scan(&[], &mut |full, value| {
            read += 1;
            if read.is_multiple_of(CHECK_RECORDS) {
                (self.check_cancelled)()?;
            }
            let Some((tenant, Table::Changes, key)) = Table::split_engine_key(full) else {
                return each(full, value, true);
            };
            let node = Table::Nodes.engine_key(tenant, key.get(..16).unwrap_or_default());
            let exists = match &last_node {
                Some((last, exists)) if *last == node => *exists,
                _ => self.engine.get(&node)?.is_some(),
            };
            last_node = Some((node, exists));
            let is_deleted = keys::read_change(key)? <= self.base.seq && (value.is_empty() || !exists);
            each(full, value, !is_deleted)
        })
    }
}
