//! The records of a damaged store, in a folder of their own.

mod intact_blocks;

use crate::engine::buffered::{BUFFER_BYTES, BufferedEngine};
use crate::engine::lazy::CurrentEngine;
use crate::engine::lsm::{self, LsmEngine};
use crate::engine::memory::InMemoryEngine;
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine, EngineError, Put, Watermark, changes, temporary_write_error};
use crate::index_entries::{self, LostNote};
use crate::log::Log;
use crate::watchdog::run_watched;
use intact_blocks::IntactBlocks;
use poc_graph::View;
use poc_graph::error::Result;
use rustc_hash::FxHashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The salvaged records, or why the records in the folder cannot be used.
pub(crate) type SalvageOutcome = Result<SalvagedRecords>;

/// The result, or why nothing could be written to the temporary folder.
type WriteOutcome<T = ()> = Result<T>;

/// Records assembled from everything that is intact, in a temporary folder.
pub(crate) struct SalvagedRecords {
    pub(crate) engine: Arc<dyn Engine>,
    /// The last transaction in the store's records; 0 if they could not be used as a whole.
    pub(crate) base: u64,
    /// The last transaction whose changes the store's records may have. It is greater than `base` if only some of their
    /// blocks could be used.
    pub(crate) newest: u64,
    /// The notes of which only entries are left, or records that were added to them. One that a lost transaction deleted
    /// may be among them.
    pub(crate) lost_notes: Vec<LostNote>,
    /// The temporary folder, which is deleted when this is dropped.
    copy: Option<TemporaryFolder>,
}

impl SalvagedRecords {
    /// Reads the records in a folder and adds every later intact transaction of the log. The folder must not change.
    ///
    /// # Errors
    /// `unavailable` if the temporary folder cannot be used.
    pub(crate) fn of(folder: &Path, log: Arc<Log>, heartbeat_timeout: Duration) -> Result<SalvageOutcome> {
        SalvagedRecords::of_filled(folder, log, heartbeat_timeout, || {
            TemporaryFolder::copy_with_links(folder, lsm::is_table)
        })
    }

    /// Like [`SalvagedRecords::of`], from a copy of everything in the folder, which may then change or become
    /// unreadable.
    pub(crate) fn of_copy(
        folder: &Path,
        log: Arc<Log>,
        heartbeat_timeout: Duration,
    ) -> Result<SalvageOutcome> {
        SalvagedRecords::of_filled(folder, log, heartbeat_timeout, || TemporaryFolder::copy_of(folder))
    }

    fn of_filled(
        folder: &Path,
        log: Arc<Log>,
        heartbeat_timeout: Duration,
        fill: impl FnOnce() -> Result<TemporaryFolder, EngineError>,
    ) -> Result<SalvageOutcome> {
        if !lsm::is_readable(folder) {
            return Ok(Err(EngineError::NotTrusted.into()));
        }
        let last = log.last();
        match fill() {
            Ok(copy) => SalvagedRecords::in_copy(copy, log, last, heartbeat_timeout),
            Err(error @ EngineError::TemporaryFolder { .. }) => Err(error.into()),
            Err(error) => Ok(Err(error.into())),
        }
    }

