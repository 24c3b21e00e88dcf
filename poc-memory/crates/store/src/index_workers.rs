//! Runs the followers. After an open each is brought to the end of the log on a thread of its own; from
//! then on the committer feeds it.

use super::catch_up::{self, Sources};
use super::follower::Follower;
use super::watchdog;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, Tenant};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// A follower and its progress.
struct IndexWorker {
    follower: Arc<dyn Follower>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    phase: Phase,
    /// The last transaction in the records, which it must reach. It reads from the log what the committer
    /// offers while it is not current.
    offered: u64,
    /// Whether it has given incomplete answers since the open.
    was_lagging: bool,
}

/// The phase of a follower.
enum Phase {
    /// Reading back what it saved. Readers wait, and so does the log: what was saved of a log that was cut
    /// must be discarded before the log is as long again.
    Loading,
    /// Replaying a short part of the log. Readers wait.
    CatchingUp,
    /// Replaying so much that readers do not wait and get incomplete answers.
    Lagging,
    /// Fed by the committer.
    Current,
    /// It failed. It is not fed any more, so that it never has a gap.
    Failed(Error),
}

impl Phase {
    fn is_settled(&self) -> bool {
        matches!(self, Phase::Current | Phase::Failed(_))
    }
}

/// All followers of a store.
pub(super) struct IndexWorkers {
    all: Vec<Arc<IndexWorker>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    // Changes since the last checkpoint.
    unsaved: Arc<AtomicUsize>,
}

impl IndexWorkers {
    /// Starts to bring followers to transaction `last`, the end of the log. `unsaved` is the number of
    /// changes that are in no checkpoint.
    pub(super) fn start(
        all: Vec<Arc<dyn Follower>>,
        sources: &Arc<Sources>,
        last: u64,
        unsaved: usize,
    ) -> Result<IndexWorkers> {
        let new_worker = |follower| {
            let progress = Mutex::new(Progress { phase: Phase::Loading, offered: last, was_lagging: false });
            Arc::new(IndexWorker { follower, progress, changed: Condvar::new() })
        };
        let followers = IndexWorkers {
            all: all.into_iter().map(new_worker).collect(),
            threads: Mutex::default(),
            unsaved: Arc::new(AtomicUsize::new(unsaved)),
        };
        for worker in &followers.all {
            let (sources, unsaved) = (sources.clone(), followers.unsaved.clone());
            let (worker, name) = (worker.clone(), worker.follower.name());
            let thread = watchdog::spawn(name, move || {
                worker.catch_up(&sources, &unsaved);
            })?;
            followers.threads.lock().push(thread);
        }
        Ok(followers)
    }

    /// The followers.
    pub(super) fn followers(&self) -> impl Iterator<Item = &Arc<dyn Follower>> {
        self.all.iter().map(|worker| &worker.follower)
    }

    /// The followers whose answers are older than the view, and why.
    pub(super) fn lagging(&self) -> Vec<(&'static str, Error)> {
        let why = |worker: &Arc<IndexWorker>| {
            let error = match &worker.progress.lock().phase {
                Phase::Loading | Phase::CatchingUp | Phase::Current => return None,
                Phase::Lagging => Error::unavailable("it is being built and does not have everything yet"),
                Phase::Failed(error) => error.clone(),
            };
            Some((worker.follower.name(), error))
        };
        self.all.iter().filter_map(why).collect()
    }

    /// How many transactions up to `seq` are missing in the answers of each follower.
    pub(super) fn lags(&self, seq: u64) -> Vec<(&'static str, u64)> {
        let missing = |worker: &Arc<IndexWorker>| match worker.progress.lock().phase {
            // Its readers wait, so no answer lags.
            Phase::Loading | Phase::CatchingUp => 0,
            _ => seq.saturating_sub(worker.follower.applied()),
        };
        self.all.iter().map(|worker| (worker.follower.name(), missing(worker))).collect()
    }

    /// How many followers were behind and have caught up since the open.
    pub(super) fn completed(&self) -> usize {
        let completed = |worker: &&Arc<IndexWorker>| {
            let progress = worker.progress.lock();
            progress.was_lagging && matches!(progress.phase, Phase::Current)
        };
        self.all.iter().filter(completed).count()
    }

