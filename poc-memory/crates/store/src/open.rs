//! Opens a store: takes the lock, recovers the log and reads the saved views. The records and the indexes open in the
//! background, and callers that need them wait.

mod damaged;
mod damaged_copy;
mod record_folder;

use super::atomic_file::{self, FileState};
use super::catch_up::{self, CatchUpSources};
use super::compact;
use super::compactor::Compactor;
use super::derived_index::DerivedIndex;
use super::disk::{Disk, SystemDisk};
use super::disk_reserve::Reserve;
use super::engine::OpenEngine;
use super::engine::buffered::BUFFER_BYTES;
use super::engine::lazy::{EngineOpener, LazyEngine};
use super::engine::lsm::LsmEngine;
use super::group_commit::{CommitQueue, Committer, Gathering, TenantMemory};
use super::index_workers::{CHECKPOINT_MIN_CHANGES, IndexWorkers};
use super::lock::Lock;
use super::log::{self, Appender, Log, LogLimits, PrefixEnd};
use super::log_head::{self, LogHead};
use super::quarantine::QuarantineFolder;
use super::read_only::ReadOnlyReason;
use super::rebuilt_files::RebuiltFiles;
use super::shared_log::SharedLog;
use super::shared_log_copy::{CopyError, SharedLogCopy};
use super::shared_snapshot::{self, CopyBeginning, CopyStart, SnapshotFiles};
use super::shared_state::StoreState;
use super::suspect_log::SuspectLog;
use super::tenant_counts::TenantCounts;
use super::tenant_view_files::TenantViewFiles;
use super::tenant_views::TenantViews;
use super::view_file::SavedViews;
use super::views::StoreViews;
use super::writer_state::WriterState;
use super::{disk, repair, view_file, watchdog};
use damaged::DamagedStore;
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use record_folder::RecordFolder;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Why a store cannot be opened, except for errors of its log and its records.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("`{}` cannot be created: {source}", directory.display())]
    CreateDirectory { directory: PathBuf, source: std::io::Error },
    #[error("the views were not read")]
    NoViews,
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Error {
        let message = error.to_string();
        match error {
            OpenError::CreateDirectory { source, .. } => Error::new(disk::code(&source), message),
            OpenError::NoViews => Error::internal(message),
        }
    }
}

/// The parts of a store that tests can replace.
pub(super) struct StoreOptions {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) limits: LogLimits,
    pub(super) engine: OpenEngine,
    /// Size of the buffer of changes in front of the engine, in bytes.
    pub(super) buffer: usize,
    /// Maximum time between two heartbeats of the engine while it opens. After that it counts as hanging.
    pub(super) heartbeat_timeout: Duration,
    /// The delay between two attempts to write to a disk that has failed.
    pub(super) retry_delay: Duration,
    /// The shared log that the folder is a copy of, and where a new copy starts.
    pub(super) shared_log: Option<(Arc<dyn SharedLog>, CopyStart)>,
    /// Number of notes from which the view of a tenant is saved in a file of its own.
    pub(super) large_tenant: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            disk: Arc::new(SystemDisk),
            limits: LogLimits::default(),
            engine: |directory| Ok(Arc::new(LsmEngine::open(directory)?)),
            buffer: BUFFER_BYTES,
            heartbeat_timeout: watchdog::HEARTBEAT_TIMEOUT,
            retry_delay: Duration::from_secs(1),
            shared_log: None,
            large_tenant: catch_up::LARGE_TENANT,
        }
    }
}