    /// Assembles the records from the intact blocks of a folder that cannot be used as a whole, and from every intact
    /// transaction of the log, whose intact prefix ends with transaction `prefix`. `None` if no block is intact, if the
    /// prefix has all of their changes, or if they belong to another log. A note that a lost transaction deleted may be
    /// back.
    ///
    /// # Errors
    /// `unavailable` if the temporary folder cannot be used.
    pub(crate) fn of_intact_blocks(
        folder: &Path,
        log: &Log,
        prefix: u64,
        heartbeat_timeout: Duration,
    ) -> Result<Option<SalvagedRecords>> {
        let newest = lsm::newest_seq(folder, heartbeat_timeout)?;
        if newest <= prefix {
            return Ok(None);
        }
        let copy = TemporaryFolder::create()?;
        let engine = BufferedEngine::new(Arc::new(LsmEngine::open_copy(copy.path())?), BUFFER_BYTES)?;
        let engine = IntactBlocks::new(engine, log).read(folder, heartbeat_timeout)?;
        let mut lost_notes = Vec::new();
        if let Some(engine) = &engine {
            // If the blocks are newer than the log, it lacks its end.
            let lost = if newest > log.last() { Some(newest) } else { last_lost(log, 0, log.last()) };
            if let Some(lost) = lost {
                lost_notes = make_consistent(engine, log, (lost, log.last()), &|| {})??;
            }
        }
        Ok(engine.map(|engine| SalvagedRecords {
            engine: Arc::new(engine),
            base: 0,
            newest,
            lost_notes,
            copy: Some(copy),
        }))
    }

    /// Assembles the records from the log alone, up to a transaction.
    pub(crate) fn of_log(log: Arc<Log>, last: u64, heartbeat_timeout: Duration) -> Result<SalvagedRecords> {
        SalvagedRecords::in_copy(TemporaryFolder::create()?, log, last, heartbeat_timeout).flatten()
    }

    /// Like [`SalvagedRecords::of_log`], in memory.
    pub(crate) fn in_memory(log: &Log, last: u64) -> Result<SalvagedRecords> {
        let engine = InMemoryEngine::default();
        log.replay(1, last, &mut |txn, checksum| {
            engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum })
        })?;
        Ok(SalvagedRecords {
            engine: Arc::new(engine),
            base: 0,
            newest: 0,
            lost_notes: Vec::new(),
            copy: None,
        })
    }

    /// Gives lost notes that have no name the key that they have in a view of the default tenant.
    pub(crate) fn name_lost_notes(&mut self, view: &View) {
        for note in self.lost_notes.iter_mut().filter(|note| note.name.is_none() && note.tenant.is_default())
        {
            note.name = view.find(note.id).map(|ix| view.key(ix).to_owned());
        }
    }

    /// Converts to the engine of a store.
    pub(crate) fn into_current(self) -> CurrentEngine {
        CurrentEngine { engine: self.engine, substitute_reason: None, _temporary_folder: self.copy }
    }

    /// Adds the transactions of the log up to number `last` to the records in the copy.
    fn in_copy(
        copy: TemporaryFolder,
        log: Arc<Log>,
        last: u64,
        heartbeat_timeout: Duration,
    ) -> Result<SalvageOutcome> {
        let folder = copy.path().to_owned();
        let opened = run_watched(heartbeat_timeout, move |heartbeat| {
            let beat = || heartbeat.beat();
            let engine = LsmEngine::open_copy(&folder)?;
            let watermark = engine.watermark()?;
            require_same_log(&engine, watermark, &log)?;
            // Damage is only noticed when it is read.
            engine.scan(&[], &mut |_, _| {
                beat();
                Ok(())
            })?;
            let engine = BufferedEngine::new(Arc::new(engine), BUFFER_BYTES)?;
            if let Err(write_error) = apply_log(&engine, &log, (watermark.seq + 1, last), &beat)? {
                return Ok(Err(write_error));
            }
            let lost_notes = match last_lost(&log, watermark.seq, last) {
                Some(lost) => make_consistent(&engine, &log, (lost, last), &beat)?,
                None => Ok(Vec::new()),
            };
            Ok(lost_notes.map(|lost_notes| (engine, watermark.seq, lost_notes)))
        });
        match opened {
            Ok(Ok((engine, base, lost_notes))) => {
                let engine = Arc::new(engine);
                Ok(Ok(SalvagedRecords { engine, base, newest: base, lost_notes, copy: Some(copy) }))
            }
            Ok(Err(write_error)) => Err(write_error),
            Err(unusable) => Ok(Err(unusable)),
        }
    }
}

