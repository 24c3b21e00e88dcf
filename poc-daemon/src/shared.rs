//! What the parts of the daemon share: the memory, the agents, what goes on, and the wish to stop.

use crate::metrics::Metrics;
use crate::watch::Settling;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use poc_agent::Catalog;
use poc_agent::model::{CancellationToken, ModelRegistry};
use poc_agent::run_limiter::RunLimiter;
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Notify, watch};

/// One running daemon.
pub(crate) struct Shared {
    /// The open memory; its store is locked by this process.
    pub(crate) memory: Memory,
    /// The agents as last loaded; a reload swaps it whole.
    pub(crate) catalog: ArcSwap<Catalog>,
    /// When it started.
    pub(crate) started: Timestamp,
    /// What it does now.
    pub(crate) state: Mutex<State>,
    /// What looks at the agents' files have left open.
    pub(crate) settling: Mutex<Settling>,
    /// Wakes the scheduler: its heart beats, or agents changed.
    pub(crate) wake: Arc<Notify>,
    /// Ends the model calls of every run.
    pub(crate) calls: CancellationToken,
    /// The models, for as long as it runs.
    pub(crate) models: ModelRegistry,
    /// The places for runs of agents.
    pub(crate) run_limiter: RunLimiter,
    /// What it counts.
    pub(crate) metrics: Metrics,
    /// Where it serves HTTP, once it does.
    pub(crate) http: OnceLock<SocketAddr>,
    stopping: watch::Sender<bool>,
}

/// What `daemon status` tells about the moment.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// When agents were last reloaded.
    pub(crate) reloaded: Option<Timestamp>,
}

impl Shared {
    /// A daemon that has just started on an open memory.
    pub(crate) fn new(memory: Memory, catalog: Catalog) -> Shared {
        let started = memory.now();
        Shared {
            started,
            catalog: ArcSwap::from_pointee(catalog),
            state: Mutex::new(State { reloaded: Some(started) }),
            settling: Mutex::default(),
            wake: Arc::new(Notify::new()),
            calls: CancellationToken::new(),
            models: poc_models::registry(),
            run_limiter: RunLimiter::default(),
            metrics: Metrics::new(),
            http: OnceLock::new(),
            stopping: watch::Sender::new(false),
            memory,
        }
    }

    /// Asks every part to finish what runs and end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Whether the daemon is to stop: nothing new may be begun.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the daemon is to stop.
    pub(crate) async fn stopped(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}
