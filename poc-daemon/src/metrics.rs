//! What the daemon counts, in the text format of Prometheus.

mod agents;

use crate::shared::Shared;
use agents::Agents;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use poc_notes::freshness;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Duration;

/// One way a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    op: &'static str,
    surface: &'static str,
    /// `ok` or the code of the error.
    outcome: &'static str,
}

/// What is timed together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Timed {
    op: &'static str,
    surface: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpStatus {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reloaded {
    /// What became of the agent: `added`, `changed`, `mended`, `broken` or `retired`.
    change: &'static str,
}

/// The counters, and the gauges that are read when somebody looks.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Called, Counter>,
    seconds: Family<Timed, Histogram>,
    rest: Family<HttpStatus, Counter>,
    reloads: Family<Reloaded, Counter>,
    now: Mutex<Now>,
}

/// Read anew for every answer; under a lock, so that two answers do not mix.
#[derive(Default)]
struct Now {
    nodes: Gauge,
    edges: Gauge,
    lag: Gauge,
    degraded: Gauge,
    agents: Agents,
}

impl Metrics {
    /// All at nought.
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("poc_memory");
        let calls = Family::<Called, Counter>::default();
        // From 0.1 ms, by halves of a decade, to 30 s: a look-up to an agent's run.
        let seconds = Family::<Timed, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.0001, 10_f64.sqrt(), 12))
        });
        let rest = Family::<HttpStatus, Counter>::default();
        let (reloads, now) = (Family::<Reloaded, Counter>::default(), Now::default());
        registry.register("op_calls", "Calls of ops by how they ended", calls.clone());
        registry.register("op_seconds", "How long ops took", seconds.clone());
        registry.register("rest_answers", "Answers of REST by their status", rest.clone());
        registry.register("nodes", "Live notes", now.nodes.clone());
        registry.register("edges", "Ties between live notes", now.edges.clone());
        registry.register("index_lag", "Transactions the slowest index is behind", now.lag.clone());
        registry.register("degraded", "Things that make answers poorer", now.degraded.clone());
        registry.register("agent_reloads", "Files of agents that took effect or broke", reloads.clone());
        now.agents.register(&mut registry);
        Metrics { registry, calls, seconds, rest, reloads, now: Mutex::new(now) }
    }

    /// Counts a call that has ended.
    pub(crate) fn called(
        &self,
        op: &'static str,
        surface: &'static str,
        outcome: &'static str,
        took: Duration,
    ) {
        self.calls.get_or_create(&Called { op, surface, outcome }).inc();
        self.seconds.get_or_create(&Timed { op, surface }).observe(took.as_secs_f64());
    }

    /// Counts an answer of REST, also one to a request that never reached an op.
    pub(crate) fn answered(&self, status: u16) {
        self.rest.get_or_create(&HttpStatus { status }).inc();
    }

    /// Counts what became of an agent whose file was read anew.
    pub(crate) fn reloaded(&self, change: &'static str) {
        self.reloads.get_or_create(&Reloaded { change }).inc();
    }

    /// Everything as text. Reads what is known of the agents: not for a thread that must not wait.
    pub(crate) fn text(&self, shared: &Shared) -> Result<String> {
        let view = shared.memory.store.view();
        let fresh = freshness::of(&shared.memory, &view);
        let tenants = shared.memory.store.tenants()?;
        let now = self.now.lock();
        now.nodes.set(tenants.iter().map(|(_, view)| view.live_count() as i64).sum());
        now.edges.set(tenants.iter().map(|(_, view)| view.edge_count() as i64).sum());
        now.lag.set(fresh.lag as i64);
        now.degraded.set(fresh.degraded.len() as i64);
        now.agents.read(shared)?;
        let mut text = String::new();
        text::encode(&mut text, &self.registry)
            .map_err(|error| Error::internal(format!("the metrics cannot be written: {error}")))?;
        Ok(text)
    }
}