    /// Waits until every follower has read back what it saved.
    pub(super) fn wait_loaded(&self) {
        self.wait_while(|phase| matches!(phase, Phase::Loading));
    }

    /// Waits until every follower has caught up or failed.
    pub(super) fn settle(&self) {
        self.wait_while(|phase| !phase.is_settled());
    }

    fn wait_while(&self, unready: impl Fn(&Phase) -> bool) {
        for worker in &self.all {
            worker.changed.wait_while(&mut worker.progress.lock(), |progress| unready(&progress.phase));
        }
    }

    /// Feeds all followers that are current. The records already contain the transaction.
    pub(super) fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) {
        self.add_unsaved(deltas.len());
        for worker in &self.all {
            worker.offer(seq, tenant, deltas);
        }
    }

    /// Changes since the last checkpoint.
    pub(super) fn unsaved(&self) -> usize {
        self.unsaved.load(Ordering::Relaxed)
    }

    /// As [`IndexWorkers::unsaved`], and resets it to 0.
    pub(super) fn take_unsaved(&self) -> usize {
        self.unsaved.swap(0, Ordering::Relaxed)
    }

    /// Adds changes that are in no checkpoint.
    pub(super) fn add_unsaved(&self, changes: usize) {
        self.unsaved.fetch_add(changes, Ordering::Relaxed);
    }

    /// Whether every follower has caught up or failed.
    pub(super) fn is_settled(&self) -> bool {
        self.all.iter().all(|worker| worker.progress.lock().phase.is_settled())
    }

    /// Saves the followers that are current; the others keep what they saved last.
    pub(super) fn checkpoint(&self) -> Result<()> {
        let is_current = |worker: &&Arc<IndexWorker>| matches!(worker.progress.lock().phase, Phase::Current);
        let current: Vec<_> = self.all.iter().filter(is_current).collect();
        let results: Vec<_> = current.iter().map(|worker| worker.follower.checkpoint()).collect();
        results.into_iter().collect()
    }

    /// Waits until no follower is catching up, so that the next open need not start over.
    pub(super) fn finish(&self) {
        for thread in self.threads.lock().drain(..) {
            // It catches its own panics.
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
    /// Brings the follower to the last transaction and hands it to the committer.
    fn catch_up(&self, sources: &Sources, unsaved: &AtomicUsize) {
        let result = watchdog::catch_panic(|| {
            let follower = self.follower.as_ref();
            let mut target = self.progress.lock().offered;
            if !sources.read_only {
                follower.load(target)?;
                let base = sources.log.base_seq();
                if follower.applied() > target || (1..base).contains(&follower.applied()) {
                    follower.reset()?;
                }
            }
            let lacking = catch_up::lacking(follower, sources);
            if catch_up::is_long(follower, sources, &lacking) {
                self.progress.lock().was_lagging = true;
                self.enter(Phase::Lagging);
                follower.release();
            } else {
                self.enter(Phase::CatchingUp);
            }
            let mut taken = catch_up::feed(follower, sources, &lacking, target)?;
            loop {
                taken += catch_up::follower(follower, sources, target)?;
                unsaved.fetch_max(taken, Ordering::Relaxed);
                let mut progress = self.progress.lock();
                if progress.offered == target {
                    progress.phase = Phase::Current;
                    return Ok(());
                }
                target = progress.offered;
            }
        });
        if let Err(error) = result {
            tracing::error!("the index `{}` cannot catch up: {error}", self.follower.name());
            self.enter(Phase::Failed(error));
        }
        self.changed.notify_all();
        self.follower.release();
    }

    fn offer(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) {
        {
            let mut progress = self.progress.lock();
            progress.offered = seq;
            if !matches!(progress.phase, Phase::Current) || self.follower.applied() >= seq {
                return;
            }
        }
        // Without the lock, for which the freshness of every answer waits. Once a follower is current, only the
        // committer feeds it and changes its phase.
        if let Err(error) = watchdog::catch_panic(|| self.follower.apply(seq, tenant, deltas)) {
            tracing::error!("the index `{}` fell behind at transaction {seq}: {error}", self.follower.name());
            self.enter(Phase::Failed(error));
        }
    }

    fn enter(&self, phase: Phase) {
        self.progress.lock().phase = phase;
        self.changed.notify_all();
    }
}
