//! Opens a store: takes the lock, recovers the log and reads the saved views. The records and the followers open in the
//! background, and callers that need them wait.

pub(crate) mod damaged;
mod record_folder;
pub(crate) mod recovery_report;

use super::catch_up::Sources;
use super::commit::{CommitQueue, Committer};
use super::compact;
use super::compactor::Compactor;
use super::disk::{Disk, SystemDisk};
use super::disk_reserve::Reserve;
use super::engine::OpenEngine;
use super::engine::buffered::BUFFER_BYTES;
use super::engine::lazy::EngineOpener;
use super::engine::lsm::LsmEngine;
use super::follower::Follower;
use super::index_workers::IndexWorkers;
use super::lock::Lock;
use super::log::{self, Appender, Limits};
use super::quarantine::QuarantineFolder;
use super::read_only::ReadOnlyReason;
use super::shared_log::SharedLog;
use super::shared_log_copy::{CopyError, SharedLogCopy};
use super::shared_snapshot::{self, CopyBeginning};
use super::shared_state::StoreState;
use super::writer_state::WriterState;
use super::{disk, repair, view_file, watchdog};
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Tenant, View};
use record_folder::RecordFolder;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

/// Why a store cannot be opened, except for errors of its log and its records.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("`{}` cannot be created: {source}", directory.display())]
    CreateDirectory { directory: PathBuf, source: std::io::Error },
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Error {
        Error::internal(error.to_string())
    }
}

/// The parts of a store that tests can replace.
pub(super) struct Parts {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) limits: Limits,
    pub(super) engine: OpenEngine,
    /// Size of the buffer in front of the engine, in bytes.
    pub(super) buffer: usize,
    /// Maximum time between two heartbeats of the engine while it opens.
    pub(super) patience: Duration,
    /// The delay between two attempts to write to a disk that has failed.
    pub(super) pause: Duration,
    /// The shared log that the folder is a copy of, and where a new copy starts.
    pub(super) shared_log: Option<(Arc<dyn SharedLog>, CopyBeginning)>,
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            disk: Arc::new(SystemDisk),
            limits: Limits::default(),
            engine: |directory| Ok(Arc::new(LsmEngine::open(directory)?)),
            buffer: BUFFER_BYTES,
            patience: watchdog::PATIENCE,
            pause: Duration::from_secs(1),
            shared_log: None,
        }
    }
}

