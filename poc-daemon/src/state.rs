//! The state that the tasks of the daemon share: the memory, the agents, the pools, and the request to stop.

use crate::capture_failures::CaptureFailures;
use crate::metrics::Metrics;
use crate::pools::Pools;
use crate::reconcile::Reconciler;
use crate::sessions::Sessions;
use crate::transcript_queue::TranscriptQueue;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use poc_agent::Catalog;
use poc_agent::model::ModelRegistry;
use poc_agent::run_limiter::RunLimiter;
use poc_config::Config;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_notes::vault::{BoundTenants, VaultBinding};
use poc_store::CompactionCallbacks;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The state of one running daemon.
pub(crate) struct DaemonState {
    /// The open memory. This process holds the lock of its store.
    pub(crate) memory: Memory,
    /// The settings in effect. Those that requests read change while the daemon runs.
    pub(crate) settings: ArcSwap<Config>,
    /// The agents as last loaded. A reload replaces the whole catalog.
    pub(crate) catalog: ArcSwap<Catalog>,
    /// When the daemon started.
    pub(crate) started: Timestamp,
    /// When agents were last reloaded.
    pub(crate) reloaded: Mutex<Option<Timestamp>>,
    /// Unconfirmed errors of earlier scans of the agents' files.
    pub(crate) reconciler: Mutex<Reconciler>,
    /// Wakes the scheduler: on its heartbeat, or when agents changed.
    pub(crate) wake: Arc<Notify>,
    /// Cancels the model calls of every run.
    pub(crate) calls: CancellationToken,
    /// The models, loaded once for the whole process.
    pub(crate) models: ModelRegistry,
    /// Limits how many agents run at the same time.
    pub(crate) run_limiter: RunLimiter,
    /// Stops the requests that are still computing when the daemon stops.
    pub(crate) cancellation: CancellationToken,
    /// The pools for blocking work.
    pub(crate) pools: Pools,
    /// The transcripts that hooks have named.
    pub(crate) transcripts: TranscriptQueue,
    /// The transcripts that were not captured completely.
    pub(crate) capture_failures: CaptureFailures,
    /// Wakes the task that synchronises vaults: one was bound or unbound.
    pub(crate) vaults: Notify,
    /// The tenants that have vaults.
    pub(crate) bound_tenants: BoundTenants,
    /// The vaults of all tenants at the last look at them.
    pub(crate) bound_vaults: Mutex<Vec<VaultBinding>>,
    /// The metrics of this process.
    pub(crate) metrics: Metrics,
    /// The address of the HTTP server, once it listens.
    pub(crate) http: OnceLock<SocketAddr>,
    /// The browsers that are signed in to the page.
    pub(crate) sessions: Sessions,
    /// An address that was bound for the page after the start, until the HTTP server takes it.
    pub(crate) late_listener: Mutex<Option<TcpListener>>,
    /// Wakes the HTTP server, which then takes `late_listener`.
    pub(crate) listen: Notify,
    /// Whether the last daemon of this memory ended without closing it.
    pub(crate) follows_unclean_end: AtomicBool,
    stopping: watch::Sender<bool>,
    /// Whether the program starts again after it has stopped.
    restarting: AtomicBool,
    /// The first failure of a task, which stops the daemon.
    task_failure: OnceLock<Error>,
    abandoning: watch::Sender<bool>,
}

/// What the log and the status say if the last daemon of a memory ended without closing it.
pub(crate) const UNCLEAN_END: &str = "the last daemon was killed, or its machine stopped, before it had closed the memory: \
     what it had not saved elsewhere was read from the log";

/// How long requests may continue after the daemon is asked to stop.
const REQUEST_GRACE: Duration = Duration::from_secs(1);

/// How long the daemon then waits for interrupted requests to end.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(2);

impl DaemonState {
    /// The state of a daemon that has just started on an open memory.
    pub(crate) fn new(memory: Memory, catalog: Catalog) -> DaemonState {
        let started = memory.now();
        DaemonState {
            started,
            settings: ArcSwap::new(memory.config.clone()),
            catalog: ArcSwap::from_pointee(catalog),
            reloaded: Mutex::new(Some(started)),
            reconciler: Mutex::default(),
            wake: Arc::new(Notify::new()),
            calls: CancellationToken::new(),
            models: poc_models::registry(),
            run_limiter: RunLimiter::default(),
            cancellation: CancellationToken::default(),
            pools: Pools::new(&memory.config),
            transcripts: TranscriptQueue::default(),
            capture_failures: CaptureFailures::default(),
            vaults: Notify::new(),
            bound_tenants: BoundTenants::default(),
            bound_vaults: Mutex::default(),
            metrics: Metrics::new(),
            http: OnceLock::new(),
            sessions: Sessions::load(memory.paths.page_sessions()),
            late_listener: Mutex::default(),
            listen: Notify::new(),
            follows_unclean_end: AtomicBool::default(),
            stopping: watch::Sender::new(false),
            restarting: AtomicBool::default(),
            task_failure: OnceLock::new(),
            abandoning: watch::Sender::new(false),
            memory,
        }
    }