/// Opens the store in a directory.
///
/// # Errors
/// `locked` if another process holds the store, `conflict` if a newer release wrote it or it does not fit the shared
/// log, and errors of the disk and of the shared log.
pub(super) fn open(
    directory: &Path,
    embedder: &str,
    indexes: Vec<Arc<dyn DerivedIndex>>,
    options: StoreOptions,
) -> Result<StoreState> {
    let log_directory = directory.join("log");
    log::check_format(&log_directory)?;
    let (is_copy, heartbeat_timeout) = (options.shared_log.is_some(), options.heartbeat_timeout);
    let lock = Arc::new(lock_directory(directory)?);
    let mut saved = start_reading_views(directory)?;
    let folder = directory.join("records");
    // Without records, the whole log is replayed anyway, so all of it is checked.
    let (log, mut prefix_end) = log::inspect(&log_directory, !folder.exists())?;
    let mut log = Arc::new(log);
    let suspect = SuspectLog {
        directory,
        prefix_end: prefix_end.as_ref(),
        last: log.last(),
        is_copy,
        unreplaced_copy: repair::unreplaced_copy(directory, is_copy, log.last()),
        heartbeat_timeout,
    };
    let damaged_store = |saved: JoinHandle<Option<SavedViews>>, lock, not_restored| {
        let saved = saved.join().ok().flatten();
        DamagedStore { directory, embedder, is_copy, not_restored, heartbeat_timeout, saved, lock }
    };
    let mut restored = None;
    if suspect.is_damaged()? {
        let copied = options.shared_log.as_ref();
        let outcome =
            copied.map(|(shared, start)| damaged_copy::restore(directory, (shared, *start), &options));
        match outcome.transpose()? {
            Some(Ok(copy)) => {
                (log, prefix_end) = (copy.log, copy.prefix_end);
                restored = Some((copy.messages, copy.files, copy.newest_derived));
            }
            failed => return damaged_store(saved, lock, failed.and_then(Result::err)).open(indexes),
        }
    }
    let rebuilt = Arc::new(damaged_files(directory, is_copy));
    create_log_directory(&log_directory, directory, options.disk.as_ref())?;
    let quarantine = Arc::new(QuarantineFolder::new(directory, options.disk.clone()));
    let mut resumed = match &options.shared_log {
        Some((shared, start)) if log.last() == 0 && prefix_end.is_none() => {
            ResumedLog::begin_copy(directory, log, (shared.as_ref(), *start), &quarantine, &options)?
        }
        _ => {
            let tail = prefix_end.map(|end| (end, quarantine.clone()));
            ResumedLog::resume(directory, log, tail, &options)?
        }
    };
    if let Some((messages, files, newest_derived)) = restored {
        if resumed.log.last() < newest_derived {
            // The log could not read again what it lacks, and the records, which have it, would be moved away.
            let error = match &resumed.reason {
                Some(reason) => Error::unavailable(reason.message()),
                None => Error::conflict("the shared log has lost changes in the meantime"),
            };
            return damaged_store(saved, lock, Some(error)).open(indexes);
        }
        resumed.messages.splice(..0, messages);
        resumed.files = resumed.files.or(files);
    }
    resumed = resumed.replace_if_outdated(directory, &options)?;
    let files = resumed.files.take();
    // The copy of the log now has all changes that the files have.
    if files.is_some_and(|files| files.install(directory, &resumed.log, options.disk.as_ref())) {
        let _ = saved.join();
        saved = start_reading_views(directory)?;
    }
    let records = RecordFolder {
        folder,
        log: resumed.log.clone(),
        engine: options.engine,
        buffer: options.buffer,
        heartbeat_timeout,
        reserve: resumed.reserve.clone(),
        quarantine,
    };
    let (needs_views, receiver) = mpsc::channel();
    // A closed channel means that this open has failed.
    let opener = EngineOpener::start(move || records.open(|| receiver.recv().unwrap_or(false)))?;
    // The thread catches its own panics.
    let saved = saved.join().ok().flatten();
    let view = directory.join(view_file::NAME);
    let view_state = if saved.is_none() { atomic_file::state(&view) } else { FileState::Intact };
    // `load_views` drops the sender, so it is dropped before the opener, which waits for its thread.
    let mut views = load_views(saved, &resumed.log, &opener.engine(), needs_views)?;
    resumed.messages.extend(replace_view_file(view, view_state, &mut views, &rebuilt));
    if resumed.reason.is_none() {
        compact::clean_up(directory);
        repair::clean_up(directory);
        resumed.log.delete_obsolete(options.disk.as_ref());
    }
    RecoveredStore { directory, embedder, lock, resumed, opener, views, rebuilt }.start(indexes, &options)
}

/// The log of a store, brought up to the end of a shared one if it is a copy.
struct ResumedLog {
    log: Arc<Log>,
    appender: Appender,
    reserve: Arc<Reserve>,
    shared_log: Option<Arc<SharedLogCopy>>,
    /// Messages about bytes that were moved to the quarantine, about a damaged snapshot of the shared log, and about
    /// erased texts that may be left.
    messages: Vec<String>,
    /// Why the store can accept no writes; `None` if it can.
    reason: Option<ReadOnlyReason>,
    /// The derived files of the snapshot that the log begins with, if it was downloaded now.
    files: Option<SnapshotFiles>,
}