/// Opens the store in a directory.
pub(super) fn open(
    directory: &Path,
    embedder: &str,
    followers: Vec<Arc<dyn Follower>>,
    parts: Parts,
) -> Result<StoreState> {
    let log_directory = directory.join("log");
    log::check_format(&log_directory)?;
    let Parts { disk, limits, engine: open_engine, buffer, patience, pause, shared_log } = parts;
    let failed = |source| OpenError::CreateDirectory { directory: directory.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let lock = Lock::take(&directory.join("lock"))?;
    repair::complete(directory)?;
    let saved = watchdog::spawn("view", {
        let directory = directory.to_owned();
        move || {
            watchdog::catch_panic(|| Ok(view_file::read(&directory))).unwrap_or_else(|error| {
                tracing::error!("the saved view cannot be read: {error}");
                None
            })
        }
    })?;
    let folder = directory.join("records");
    // Without records, the whole log is replayed anyway, so all of it is checked.
    let (mut log, mut prefix_end) = log::inspect(&log_directory, !folder.exists())?;
    let suspect =
        damaged::SuspectLog { directory, prefix_end: prefix_end.as_ref(), last: log.last(), patience };
    if suspect.is_damaged()? {
        let saved = saved.join().ok().flatten();
        let damaged = damaged::DamagedStore { directory, embedder, patience, saved, lock };
        return damaged.open(followers);
    }
    if !log_directory.exists() {
        let made = std::fs::create_dir_all(&log_directory);
        made.and_then(|()| disk.sync_directory(directory)).map_err(failed)?;
    }
    if let Some((shared, CopyBeginning::Snapshot)) = &shared_log
        && log.last() == 0
        && prefix_end.is_none()
        && shared_snapshot::fetch(&log_directory, disk.as_ref(), shared.as_ref())?
    {
        (log, prefix_end) = log::inspect(&log_directory, true)?;
    }
    let quarantine = Arc::new(QuarantineFolder::new(directory, disk.clone()));
    let reserve = Arc::new(Reserve::new(directory, disk.clone(), limits.reserve));
    let log = Arc::new(log);
    let tail = prefix_end.map(|end| (end, quarantine.clone()));
    let mut appender = Appender::new(log.clone(), disk.clone(), limits, tail);
    // This syncs what a killed process had not synced, before the records are brought up to it.
    let resumed = appender.resume().or_else(|error| {
        if disk::is_full(&error) {
            reserve.release();
        }
        appender.resume()
    });
    let (notes, mut cause) = match resumed {
        Ok(moved) => (moved.into_iter().collect(), None),
        Err(error) => (Vec::new(), Some(disk_cause(&error))),
    };
    let shared_log = shared_log.map(|(shared, _)| Arc::new(SharedLogCopy::new(shared, log.clone())));
    if let (Some(copy), None) = (&shared_log, &cause) {
        cause = catch_up_with(copy, &mut appender)?;
    }
    if cause.is_none()
        && let Err(error) = reserve.hold()
    {
        tracing::warn!("no space can be reserved for a full disk: {error}");
    }
    let records = RecordFolder {
        folder,
        log: log.clone(),
        engine: open_engine,
        buffer,
        patience,
        reserve: reserve.clone(),
        quarantine,
    };
    let (needs_views, receiver) = mpsc::channel();
    // A closed channel means that this open has failed.
    let opener = EngineOpener::start(move || records.open(|| receiver.recv().unwrap_or(false)))?;
    // Rebound here so that it is dropped before the opener, which waits for its thread.
    let needs_views = needs_views;
    let engine = opener.engine();
    // The thread catches its own panics.
    let saved = saved.join().ok().flatten();
    let caught_up = saved.and_then(|saved| {
        let seq = saved.seq();
        let (views, taken) = saved.catch_up(&log)?;
        Some((views, taken, seq))
    });
    let _ = needs_views.send(caught_up.is_none());
    let (mut views, unsaved, saved_seq) = match caught_up {
        Some(caught_up) => caught_up,
        None => {
            let views = engine.opened()?.views.lock().take();
            let views = views.ok_or_else(|| Error::internal("the views were not read"))?;
            let unsaved = views.values().map(|view| view.node_count() + view.edge_count()).sum();
            (views, unsaved, 0)
        }
    };
    views.entry(Tenant::default()).or_insert_with(|| Arc::new(View::new()));
    let seq = log.last();
    if cause.is_none() {
        compact::clean_up(directory);
        log.delete_obsolete(disk.as_ref());
    }
    let commits = Arc::new(CommitQueue::new(seq, views.clone(), cause));
    let appender = Arc::new(Mutex::new(appender));
    let compactor = Compactor {
        disk,
        appender: appender.clone(),
        engine: open_engine,
        buffer,
        running: Mutex::default(),
    };
    let sources = Arc::new(Sources {
        log: log.clone(),
        engine: engine.clone(),
        embedder: embedder.to_owned(),
        tenants: views.iter().map(|(tenant, view)| (*tenant, view.node_count())).collect(),
        read_only: false,
    });
    let index_workers = Arc::new(IndexWorkers::start(followers, &sources, seq, unsaved)?);
    let writer = WriterState::shared(seq, views);
    let committer = Committer {
        commits: commits.clone(),
        writer: writer.clone(),
        appender,
        engine: engine.clone(),
        index_workers: index_workers.clone(),
        reserve,
        pause,
        shared_log: shared_log.clone(),
        embedder: embedder.to_owned(),
        lost_appends: 0,
    };
    let committer = watchdog::spawn("committer", || committer.run())?;
    let watcher = shared_log.as_ref().map(|copy| {
        let (copy, commits) = (copy.clone(), commits.clone());
        watchdog::spawn("shared-log", move || commits.watch(&copy, pause))
    });
    Ok(StoreState {
        directory: directory.to_owned(),
        writer,
        commits,
        committer: Some(committer),
        shared_log,
        watcher: watcher.transpose()?,
        engine,
        log,
        index_workers,
        embedder: embedder.to_owned(),
        notes,
        damage: None,
        compactor: Some(compactor),
        recovery: OnceLock::new(),
        saved: Mutex::new(saved_seq),
        _opener: opener,
        _lock: lock,
    })
}

/// Brings the local log up to the end of the shared one. If that is impossible but reads are not, returns why the store
/// can accept no writes.
fn catch_up_with(copy: &SharedLogCopy, appender: &mut Appender) -> Result<Option<ReadOnlyReason>> {
    match copy.catch_up(appender) {
        Ok(()) => Ok(None),
        Err(CopyError::Disk(error)) => Ok(Some(disk_cause(&error))),
        Err(CopyError::Log(error)) if error.code == Code::Unavailable && copy.last() > 0 => {
            Ok(Some(ReadOnlyReason::SharedLog(error.message)))
        }
        Err(CopyError::Log(error)) => Err(error),
    }
}

fn disk_cause(error: &std::io::Error) -> ReadOnlyReason {
    ReadOnlyReason::Disk(format!("its log cannot be written: {error}"))
}
