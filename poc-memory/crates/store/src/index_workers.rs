//! Runs the indexes. After an open, each index is brought up to the end of the log on its own thread. From then
//! on, the committer feeds it.

use super::catch_up::{self, CatchUpSources};
use super::derived_index::{DerivedIndex, LoadedIndex, TenantSource, count_changes};
use super::log::SyncedLog;
use super::watchdog;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, Tenant};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Number of unsaved changes from which closing a store writes a checkpoint. Replaying fewer changes from the log is as
/// fast as reading a checkpoint, and a command that stores one note should not write whole indexes. A note with a long
/// text counts as several changes.
pub const CHECKPOINT_MIN_CHANGES: usize = 1000;

/// Number of unsaved changes from which a daemon writes a checkpoint although the store is in use. After a power cut, an
/// open reads about 80,000 changes a second from the log, and the first answer should come within two seconds.
pub const CHECKPOINT_URGENT_CHANGES: usize = 20 * CHECKPOINT_MIN_CHANGES;

/// An index and its progress.
struct IndexWorker {
    index: Arc<dyn DerivedIndex>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    phase: Phase,
    /// The last transaction in the records, which the index must reach. Until then it ignores what the committer
    /// feeds and reads it from the log.
    offered: u64,
    /// Whether the index has given incomplete answers since the store was opened.
    was_lagging: bool,
}

/// An index that replays a long part of the log.
#[derive(Debug, thiserror::Error)]
#[error("it is still being built, so results may be incomplete")]
struct StillLagging;

impl From<StillLagging> for Error {
    fn from(error: StillLagging) -> Error {
        Error::unavailable(error.to_string())
    }
}

/// The phase of an index.
enum Phase {
    /// Loads its saved state. Readers wait, and so does the log: the state may reflect transactions that were cut off
    /// the log, and must then be discarded before the log reaches that length again.
    Loading,
    /// Replays a short part of the log. Readers wait.
    CatchingUp,
    /// Replays a long part of the log. Readers do not wait and get incomplete answers.
    Lagging,
    /// Up to date, and fed by the committer.
    Current,
    /// Failed. It is no longer fed, so that its data never has a gap.
    Failed(Error),
}

impl Phase {
    fn is_settled(&self) -> bool {
        matches!(self, Phase::Current | Phase::Failed(_))
    }
}

/// All indexes of a store.
pub(super) struct IndexWorkers {
    all: Vec<Arc<IndexWorker>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    // The number of changes since the last checkpoint.
    unsaved: Arc<AtomicUsize>,
    // The indexes have weak references to it.
    _sources: Arc<CatchUpSources>,
}

impl IndexWorkers {
    /// Starts bringing indexes up to transaction `last`, the end of the log. `unsaved` is the number of changes that
    /// are not in any checkpoint.
    pub(super) fn start(
        all: Vec<Arc<dyn DerivedIndex>>,
        sources: &Arc<CatchUpSources>,
        last: u64,
        unsaved: usize,
    ) -> Result<IndexWorkers> {
        let new_worker = |index| {
            let progress = Mutex::new(Progress { phase: Phase::Loading, offered: last, was_lagging: false });
            Arc::new(IndexWorker { index, progress, changed: Condvar::new() })
        };
        let workers = IndexWorkers {
            all: all.into_iter().map(new_worker).collect(),
            threads: Mutex::default(),
            unsaved: Arc::new(AtomicUsize::new(unsaved)),
            _sources: sources.clone(),
        };
        for worker in &workers.all {
            let source: Arc<dyn TenantSource> = sources.clone();
            worker.index.connect(Arc::downgrade(&source));
        }
        for worker in &workers.all {
            let (sources, unsaved) = (sources.clone(), workers.unsaved.clone());
            let (worker, name) = (worker.clone(), worker.index.name());
            let thread = watchdog::spawn(name, move || {
                worker.catch_up(&sources, &unsaved);
            })?;
            workers.threads.lock().push(thread);
        }
        Ok(workers)
    }

    /// The indexes.
    pub(super) fn indexes(&self) -> impl Iterator<Item = &Arc<dyn DerivedIndex>> {
        self.all.iter().map(|worker| &worker.index)
    }