impl ResumedLog {
    /// Opens the end of a log for appending. `tail` is what follows the valid prefix.
    fn resume(
        directory: &Path,
        log: Arc<Log>,
        tail: Option<(PrefixEnd, Arc<QuarantineFolder>)>,
        options: &StoreOptions,
    ) -> Result<ResumedLog> {
        let reserve = Arc::new(Reserve::new(directory, options.disk.clone(), options.limits.reserve));
        let mut appender = Appender::new(log.clone(), options.disk.clone(), options.limits, tail);
        // A copy of a shared log reads what it has lost from the shared log again. It needs no head, and acknowledged
        // records need not be on its disk.
        match options.shared_log {
            None => appender.set_head(LogHead::new(directory)),
            Some(_) => appender.defer_syncs(),
        }
        let (messages, mut reason) = resume_appender(&mut appender, &reserve);
        let shared_log = options
            .shared_log
            .as_ref()
            .map(|(shared, _)| Arc::new(SharedLogCopy::new(shared.clone(), log.clone())));
        if let (Some(copy), None) = (&shared_log, &reason) {
            reason = catch_up_with(copy, &mut appender)?;
            if reason.is_none() {
                log_head::remove(directory);
            }
        }
        if reason.is_none()
            && let Err(error) = reserve.hold()
        {
            tracing::warn!("no space can be reserved for a full disk: {error}");
        }
        Ok(ResumedLog { log, appender, reserve, shared_log, messages, reason, files: None })
    }

    /// Begins the copy of a shared log in an empty log, with a snapshot if there is one.
    fn begin_copy(
        directory: &Path,
        empty: Arc<Log>,
        (shared, start): (&dyn SharedLog, CopyStart),
        quarantine: &Arc<QuarantineFolder>,
        options: &StoreOptions,
    ) -> Result<ResumedLog> {
        match shared_snapshot::fetch(directory, options.disk.as_ref(), shared, start, &|| Ok(()))? {
            CopyBeginning::Snapshot(files) => {
                let (log, prefix_end) = log::inspect(&directory.join("log"), true)?;
                let tail = prefix_end.map(|end| (end, quarantine.clone()));
                Ok(ResumedLog { files, ..ResumedLog::resume(directory, Arc::new(log), tail, options)? })
            }
            CopyBeginning::FirstRecord(message) => {
                let mut resumed = ResumedLog::resume(directory, empty, None, options)?;
                resumed.messages.extend(message);
                Ok(resumed)
            }
        }
    }

    /// If the shared log begins after the end of this copy of it, replaces the copy with a snapshot, as for a new copy.
    /// Nothing is lost, because all records of the copy came from the shared log. Without an intact snapshot or a
    /// connection, the copy stays as it is.
    ///
    /// # Errors
    /// `conflict` if the folder was in use without the shared log, and may have records of its own; `unavailable` or
    /// `damaged` if a copy without any record cannot be replaced.
    fn replace_if_outdated(mut self, directory: &Path, options: &StoreOptions) -> Result<ResumedLog> {
        let outdated = self.shared_log.as_ref().filter(|copy| copy.is_outdated());
        let (Some(copy), Some((shared, start))) = (outdated, &options.shared_log) else { return Ok(self) };
        if log_head::exists(directory) {
            return Err(copy.own_changes());
        }
        let last = copy.last();
        let fetched = shared.deleted().and_then(|deleted| {
            let disk = options.disk.as_ref();
            let snapshot = shared_snapshot::fetch(directory, disk, shared.as_ref(), *start, &|| Ok(()))?;
            Ok(match snapshot {
                CopyBeginning::Snapshot(files) => Some((files, deleted.erased)),
                CopyBeginning::FirstRecord(_) => None,
            })
        });
        let (files, erased) = match fetched {
            Ok(Some(fetched)) => fetched,
            Ok(None) if last == 0 => return Err(copy.outdated(last)),
            Ok(None) => return Ok(self),
            Err(error) if error.code == Code::Unavailable && last > 0 => return Ok(self),
            Err(error) if error.code == Code::Damaged && last > 0 => {
                self.reason = Some(ReadOnlyReason::Failure(error.message));
                return Ok(self);
            }
            Err(error) => return Err(error),
        };
        tracing::info!(
            "the shared log no longer has changes that its copy lacked: the copy now begins with a snapshot"
        );
        let messages = self.messages.clone();
        drop(self);
        let (log, _) = log::inspect(&directory.join("log"), true)?;
        let mut replacement = ResumedLog::resume(directory, Arc::new(log), None, options)?;
        replacement.messages.splice(..0, messages);
        replacement.files = files;
        if erased >= last {
            // The copy had the texts, but not the record that names what was erased.
            replacement.messages.push(
                "another daemon has erased texts while this copy of the shared log was behind: the prompts of runs and \
                 the quarantine on this machine were not searched for them"
                    .to_owned(),
            );
        }
        Ok(replacement)
    }
}

