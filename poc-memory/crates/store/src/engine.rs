//! The record engine: ordered keys and values, a materialisation of the log.
//!
//! It need not be durable: whatever it loses or corrupts is rebuilt from the log.

pub(super) mod lazy;
#[cfg(test)]
pub(super) mod memory;
pub(super) mod sled;

use super::keys;
use super::table::Table;
use super::txn::Txn;
use poc_graph::error::{Error, Result};
use std::path::PathBuf;

/// Why the records cannot be used as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("it follows another log")]
    OtherLog,
    #[error("it is ahead of the log")]
    AheadOfLog,
    #[error("it was found damaged when it was used last")]
    FoundDamaged,
    #[error("`{}`: {source}", directory.display())]
    Directory { directory: PathBuf, source: std::io::Error },
    #[error("the record engine failed: {0}")]
    Failed(::sled::Error),
    #[error("the records are damaged: {0}")]
    Damaged(String),
    #[error("the record engine's mark is damaged")]
    DamagedMark,
    #[error("`records` cannot be put away: {0}")]
    Quarantine(std::io::Error),
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        let converted = Error::internal(error.to_string());
        match error {
            EngineError::Damaged(_) => {
                converted.hint("open the store again: they are rebuilt from the log, nothing is lost")
            }
            _ => converted,
        }
    }
}

/// Most keys in a batch; a batch of thousands costs sled gigabytes of memory at the next open.
const BATCH_KEYS: usize = 100;

/// A key and its new value; `None` deletes.
pub(super) type Put = (Vec<u8>, Option<Vec<u8>>);

/// The last transaction an engine contains: its sequence number and the checksum of its log record, by
/// which an engine that followed another log is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Sequence number; 0 for an empty engine.
    pub(super) seq: u64,
    /// CRC32C of the log record; 0 for an empty engine.
    pub(super) checksum: u32,
}

/// A callback for a key and its value.
pub(super) type Visitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Ordered keys and values; [`Table::engine_key`] makes the keys.
pub(super) trait Engine: Send + Sync {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `each` with every key that starts with `prefix` and its value, sorted by key, until a call fails.
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()>;

    /// Applies a batch atomically, together with the mark if one is given.
    fn apply(&self, batch: Vec<Put>, mark: Option<Mark>) -> Result<()>;

    /// The last transaction whose changes are all applied.
    fn mark(&self) -> Result<Mark>;

    /// Bytes on disk.
    fn size(&self) -> Result<u64>;

    /// Writes everything to disk, so that the next open has nothing to replay.
    fn flush(&self) -> Result<()>;
}

/// Applies transactions to an engine in batches: several small ones in one batch, a large one in several.
/// Applying a transaction again changes nothing.
pub(super) struct Applier<'a> {
    engine: &'a dyn Engine,
    batch: Vec<Put>,
    mark: Option<Mark>,
}

impl<'a> Applier<'a> {
    /// An applier with an empty batch.
    pub(super) fn new(engine: &'a dyn Engine) -> Self {
        Applier { engine, batch: Vec::new(), mark: None }
    }

    /// Adds the next transaction.
    pub(super) fn add(&mut self, txn: &Txn, checksum: u32) -> Result<()> {
        for write in &txn.writes {
            self.put(write.table.engine_key(txn.tenant, &write.key), write.after.clone())?;
            if write.table == Table::Nodes {
                let change = keys::change(keys::read_id(&write.key)?, txn.seq);
                self.put(Table::Changes.engine_key(txn.tenant, &change), Some(Vec::new()))?;
            }
        }
        self.mark = Some(Mark { seq: txn.seq, checksum });
        Ok(())
    }

    /// Writes the last batch.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()
    }

    fn put(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<()> {
        if self.batch.len() >= BATCH_KEYS {
            self.flush()?;
        }
        self.batch.push((key, value));
        Ok(())
    }

    /// Writes the batch. Its mark is that of the last transaction that ends in it: a batch that ends within
    /// a transaction carries the mark of the one before.
    fn flush(&mut self) -> Result<()> {
        if self.batch.is_empty() && self.mark.is_none() {
            return Ok(());
        }
        self.engine.apply(std::mem::take(&mut self.batch), self.mark.take())
    }
}
