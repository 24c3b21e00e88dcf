//! Opens the records: brings the engine to the end of the log and builds the views from it.

use crate::catch_up;
use crate::engine::buffered::BufferedEngine;
use crate::engine::lazy::OpenedEngine;
use crate::engine::{Engine, EngineError};
use crate::log::Log;
use crate::quarantine::Quarantine;
use crate::views::Views;
use crate::watchdog::run_watched;
use parking_lot::Mutex;
use poc_graph::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) type OpenEngine = fn(&Path) -> Result<Arc<dyn Engine>>;

/// The folder of the records and the log that they follow.
pub(super) struct RecordFolder {
    pub(super) folder: PathBuf,
    pub(super) log: Arc<Log>,
    pub(super) engine: OpenEngine,
    /// Bytes of changes that are collected before the engine gets them.
    pub(super) buffer: usize,
    /// How long the engine may go without a heartbeat.
    pub(super) patience: Duration,
}

impl RecordFolder {
    /// Opens the engine, brings it to the end of the log, and builds the views from it if `wanted` says
    /// so. On any failure, a panic or a hang included, its files are moved to the quarantine and it is
    /// rebuilt from the log, once, if the log is whole.
    pub(super) fn open(&self, quarantine: &Quarantine, wanted: impl Fn() -> bool) -> Result<OpenedEngine> {
        // Called once, and only after the engine is open: it may block.
        let mut known = None;
        let mut wanted = || *known.get_or_insert_with(&wanted);
        let error = match self.attempt(&mut wanted) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        // Otherwise the records are what is left of the part of the log that is damaged, and cannot be rebuilt.
        self.log.verify()?;
        let mut notes = Vec::new();
        if self.folder.exists() {
            let name = quarantine.move_in(&self.folder).map_err(EngineError::Quarantine)?;
            notes.push(format!(
                "the record engine could not be used ({error}): it was moved to `quarantine/{name}` and \
                 rebuilt from the log"
            ));
        }
        Ok(OpenedEngine { notes, ..self.attempt(&mut wanted)? })
    }

    fn attempt(&self, wanted: &mut dyn FnMut() -> bool) -> Result<OpenedEngine> {
        let (folder, log, engine, buffer) = (self.folder.clone(), self.log.clone(), self.engine, self.buffer);
        let engine = run_watched(self.patience, move |heartbeat| {
            let engine = BufferedEngine::new(engine(&folder)?, buffer)?;
            catch_up::engine(&engine, &log, &|| heartbeat.beat())?;
            Ok(engine)
        })?;
        let engine: Arc<dyn Engine> = Arc::new(engine);
        let views = if wanted() { Some(self.views(engine.clone())?) } else { None };
        Ok(OpenedEngine { engine, views: Mutex::new(views), notes: Vec::new() })
    }

    fn views(&self, engine: Arc<dyn Engine>) -> Result<Views> {
        let seq = self.log.last();
        run_watched(self.patience, move |heartbeat| {
            catch_up::views(engine.as_ref(), seq, &|| heartbeat.beat())
        })
    }
}