    /// The names of the indexes whose answers for a tenant are older than the view, each with the reason. For the
    /// default tenant, an index is included if its answers for any tenant are older.
    pub(super) fn lagging(&self, tenant: Tenant) -> Vec<(&'static str, Error)> {
        let why = |worker: &Arc<IndexWorker>| {
            let error = match &worker.progress.lock().phase {
                Phase::Loading | Phase::CatchingUp | Phase::Current => worker.index.load_failure(tenant)?,
                Phase::Lagging => StillLagging.into(),
                Phase::Failed(error) => error.clone(),
            };
            Some((worker.index.name(), error))
        };
        self.all.iter().filter_map(why).collect()
    }

    /// The number of transactions up to `seq` that each index's answers do not reflect.
    pub(super) fn lags(&self, seq: u64) -> Vec<(&'static str, u64)> {
        let missing = |worker: &Arc<IndexWorker>| match worker.progress.lock().phase {
            // Readers of this index wait, so no answer is outdated.
            Phase::Loading | Phase::CatchingUp => 0,
            _ => seq.saturating_sub(worker.index.applied()),
        };
        self.all.iter().map(|worker| (worker.index.name(), missing(worker))).collect()
    }

    /// The number of indexes that have given incomplete answers since the open and have caught up.
    pub(super) fn completed(&self) -> usize {
        let completed = |worker: &&Arc<IndexWorker>| {
            let progress = worker.progress.lock();
            progress.was_lagging && matches!(progress.phase, Phase::Current)
        };
        self.all.iter().filter(completed).count()
    }

    /// Waits until every index has loaded its saved state.
    pub(super) fn wait_loaded(&self) {
        self.wait_while(|phase| matches!(phase, Phase::Loading));
    }

    /// Waits until every index has caught up or failed.
    pub(super) fn settle(&self) {
        self.wait_while(|phase| !phase.is_settled());
    }

    fn wait_while(&self, must_wait: impl Fn(&Phase) -> bool) {
        for worker in &self.all {
            worker.changed.wait_while(&mut worker.progress.lock(), |progress| must_wait(&progress.phase));
        }
    }

    /// Feeds a transaction to all indexes that are up to date. The records must already contain it.
    pub(super) fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) {
        self.add_unsaved(count_changes(deltas));
        for worker in &self.all {
            worker.offer(seq, tenant, deltas);
        }
    }

    /// The number of changes since the last checkpoint.
    pub(super) fn unsaved(&self) -> usize {
        let unsaved = self.unsaved.load(Ordering::Relaxed);
        // The damaged file of a tenant is found when its data is loaded.
        let is_damaged = self.all.iter().any(|worker| worker.index.has_damaged_file());
        if is_damaged { unsaved.max(CHECKPOINT_MIN_CHANGES) } else { unsaved }
    }

    /// Loads the data of a tenant that indexes do not have in memory.
    pub(super) fn prepare(&self, tenant: Tenant) {
        if !tenant.is_default() {
            self.all.iter().for_each(|worker| worker.index.prepare(tenant));
        }
    }

    /// The data of single tenants in memory, of all indexes.
    pub(super) fn loaded(&self) -> Vec<LoadedIndex> {
        self.all.iter().flat_map(|worker| worker.index.loaded()).collect()
    }

    /// The number of times that data of a tenant was loaded, by all indexes.
    pub(super) fn loads(&self) -> u64 {
        self.all.iter().map(|worker| worker.index.loads()).sum()
    }

    /// Unloads the data of a tenant. Returns whether no index has it any more. An index that is not up to date
    /// keeps its data, because what it would save may be incomplete.
    pub(super) fn unload(&self, tenant: Tenant, _: &SyncedLog<'_>) -> Result<bool> {
        let mut is_unloaded = true;
        for worker in &self.all {
            let is_current = matches!(worker.progress.lock().phase, Phase::Current);
            is_unloaded &= is_current && worker.index.unload(tenant)?;
        }
        Ok(is_unloaded)
    }

    /// Returns the number of changes since the last checkpoint and resets it to 0.
    pub(super) fn take_unsaved(&self) -> usize {
        self.unsaved.swap(0, Ordering::Relaxed)
    }

    /// Adds a number of changes that are not in any checkpoint.
    pub(super) fn add_unsaved(&self, changes: usize) {
        self.unsaved.fetch_add(changes, Ordering::Relaxed);
    }

    /// Whether every index has caught up or failed.
    pub(super) fn is_settled(&self) -> bool {
        self.all.iter().all(|worker| worker.progress.lock().phase.is_settled())
    }

    /// Discards what indexes still have of deleted and replaced content. Those that have failed discard everything,
    /// because they do not know what was deleted since, and the next open feeds them again.
    pub(super) fn discard_deleted(&self, _: &SyncedLog<'_>) -> Result<()> {
        let discard = |worker: &Arc<IndexWorker>| {
            let has_failed = matches!(worker.progress.lock().phase, Phase::Failed(_));
            if has_failed { worker.index.reset() } else { worker.index.discard_deleted() }
        };
        let results: Vec<_> = self.all.iter().map(discard).collect();
        results.into_iter().collect()
    }

    /// Saves the indexes that are up to date. The others keep their last saved state.
    pub(super) fn checkpoint(&self, _: &SyncedLog<'_>) -> Result<()> {
        let is_current = |worker: &&Arc<IndexWorker>| matches!(worker.progress.lock().phase, Phase::Current);
        let current: Vec<_> = self.all.iter().filter(is_current).collect();
        let results: Vec<_> = current.iter().map(|worker| worker.index.checkpoint()).collect();
        results.into_iter().collect()
    }

    /// Waits until no index is catching up, so that the next open need not start from the beginning.
    pub(super) fn finish(&self) {
        for thread in self.threads.lock().drain(..) {
            // The thread catches its own panics.
            let _ = thread.join();
        }
    }
}