/// Fails if the records belong to another log, or if an interrupted change of them cannot be completed.
fn require_same_log(engine: &LsmEngine, watermark: Watermark, log: &Log) -> Result<()> {
    let unfinished = engine.unfinished()?;
    for watermark in [watermark].into_iter().chain(unfinished) {
        if log.read(watermark.seq)?.is_some_and(|(_, checksum)| checksum != watermark.checksum) {
            return Err(EngineError::OtherLog.into());
        }
    }
    let lacks = |unfinished: Watermark| !log.contains_all(watermark.seq + 1, unfinished.seq);
    if unfinished.is_some_and(lacks) {
        return Err(EngineError::Interrupted.into());
    }
    Ok(())
}

/// The last transaction from `base` + 1 to `last` that the log lacks.
fn last_lost(log: &Log, base: u64, last: u64) -> Option<u64> {
    let lost = log.missing().into_iter().rfind(|lost| lost.last > base && lost.first <= last);
    lost.map(|lost| lost.last)
}

/// Applies the transactions of the log in a range of numbers.
fn apply_log(
    engine: &BufferedEngine,
    log: &Log,
    (first, last): (u64, u64),
    beat: &dyn Fn(),
) -> Result<WriteOutcome> {
    let mut write_error = None;
    let replayed = log.replay(first, last, &mut |txn, checksum| {
        beat();
        let applied = engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum });
        applied.inspect_err(|error| write_error = Some(temporary_write_error(error)))
    });
    match write_error {
        Some(error) => Ok(Err(error)),
        None => replayed.map(Ok),
    }
}

/// Makes the records consistent after transactions up to and including `lost` were lost: deletes what is left of lost
/// nodes, and corrects entries. `last` is the last transaction in the records. Returns the notes that are lost.
fn make_consistent(
    engine: &BufferedEngine,
    log: &Log,
    (lost, last): (u64, u64),
    beat: &dyn Fn(),
) -> Result<WriteOutcome<Vec<LostNote>>> {
    let orphans = index_entries::orphan_deletions(engine, beat)?;
    if let Err(error) = delete_orphans(engine, &orphans)? {
        return Ok(Err(temporary_write_error(&error)));
    }
    let corrections = index_entries::corrections(engine, beat)?;
    let lost_notes = index_entries::lost_notes(engine, orphans.iter().chain(&corrections))?;
    let corrected = correct_entries(engine, corrections, log, (lost, last), beat)?;
    Ok(corrected.map(|()| lost_notes).map_err(|error| temporary_write_error(&error)))
}

/// Applies `orphans`, the deletions of the remaining records of lost nodes. A view does not have them, and if such a node
/// were created again, the engine would have more records than the view.
fn delete_orphans(engine: &BufferedEngine, orphans: &[Put]) -> Result<WriteOutcome> {
    Ok(if orphans.is_empty() { Ok(()) } else { engine.apply(orphans.into(), engine.watermark()?) })
}

/// Applies `corrections`, which make the entries match their nodes and edges, after transactions up to and including
/// `lost` were lost. `last` is the last transaction in the records. The entries that later transactions wrote are
/// right, and stay as they are: a repaired log writes them again.
fn correct_entries(
    engine: &BufferedEngine,
    mut corrections: Vec<Put>,
    log: &Log,
    (lost, last): (u64, u64),
    beat: &dyn Fn(),
) -> Result<WriteOutcome> {
    if corrections.is_empty() {
        return Ok(Ok(()));
    }
    let mut written: FxHashSet<Vec<u8>> = FxHashSet::default();
    log.replay(lost + 1, last, &mut |txn, _| {
        beat();
        written.extend(txn.writes.iter().map(|write| write.table.engine_key(txn.tenant, &write.key)));
        Ok(())
    })?;
    corrections.retain(|(key, _)| !written.contains(key));
    Ok(engine.apply(corrections.into(), engine.watermark()?))
}
