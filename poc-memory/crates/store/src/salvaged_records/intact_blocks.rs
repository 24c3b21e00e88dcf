//! Assembles records from single intact blocks.
//!
//! A record of a table is the state of its key after the last transaction of the table. The tables and the transactions
//! of the log are therefore applied in the order of their numbers: a record replaces what earlier transactions wrote,
//! and later transactions replace the record. What a damaged block had keeps the state of an older table or of the log.

use crate::engine::buffered::BufferedEngine;
use crate::engine::{Engine, Put, Watermark, changes, lsm, temporary_write_error};
use crate::log::Log;
use poc_graph::error::{Error, Result};
use std::path::Path;
use std::time::Duration;

/// Size of the records, in bytes, that are applied at once.
const BATCH_BYTES: usize = 1 << 20;

/// The records that were read so far.
pub(super) struct IntactBlocks<'a> {
    engine: BufferedEngine,
    log: &'a Log,
    /// The last transaction of the log that was applied.
    applied: u64,
    batch: Vec<Put>,
    bytes: usize,
    is_empty: bool,
    is_of_other_log: bool,
}

impl<'a> IntactBlocks<'a> {
    /// Starts with an empty engine.
    pub(super) fn new(engine: BufferedEngine, log: &'a Log) -> IntactBlocks<'a> {
        IntactBlocks {
            engine,
            log,
            applied: 0,
            batch: Vec::new(),
            bytes: 0,
            is_empty: true,
            is_of_other_log: false,
        }
    }

    /// Adds the intact records of a folder, and every transaction of the log. `None` if no record is intact, or if they
    /// belong to another log.
    pub(super) fn read(
        mut self,
        folder: &Path,
        heartbeat_timeout: Duration,
    ) -> Result<Option<BufferedEngine>> {
        for file in lsm::record_files(folder) {
            let mut failure: Option<Error> = None;
            lsm::each_intact_record(&file, heartbeat_timeout, &mut |watermark, key, value| {
                if failure.is_none() && !self.is_of_other_log {
                    failure = self.add(watermark, key, value).err();
                }
            })?;
            failure.map_or(Ok(()), Err)?;
        }
        if self.is_empty || self.is_of_other_log {
            return Ok(None);
        }
        self.flush()?;
        self.replay_to(self.log.last())?;
        Ok(Some(self.engine))
    }

    fn add(&mut self, watermark: Watermark, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        // The transactions of a compaction have the state after the last of them, whatever their numbers are.
        let base = self.log.base_seq();
        if watermark.seq > self.applied && watermark.seq >= base {
            if watermark.seq > base
                && watermark.checksum != 0
                && self.log.read(watermark.seq)?.is_some_and(|(_, checksum)| checksum != watermark.checksum)
            {
                self.is_of_other_log = true;
                return Ok(());
            }
            self.flush()?;
            self.replay_to(watermark.seq)?;
        }
        // Files that were replaced by newer ones may have been left behind.
        if watermark.seq < self.applied {
            return Ok(());
        }
        self.is_empty = false;
        self.bytes += key.len() + value.map_or(0, <[u8]>::len);
        self.batch.push((key.to_vec(), value.map(<[u8]>::to_vec)));
        if self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        match std::mem::take(&mut self.batch) {
            batch if batch.is_empty() => Ok(()),
            batch => self.apply(batch, Watermark { seq: self.applied, checksum: 0 }),
        }
    }

    /// Applies the transactions of the log up to a number that were not applied yet.
    fn replay_to(&mut self, last: u64) -> Result<()> {
        self.log.replay(self.applied + 1, last, &mut |txn, checksum| {
            self.apply(changes(&txn)?, Watermark { seq: txn.seq, checksum })
        })?;
        self.applied = self.applied.max(last);
        Ok(())
    }

    fn apply(&self, changes: Vec<Put>, watermark: Watermark) -> Result<()> {
        self.engine.apply(changes.into(), watermark).map_err(|error| temporary_write_error(&error))
    }
}
