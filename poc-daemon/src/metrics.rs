//! What the daemon counts, in the text format of Prometheus.

use crate::shared::Shared;
use parking_lot::Mutex;
use poc_memory::agent::ledger;
use poc_memory::error::{Error, Result};
use poc_memory::memory::freshness;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
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
struct RunStatus {
    status: &'static str,
}

/// The counters, and the gauges that are read when somebody looks.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Called, Counter>,
    seconds: Family<Timed, Histogram>,
    rest: Family<HttpStatus, Counter>,
    now: Mutex<Now>,
}

/// Read anew for every answer; under a lock, so that two answers do not mix.
#[derive(Default)]
struct Now {
    nodes: Gauge,
    edges: Gauge,
    lag: Gauge,
    degraded: Gauge,
    runs: Family<RunStatus, Gauge>,
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
        let now = Now::default();
        registry.register("op_calls", "Calls of ops by how they ended", calls.clone());
        registry.register("op_seconds", "How long ops took", seconds.clone());
        registry.register("rest_answers", "Answers of REST by their status", rest.clone());
        registry.register("nodes", "Live notes", now.nodes.clone());
        registry.register("edges", "Ties between live notes", now.edges.clone());
        registry.register("index_lag", "Transactions the slowest index is behind", now.lag.clone());
        registry.register("degraded", "Things that make answers poorer", now.degraded.clone());
        registry.register("runs", "Runs of agents on record by their status", now.runs.clone());
        Metrics { registry, calls, seconds, rest, now: Mutex::new(now) }
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

    /// Everything as text. Reads the rows of runs: not for a thread that must not wait.
    pub(crate) fn text(&self, shared: &Shared) -> Result<String> {
        let view = shared.memory.store.view();
        let fresh = freshness::of(&shared.memory, &view);
        let mut runs = BTreeMap::<&str, i64>::new();
        for run in ledger::rows(&shared.memory, None, usize::MAX)? {
            *runs.entry(run.status.name()).or_default() += 1;
        }
        let tenants = shared.memory.store.tenants()?;
        let now = self.now.lock();
        now.nodes.set(tenants.iter().map(|(_, view)| view.live_count() as i64).sum());
        now.edges.set(tenants.iter().map(|(_, view)| view.edge_count() as i64).sum());
        now.lag.set(fresh.lag as i64);
        now.degraded.set(fresh.degraded.len() as i64);
        now.runs.clear();
        for (status, count) in runs {
            now.runs.get_or_create(&RunStatus { status }).set(count);
        }
        let mut text = String::new();
        text::encode(&mut text, &self.registry)
            .map_err(|error| Error::internal(format!("the metrics cannot be written: {error}")))?;
        Ok(text)
    }
}
