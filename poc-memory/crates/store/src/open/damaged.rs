//! Opens a store whose log is damaged. Nothing on disk changes except the lock; a person decides what to do with
//! `poc-memory repair`.
//!
//! The state is assembled from everything that is intact: the records or the prefix of the log, whichever is newer, and
//! then every later intact transaction of the log. The records are read from a copy, because opening them changes their
//! files.

use crate::catch_up::{self, Sources};
use crate::commit::CommitQueue;
use crate::engine::buffered::{BUFFER_BYTES, BufferedEngine};
use crate::engine::lazy::{CurrentEngine, EngineOpener, OpenedEngine};
use crate::engine::lsm::{self, LsmEngine};
use crate::engine::memory::InMemoryEngine;
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine, EngineError, Mark, changes};
use crate::follower::Follower;
use crate::index_workers::IndexWorkers;
use crate::lock::Lock;
use crate::log::{self, Log, PrefixEnd};
use crate::read_only::ReadOnlyReason;
use crate::shared_state::StoreState;
use crate::view_file::{self, SavedViews};
use crate::views::Views;
use crate::watchdog::run_watched;
use crate::writer_state::WriterState;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::{Tenant, View};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A log that may be damaged, and whose valid prefix ends with transaction `last`.
pub(crate) struct SuspectLog<'a> {
    pub(crate) directory: &'a Path,
    /// Where the prefix ends, if further bytes follow it.
    pub(crate) prefix_end: Option<&'a PrefixEnd>,
    pub(crate) last: u64,
    /// Maximum time between two heartbeats of the record engine.
    pub(crate) heartbeat_timeout: Duration,
}

impl SuspectLog<'_> {
    /// Whether any intact part of the store is newer than the prefix. Otherwise the bytes after the prefix are the end
    /// of an interrupted write.
    pub(crate) fn is_damaged(&self) -> Result<bool> {
        if view_file::claimed_seq(self.directory) > self.last {
            let saved = view_file::read(self.directory);
            if saved.is_some_and(|saved| saved.seq() > self.last) {
                return Ok(true);
            }
        }
        let newest = lsm::newest_seq(&self.directory.join("records"), self.heartbeat_timeout)?;
        Ok(newest > self.last
            || self.prefix_end.is_some_and(|end| end.precedes_intact_records().unwrap_or(true)))
    }
}

/// A damaged store that is being opened.
pub(super) struct DamagedStore<'a> {
    pub(super) directory: &'a Path,
    pub(super) embedder: &'a str,
    pub(super) heartbeat_timeout: Duration,
    pub(super) saved: Option<SavedViews>,
    pub(super) lock: Lock,
}

impl DamagedStore<'_> {
    /// Opens the store for reading.
    pub(super) fn open(self, followers: Vec<Arc<dyn Follower>>) -> Result<StoreState> {
        let DamagedStore { directory, embedder, heartbeat_timeout, saved, lock } = self;
        let log_directory = directory.join("log");
        // The whole log is checked, including segments that an earlier open has checked.
        let (prefix, prefix_end) = log::inspect(&log_directory, true)?;
        let prefix_last = prefix.last();
        let log = Arc::new(log::salvage(prefix, prefix_end.as_ref())?);
        let last_record = log.last();
        let records = directory.join("records");
        log.raise_last(lsm::newest_seq(&records, heartbeat_timeout)?);
        let (salvaged, problem) = match SalvagedRecords::of(&records, log.clone(), heartbeat_timeout) {
            Ok(salvaged) => (salvaged, None),
            Err(error) => (SalvagedRecords::of_log(log.clone(), log.last(), heartbeat_timeout)?, Some(error)),
        };
        let (base, current) = (salvaged.base, salvaged.into_current());
        let engine = current.engine.clone();
        let saved = saved.filter(|saved| saved.seq() > base.max(prefix_last));
        log.raise_last(saved.as_ref().map_or(0, SavedViews::seq));
        let seq = log.last();
        let state = SalvagedState {
            prefix_end: prefix_end.map(|end| end.to_string()),
            prefix: prefix_last,
            last_record,
            base,
            problem: problem.filter(|_| records.exists()).map(|error| error.message),
            view: saved.as_ref().map(SavedViews::seq),
            missing: log.missing(),
        };
        let damage = state.to_string();
        tracing::error!("{damage}");
        let mut views: Views = match saved {
            Some(saved) => saved.salvage(&log)?,
            None => catch_up::views(engine.as_ref(), seq, &|| {})?,
        };
        views.entry(Tenant::default()).or_insert_with(|| Arc::new(View::new()));
        drop(engine);
        let opened = OpenedEngine::new(current, None);
        let opener = EngineOpener::start(move || Ok(opened))?;
        let engine = opener.engine();
        let sources = Arc::new(Sources {
            log: log.clone(),
            engine: engine.clone(),
            embedder: embedder.to_owned(),
            tenants: views.iter().map(|(tenant, view)| (*tenant, view.node_count())).collect(),
            read_only: true,
        });
        let index_workers = Arc::new(IndexWorkers::start(followers, &sources, seq, 0)?);
        Ok(StoreState {
            directory: directory.to_owned(),
            commits: Arc::new(CommitQueue::new(
                seq,
                views.clone(),
                Some(ReadOnlyReason::Damage(damage.clone())),
            )),
            writer: WriterState::shared(seq, views),
            committer: None,
            shared_log: None,
            watcher: None,
            engine,
            log,
            index_workers,
            embedder: embedder.to_owned(),
            messages: Vec::new(),
            damage: Some(damage),
            compactor: None,
            recovery: OnceLock::new(),
            saved: Mutex::new(seq),
            _opener: opener,
            lock,
        })
    }
}

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
            engine.apply(changes(&txn)?.into(), Mark { seq: txn.seq, checksum })
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
            let mark = engine.mark()?;
            check(&engine, mark, &log)?;
            // Damage is only noticed when it is read.
            engine.scan(&[], &mut |_, _| {
                beat();
                Ok(())
            })?;
            let engine = BufferedEngine::new(Arc::new(engine), BUFFER_BYTES)?;
            log.replay(mark.seq + 1, last, &mut |txn, checksum| {
                beat();
                engine.apply(changes(&txn)?.into(), Mark { seq: txn.seq, checksum })
            })?;
            Ok((engine, mark.seq))
        })?;
        Ok(SalvagedRecords { engine: Arc::new(engine), copy: Some(copy), base })
    }
}