/// A store whose log and views are read. Its records may still be opening.
struct RecoveredStore<'a> {
    directory: &'a Path,
    embedder: &'a str,
    lock: Arc<Lock>,
    resumed: ResumedLog,
    opener: EngineOpener,
    views: LoadedViews,
    rebuilt: Arc<RebuiltFiles>,
}

impl RecoveredStore<'_> {
    /// Starts the threads of the indexes, of the committer and of the shared log. The store is then open.
    fn start(self, indexes: Vec<Arc<dyn DerivedIndex>>, options: &StoreOptions) -> Result<StoreState> {
        // After an error, these drop in reverse order: the lock must be released after everything else is closed.
        let RecoveredStore { directory, embedder, lock, resumed, opener, views, rebuilt } = self;
        let ResumedLog { log, appender, reserve, shared_log, messages, reason, files: _ } = resumed;
        let LoadedViews { views, unsaved, saved_seq } = views;
        let (seq, engine, retry_delay) = (log.last(), opener.engine(), options.retry_delay);
        let view_files = TenantViewFiles::new(directory, log.clone(), rebuilt.clone(), options.large_tenant);
        let views = TenantViews::on_demand(views);
        let commits = Arc::new(CommitQueue::new(seq, views, Some(view_files), reason));
        let appender = appender.share();
        let compactor = Compactor {
            disk: options.disk.clone(),
            appender: appender.clone(),
            engine: options.engine,
            buffer: options.buffer,
            running: Mutex::default(),
        };
        let sources = catch_up_sources(&commits, log.clone(), engine.clone(), embedder, None, &rebuilt);
        let index_workers = Arc::new(IndexWorkers::start(indexes, &sources, seq, unsaved)?);
        let tenant_memory = Arc::new(TenantMemory::new(lock.clone(), log.clone()));
        let writer = WriterState::shared(seq);
        let committer = Committer {
            commits: commits.clone(),
            writer: writer.clone(),
            appender,
            engine: engine.clone(),
            lock: lock.clone(),
            index_workers: index_workers.clone(),
            tenant_memory: tenant_memory.clone(),
            reserve,
            retry_delay,
            shared_log: shared_log.clone(),
            embedder: embedder.to_owned(),
            lost_appends: 0,
            gathering: Gathering::default(),
        };
        let committer = watchdog::spawn("committer", || committer.run())?;
        let watcher = shared_log.as_ref().map(|copy| {
            let (copy, commits) = (copy.clone(), commits.clone());
            watchdog::spawn("shared-log", move || commits.watch(&copy, retry_delay))
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
            tenant_memory,
            embedder: embedder.to_owned(),
            messages,
            damage: None,
            awaits_shared_log: false,
            compactor: Some(compactor),
            rebuilt,
            saved: Mutex::new(saved_seq),
            _opener: opener,
            lock,
        })
    }
}

/// The sources from which indexes are brought up to date. `usable` is [`CatchUpSources::usable`].
fn catch_up_sources(
    commits: &Arc<CommitQueue>,
    log: Arc<Log>,
    engine: Arc<LazyEngine>,
    embedder: &str,
    usable: Option<RangeInclusive<u64>>,
    rebuilt: &Arc<RebuiltFiles>,
) -> Arc<CatchUpSources> {
    let (_, main, others) = commits.main_and_counts();
    Arc::new(CatchUpSources {
        log,
        engine,
        embedder: embedder.to_owned(),
        tenants: catch_up::tenants_at_open(&main, &others),
        usable,
        rebuilt: rebuilt.clone(),
    })
}

/// The small files of a store that are damaged. They are replaced while the store opens.
fn damaged_files(directory: &Path, is_copy: bool) -> RebuiltFiles {
    let damaged = RebuiltFiles::default();
    for name in ["records/last", "log/checked"] {
        damaged.add_if_damaged(&directory.join(name));
    }
    // A copy of a shared log does not use this file.
    if !is_copy && log_head::is_damaged(directory) {
        damaged.add(directory.join(log_head::NAME));
    }
    damaged
}

/// Creates the directory of a store if it is missing, locks it, and completes a repair that was interrupted.
fn lock_directory(directory: &Path) -> Result<Lock> {
    std::fs::create_dir_all(directory).map_err(|error| not_created(directory, error))?;
    let lock = Lock::take(&directory.join("lock"))?;
    repair::complete(directory)?;
    Ok(lock)
}