impl Drop for IndexWorkers {
    fn drop(&mut self) {
        self.finish();
    }
}

impl IndexWorker {
    /// Brings the index up to the last transaction, from which on the committer feeds it.
    fn catch_up(&self, sources: &CatchUpSources, unsaved: &AtomicUsize) {
        let result = watchdog::catch_panic(|| {
            let index = self.index.as_ref();
            let mut target = self.progress.lock().offered;
            if let Some(usable) = &sources.usable {
                index.load_read_only(usable.clone());
            } else {
                index.load(target)?;
                if index.has_damaged_file() {
                    unsaved.fetch_max(CHECKPOINT_MIN_CHANGES, Ordering::Relaxed);
                }
                let base = sources.log.base_seq();
                if index.applied() > target || (1..base).contains(&index.applied()) {
                    index.reset()?;
                }
            }
            index.admit();
            let lacking = catch_up::lacking(index, sources);
            if catch_up::is_long(index, sources, &lacking) {
                self.progress.lock().was_lagging = true;
                self.enter(Phase::Lagging);
                index.release();
            } else {
                self.enter(Phase::CatchingUp);
            }
            let mut replayed = catch_up::feed(index, sources, &lacking, target)?;
            loop {
                replayed += catch_up::replay_into(index, sources, target)?;
                unsaved.fetch_max(replayed, Ordering::Relaxed);
                let mut progress = self.progress.lock();
                if progress.offered == target {
                    progress.phase = Phase::Current;
                    return Ok(());
                }
                target = progress.offered;
            }
        });
        if let Err(error) = result {
            tracing::error!("the index `{}` cannot catch up: {error}", self.index.name());
            self.enter(Phase::Failed(error));
        }
        self.changed.notify_all();
        self.index.release();
    }

    /// Applies a transaction if the index is up to date. Otherwise the thread that catches up reads it from the log.
    fn offer(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) {
        {
            let mut progress = self.progress.lock();
            progress.offered = seq;
            if !matches!(progress.phase, Phase::Current) || self.index.applied() >= seq {
                return;
            }
        }
        // The lock is not held here, because every answer needs it to check its freshness. Once an index is up to
        // date, only the committer feeds it and changes its phase.
        if let Err(error) = watchdog::catch_panic(|| self.index.apply(seq, tenant, deltas)) {
            tracing::error!("the index `{}` fell behind at transaction {seq}: {error}", self.index.name());
            self.enter(Phase::Failed(error));
        }
    }

    /// Changes the phase and wakes the threads that wait for it.
    fn enter(&self, phase: Phase) {
        self.progress.lock().phase = phase;
        self.changed.notify_all();
    }
}
