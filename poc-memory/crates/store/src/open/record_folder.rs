//! Opens the records: brings the engine up to the end of the log and builds the view of the default tenant from it.

use crate::catch_up;
use crate::disk;
use crate::disk_reserve::Reserve;
use crate::engine::buffered::BufferedEngine;
use crate::engine::lazy::{CurrentEngine, EngineSource, OpenedEngine};
use crate::engine::{Engine, EngineError, OpenEngine, lsm};
use crate::log::Log;
use crate::quarantine::QuarantineFolder;
use crate::salvaged_records::SalvagedRecords;
use crate::views::StoreViews;
use crate::watchdog::run_watched;
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The folder of the records, and the log that they are derived from.
#[derive(Clone)]
pub(super) struct RecordFolder {
    pub(super) folder: PathBuf,
    pub(super) log: Arc<Log>,
    pub(super) engine: OpenEngine,
    /// Size of the buffer in front of the engine, in bytes.
    pub(super) buffer: usize,
    /// Maximum time between two heartbeats of the engine.
    pub(super) heartbeat_timeout: Duration,
    pub(super) reserve: Arc<Reserve>,
    pub(super) quarantine: Arc<QuarantineFolder>,
}

impl RecordFolder {
    /// Opens the engine, brings it up to the end of the log, and builds the views from it if `needs_views` returns
    /// true.
    ///
    /// If the engine cannot be opened because of the disk, or the log is not durable, a copy of the records replaces
    /// it. On any other failure, including a panic or a hang, its files are moved to the quarantine and it is rebuilt
    /// from the log once, provided that the log is complete.
    pub(super) fn open(&self, needs_views: impl Fn() -> bool) -> Result<OpenedEngine> {
        let source: Arc<dyn EngineSource> = Arc::new(self.clone());
        let views_needed = OnceCell::new();
        let open = || -> Result<_> {
            let current = self.open_or_substitute()?;
            let views_needed = *views_needed.get_or_init(&needs_views);
            let views = views_needed.then(|| self.views(current.engine.clone())).transpose()?;
            Ok((current, views))
        };
        let mut messages = Vec::new();
        let (current, views) = match open() {
            Ok(opened) => opened,
            Err(error) if error.code == Code::ReadOnly => return Err(error),
            Err(error) => {
                messages.extend(self.move_to_quarantine(&error)?);
                open()?
            }
        };
        let mut opened = OpenedEngine::new(current, Some(source));
        opened.views = Mutex::new(views);
        opened.messages = messages;
        Ok(opened)
    }

    /// Moves the files of an unusable engine to the quarantine, and returns a message about it for people.
    fn move_to_quarantine(&self, why: &Error) -> Result<Option<String>> {
        // If a part of the log is damaged, the records are the only source for it and cannot be rebuilt.
        self.log.verify()?;
        if !self.folder.exists() {
            return Ok(None);
        }
        let name = self.quarantine.move_in(&self.folder).map_err(EngineError::Quarantine)?;
        Ok(Some(format!(
            "the record engine could not be used ({why}): it was moved to `quarantine/{name}` and rebuilt from the log"
        )))
    }

    fn open_or_substitute(&self) -> Result<CurrentEngine> {
        // The engine writes its buffer whenever it is full, and a power failure may remove the end of this log.
        if !self.log.is_recovered() {
            return self.substitute("the log cannot be synced");
        }
        let opened = self.open_engine().or_else(|error| {
            if error.code != Code::ReadOnly {
                return Err(error);
            }
            self.reserve.release();
            self.open_engine()
        });
        match opened {
            Ok(engine) => Ok(CurrentEngine::new(engine)),
            Err(error) if error.code == Code::ReadOnly => self.substitute(&error.message),
            Err(error) => Err(error),
        }
    }

    fn views(&self, engine: Arc<dyn Engine>) -> Result<StoreViews> {
        let seq = self.log.last();
        run_watched(self.heartbeat_timeout, move |heartbeat| {
            catch_up::store_views(engine.as_ref(), seq, &|| heartbeat.beat())
        })
    }

    /// Opens the engine and brings it up to the end of the log.
    fn open_engine(&self) -> Result<Arc<dyn Engine>> {
        if lsm::has_earlier_layout(&self.folder) {
            tracing::info!("the records have an earlier layout and are rewritten from the log");
            self.log.verify()?;
            std::fs::remove_dir_all(&self.folder).map_err(EngineError::io("deleted", &self.folder))?;
        }
        let (folder, log, engine, buffer) = (self.folder.clone(), self.log.clone(), self.engine, self.buffer);
        let engine = run_watched(self.heartbeat_timeout, move |heartbeat| {
            let engine = BufferedEngine::over_log(engine(&folder)?, buffer, log.clone())?;
            catch_up::engine(&engine, &log, &|| heartbeat.beat())?;
            Ok(engine)
        })?;
        Ok(Arc::new(engine))
    }
}

impl EngineSource for RecordFolder {
    fn open(&self) -> Result<Arc<dyn Engine>> {
        self.open_engine().or_else(|error| {
            if error.code == Code::ReadOnly {
                return Err(error);
            }
            // Damage was found while the store was in use.
            if let Some(note) = self.move_to_quarantine(&error)? {
                tracing::error!("{note}");
            }
            self.open_engine()
        })
    }

    fn substitute(&self, why: &str) -> Result<CurrentEngine> {
        // The answers of such a store say themselves that it accepts no writes.
        tracing::info!("the records are read from a copy: {why}");
        let last = self.log.last();
        // The folder is on the disk that fails, and its files are replaced while the substitute is in use.
        let copied = SalvagedRecords::of_copy(&self.folder, self.log.clone(), self.heartbeat_timeout)
            .flatten()
            .or_else(|_| SalvagedRecords::of_log(self.log.clone(), last, self.heartbeat_timeout))
            .or_else(|_| SalvagedRecords::in_memory(&self.log, last))?;
        Ok(CurrentEngine { substitute_reason: Some(why.to_owned()), ..copied.into_current() })
    }

    fn discard(&self) -> Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        self.log.verify()?;
        // An estimate of the space that the new files need in addition to what the old ones free.
        let bytes = self.log.bytes().saturating_sub(lsm::size(&self.folder));
        disk::check_space(&self.folder, bytes, 0).map_err(EngineError::NoSpace)?;
        Ok(lsm::delete_open(&self.folder).map_err(EngineError::io("deleted", &self.folder))?)
    }
}
