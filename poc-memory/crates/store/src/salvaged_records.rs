//! The records of a damaged store, in a folder of their own.

use crate::engine::buffered::{BUFFER_BYTES, BufferedEngine};
use crate::engine::lazy::CurrentEngine;
use crate::engine::lsm::{self, LsmEngine};
use crate::engine::memory::InMemoryEngine;
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine, EngineError, Watermark, changes};
use crate::log::Log;
use crate::watchdog::run_watched;
use poc_graph::error::Result;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Records assembled from everything that is intact, in a temporary folder.
pub(crate) struct SalvagedRecords {
    pub(crate) engine: Arc<dyn Engine>,
    /// The last transaction in the store's records; 0 if they could not be used.
    pub(crate) base: u64,
    /// The temporary folder, which is deleted when this is dropped.
    copy: Option<TemporaryFolder>,
}

impl SalvagedRecords {
    /// Copies the records in a folder and adds every later intact transaction of the log.
    pub(crate) fn of(folder: &Path, log: Arc<Log>, heartbeat_timeout: Duration) -> Result<SalvagedRecords> {
        if !lsm::is_readable(folder) {
            return Err(EngineError::NotTrusted.into());
        }
        let copy = TemporaryFolder::copy_of(folder)?;
        let last = log.last();
        SalvagedRecords::in_copy(copy, log, last, heartbeat_timeout)
    }

    /// Assembles the records from the log alone, up to a transaction.
    pub(crate) fn of_log(log: Arc<Log>, last: u64, heartbeat_timeout: Duration) -> Result<SalvagedRecords> {
        SalvagedRecords::in_copy(TemporaryFolder::create()?, log, last, heartbeat_timeout)
    }

    /// Like [`SalvagedRecords::of_log`], in memory.
    pub(crate) fn in_memory(log: &Log, last: u64) -> Result<SalvagedRecords> {
        let engine = InMemoryEngine::default();
        log.replay(1, last, &mut |txn, checksum| {
            engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum })
        })?;
        Ok(SalvagedRecords { engine: Arc::new(engine), base: 0, copy: None })
    }

    /// Converts to the engine of a store.
    pub(crate) fn into_current(self) -> CurrentEngine {
        CurrentEngine { engine: self.engine, substitute_reason: None, _copy: self.copy }
    }

    fn in_copy(
        copy: TemporaryFolder,
        log: Arc<Log>,
        last: u64,
        heartbeat_timeout: Duration,
    ) -> Result<SalvagedRecords> {
        let folder = copy.path().to_owned();
        let (engine, base) = run_watched(heartbeat_timeout, move |heartbeat| {
            let beat = || heartbeat.beat();
            let engine = LsmEngine::open_copy(&folder)?;
            let watermark = engine.watermark()?;
            check(&engine, watermark, &log)?;
            // Damage is only noticed when it is read.
            engine.scan(&[], &mut |_, _| {
                beat();
                Ok(())
            })?;
            let engine = BufferedEngine::new(Arc::new(engine), BUFFER_BYTES)?;
            log.replay(watermark.seq + 1, last, &mut |txn, checksum| {
                beat();
                engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum })
            })?;
            Ok((engine, watermark.seq))
        })?;
        Ok(SalvagedRecords { engine: Arc::new(engine), copy: Some(copy), base })
    }
}

/// Fails if the records belong to another log, or if an interrupted change of them cannot be completed.
fn check(engine: &LsmEngine, watermark: Watermark, log: &Log) -> Result<()> {
    let unfinished = engine.unfinished()?;
    for watermark in [watermark].into_iter().chain(unfinished) {
        if log.read(watermark.seq)?.is_some_and(|(_, checksum)| checksum != watermark.checksum) {
            return Err(EngineError::OtherLog.into());
        }
    }
    let lacks = |unfinished: Watermark| !log.holds_all(watermark.seq + 1, unfinished.seq);
    if unfinished.is_some_and(lacks) {
        return Err(EngineError::Interrupted.into());
    }
    Ok(())
}