    /// What was found when the memory was opened: damage that was repaired, and an unclean end of the last daemon.
    pub(crate) fn recovered(&self) -> Vec<String> {
        let is_unclean = self.follows_unclean_end.load(Ordering::Relaxed);
        let unclean = is_unclean.then(|| UNCLEAN_END.to_owned());
        unclean.into_iter().chain(self.memory.store.recovery().lines()).collect()
    }

    /// The memory with the settings in effect, if they have changed since the start.
    pub(crate) fn memory_in_effect(&self) -> Option<Memory> {
        let config = self.settings.load_full();
        if Arc::ptr_eq(&config, &self.memory.config) {
            return None;
        }
        let mut memory = self.memory.clone();
        memory.config = config;
        Some(memory)
    }

    /// The memory with the settings in effect, for work that begins now.
    pub(crate) fn memory_now(&self) -> Memory {
        self.memory_in_effect().unwrap_or_else(|| self.memory.clone())
    }

    /// Asks every task to finish its current work and to end.
    pub(crate) fn stop(&self) {
        self.stopping.send_modify(|stopping| {
            self.restarting.store(false, Ordering::Relaxed);
            *stopping = true;
        });
    }

    /// Like [`DaemonState::stop`], because a task has failed.
    pub(crate) fn stop_after_failure(&self, failure: Error) {
        // The first failure is the cause of the others.
        let _ = self.task_failure.set(failure);
        self.stop();
    }

    /// Fails if a task has failed.
    ///
    /// # Errors
    /// The first failure of a task.
    pub(crate) fn check_tasks(&self) -> Result<()> {
        self.task_failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Like [`DaemonState::stop`], but the program starts again, unless it is asked to stop before or in the meantime.
    pub(crate) fn restart(&self) {
        self.stopping.send_modify(|stopping| {
            self.restarting.store(!*stopping, Ordering::Relaxed);
            *stopping = true;
        });
    }

    /// Whether the program starts again after it has stopped.
    pub(crate) fn is_restarting(&self) -> bool {
        self.restarting.load(Ordering::Relaxed)
    }

    /// Whether the daemon is stopping. If so, no new work may start.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Fails when the daemon is stopping. Long work calls this to end early.
    ///
    /// # Errors
    /// `unavailable`.
    pub(crate) fn check_running(&self) -> Result<()> {
        match self.is_stopping() {
            true => Err(Error::unavailable("the daemon is stopping")),
            false => Ok(()),
        }
    }

    /// Does work on the store that reports no progress and ends early when the daemon is stopping.
    ///
    /// # Errors
    /// Those of the work, and `unavailable` when the daemon is stopping.
    pub(crate) fn with_compaction_callbacks<T>(
        &self,
        work: impl FnOnce(&CompactionCallbacks<'_>) -> Result<T>,
    ) -> Result<T> {
        work(&CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| self.check_running() })
    }

    /// Does work on the background pool. If it fails, logs the error after `failure`, and returns `None`.
    pub(crate) async fn in_background<T: Send + 'static>(
        self: &Arc<Self>,
        failure: &'static str,
        work: impl FnOnce(&DaemonState) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        let state = self.clone();
        match self.pools.background.run(move || work(&state)).await {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => tracing::warn!("{failure}: {error}"),
            Err(error) => tracing::error!("{failure}: {error}"),
        }
        None
    }

    /// Waits until the daemon is asked to stop, then for the grace period; interrupts the remaining requests,
    /// and abandons those that do not end.
    pub(crate) async fn end_requests(&self) {
        self.stopped().await;
        tokio::time::sleep(REQUEST_GRACE).await;
        self.cancellation.cancel();
        tokio::time::sleep(INTERRUPT_TIMEOUT).await;
        self.abandoning.send_replace(true);
    }

    /// Waits until the daemon abandons the remaining requests.
    pub(crate) async fn abandoned(&self) {
        let _ = self.abandoning.subscribe().wait_for(|abandoning| *abandoning).await;
    }

    /// Waits until the daemon is asked to stop.
    pub(crate) async fn stopped(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}