/// Creates the directory of the log if it is missing, durably.
fn create_log_directory(log_directory: &Path, directory: &Path, disk: &dyn Disk) -> Result<()> {
    if log_directory.exists() {
        return Ok(());
    }
    let created = std::fs::create_dir_all(log_directory).and_then(|()| disk.sync_directory(directory));
    Ok(created.map_err(|error| not_created(directory, error))?)
}

fn not_created(directory: &Path, source: std::io::Error) -> OpenError {
    OpenError::CreateDirectory { directory: directory.to_owned(), source }
}

/// Reads the saved views on a separate thread. The thread returns `None` if there are none that can be read.
fn start_reading_views(directory: &Path) -> Result<JoinHandle<Option<SavedViews>>> {
    let directory = directory.to_owned();
    watchdog::spawn("view", move || {
        watchdog::catch_panic(|| Ok(view_file::read(&directory))).unwrap_or_else(|error| {
            tracing::error!("the saved view cannot be read: {error}");
            None
        })
    })
}

/// Opens the end of the log for appending, and syncs what a killed process had not synced, before the records are
/// brought up to it. Returns messages about bytes that were moved to the quarantine, and why the log cannot be written;
/// `None` if it can.
fn resume_appender(appender: &mut Appender, reserve: &Reserve) -> (Vec<String>, Option<ReadOnlyReason>) {
    let resumed = appender.resume().or_else(|error| {
        if disk::is_full(&error) {
            reserve.release();
        }
        appender.resume()
    });
    match resumed {
        Ok(moved) => (moved.into_iter().collect(), None),
        Err(error) => (Vec::new(), Some(disk_reason(&error))),
    }
}

/// The views and counts of all tenants at the end of the log.
struct LoadedViews {
    views: StoreViews,
    /// Number of nodes and edges that the saved views lack.
    unsaved: usize,
    /// The last transaction of the saved views; 0 without any.
    saved_seq: u64,
}

/// Brings the saved views up to the end of the log, or builds them from the records. `needs_views` tells the thread
/// that opens the records whether it must read them all.
fn load_views(
    saved: Option<SavedViews>,
    log: &Log,
    engine: &LazyEngine,
    needs_views: mpsc::Sender<bool>,
) -> Result<LoadedViews> {
    let caught_up = saved.and_then(|saved| {
        let saved_seq = saved.seq();
        let (views, unsaved) = saved.catch_up(log)?;
        Some(LoadedViews { views, unsaved, saved_seq })
    });
    let _ = needs_views.send(caught_up.is_none());
    if let Some(caught_up) = caught_up {
        return Ok(caught_up);
    }
    let views = engine.opened()?.views.lock().take();
    let views = views.ok_or(OpenError::NoViews)?;
    let counts = std::iter::once(TenantCounts::of(&views.main)).chain(views.others.values().copied());
    let unsaved = counts.map(|counts| (counts.nodes + counts.edges) as usize).sum();
    Ok(LoadedViews { views, unsaved, saved_seq: 0 })
}

/// Deletes the file of the saved views if it is damaged. Returns a message if it cannot be read.
fn replace_view_file(
    file: PathBuf,
    state: FileState,
    views: &mut LoadedViews,
    rebuilt: &RebuiltFiles,
) -> Option<String> {
    match state {
        FileState::Damaged => {
            // Otherwise a verification would report it as damaged until the next checkpoint, which replaces it.
            let _ = atomic_file::remove(&file);
            rebuilt.add(file);
            // The file is written when the store is closed, even if it is small.
            views.unsaved = views.unsaved.max(CHECKPOINT_MIN_CHANGES);
            None
        }
        FileState::Unreadable(error) => Some(format!(
            "the file `{}` cannot be read, so the view was built from the records: {error}",
            file.display()
        )),
        FileState::Missing | FileState::Intact => None,
    }
}

/// Brings the local log up to the end of the shared one. If that is impossible but reads are not, returns why the store
/// can accept no writes.
fn catch_up_with(copy: &SharedLogCopy, appender: &mut Appender) -> Result<Option<ReadOnlyReason>> {
    match copy.catch_up(appender) {
        Ok(()) => Ok(None),
        Err(CopyError::Disk(error)) => Ok(Some(disk_reason(&error))),
        // An outdated copy can be replaced, even one without any record.
        Err(CopyError::Log(error))
            if error.code == Code::Unavailable && (copy.last() > 0 || copy.is_outdated()) =>
        {
            Ok(Some(copy.read_only_reason(error)))
        }
        Err(CopyError::Log(error)) => Err(error),
    }
}

fn disk_reason(error: &std::io::Error) -> ReadOnlyReason {
    ReadOnlyReason::Disk(format!("its log cannot be written: {error}"))
}