/// Fails if the records belong to another log, or if an interrupted change of them cannot be completed.
fn check(engine: &LsmEngine, mark: Mark, log: &Log) -> Result<()> {
    let unfinished = engine.unfinished()?;
    for mark in [mark].into_iter().chain(unfinished) {
        if log.read(mark.seq)?.is_some_and(|(_, checksum)| checksum != mark.checksum) {
            return Err(EngineError::OtherLog.into());
        }
    }
    let lacks = |unfinished: Mark| !log.holds_all(mark.seq + 1, unfinished.seq);
    if unfinished.is_some_and(lacks) {
        return Err(EngineError::Interrupted.into());
    }
    Ok(())
}

/// Describes what is damaged and which state is shown instead.
struct SalvagedState {
    /// Where the valid prefix of the log ends in a segment, as text.
    prefix_end: Option<String>,
    /// The last transaction of the valid prefix.
    prefix: u64,
    /// The last intact record of the log.
    last_record: u64,
    /// The last transaction in the records.
    base: u64,
    /// Why the records cannot be used.
    problem: Option<String>,
    /// The last transaction of the saved view, if that view is shown.
    view: Option<u64>,
    /// The ranges of transactions that the log lacks.
    missing: Vec<(u64, u64)>,
}

impl std::fmt::Display for SalvagedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.prefix_end {
            Some(end) => f.write_str(end)?,
            None if self.prefix == 0 => f.write_str("the log is missing")?,
            None => {
                write!(f, "the log ends at change {}, before the records or the saved view do", self.prefix)?
            }
        }
        let shown = self.view.unwrap_or(self.base).max(self.prefix);
        let after = self.missing.iter().map(|(from, to)| ((*from).max(shown + 1), *to));
        let lost: Vec<(u64, u64)> = after.filter(|(from, to)| from <= to).collect();
        if !self.missing.is_empty() {
            let is_lost = self.prefix_end.is_none() && self.prefix == 0;
            write!(f, "{} {}", if is_lost { ", including" } else { " and lacks" }, ranges(&self.missing))?;
        }
        if lost == self.missing && !lost.is_empty() {
            f.write_str(", which no other intact part of the store has")?;
        } else if !lost.is_empty() {
            write!(f, "; no other intact part of the store has {}", ranges(&lost))?;
        }
        f.write_str("; answers show ")?;
        match (self.view, self.base > self.prefix) {
            (Some(view), _) => write!(f, "the names and links of the saved view up to change {view}")?,
            (None, true) => write!(f, "the records up to change {}", self.base)?,
            (None, false) => write!(f, "the log up to change {}", self.prefix)?,
        }
        if self.last_record > shown {
            write!(f, " and later intact changes of the log, up to {}", self.last_record)?;
        }
        if let Some(problem) = &self.problem {
            write!(f, "; the records cannot be used: {problem}")?;
        }
        Ok(())
    }
}

fn ranges(all: &[(u64, u64)]) -> String {
    let range =
        |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let named: Vec<String> = all.iter().map(range).collect();
    let is_one = matches!(all, [(from, to)] if from == to);
    format!("{} {}", if is_one { "change" } else { "changes" }, named.join(", "))
}
