//! The daemon's metrics in the text format of Prometheus.

mod agents;

use crate::surface::Surface;
use agents::AgentMetrics;
use parking_lot::Mutex;
use poc_agent::Catalog;
use poc_agent::model::ModelRegistry;
use poc_graph::error::{Error, Result};
use poc_notes::{Memory, answer_status};
use poc_store::Peer;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Labels of the counter of calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    op: &'static str,
    surface: &'static str,
    /// `ok` or the code of the error.
    outcome: &'static str,
}

/// Labels of the histogram of durations and of the gauge of calls in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OpLabels {
    op: &'static str,
    surface: &'static str,
}

/// Labels of the counter of REST responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: u16,
}

/// Labels of the gauge of the cause of a read-only store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReadOnlyLabels {
    /// `damage`, `disk`, `changed-log`, `log` or `failure`.
    cause: &'static str,
}

/// Labels of the gauge of the shared log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SharedLogLabels {
    /// The database and the name of the memory in it, without a password.
    address: String,
}

/// Labels of the gauge of other users of the shared log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PeerLabels {
    /// Its host and process.
    name: String,
}

/// Labels of the gauge of leases of the shared log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    /// The host and process of its holder.
    name: String,
    /// The right that only the holder has: `append` or `snapshot`.
    right: &'static str,
}

/// Labels of the counter of changes of agent files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    /// The change of the agent: `added`, `changed`, `repaired`, `broken` or `retired`.
    change: &'static str,
}

/// Counters that are updated by every call, and gauges that are read for each response.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    in_progress: Family<OpLabels, Gauge>,
    seconds: Family<OpLabels, Histogram>,
    rest: Family<StatusLabels, Counter>,
    reloads: Family<ReloadLabels, Counter>,
    gauges: Mutex<Gauges>,
}

/// Values that are read from the memory for each response. The lock prevents concurrent responses from mixing
/// values.
#[derive(Default)]
struct Gauges {
    nodes: Gauge,
    edges: Gauge,
    lag: Gauge,
    degraded: Gauge,
    read_only: Gauge,
    read_only_causes: Family<ReadOnlyLabels, Gauge>,
    shared_logs: Family<SharedLogLabels, Gauge>,
    shared_log_head: Gauge,
    shared_log_behind: Gauge,
    shared_log_peers: Family<PeerLabels, Gauge>,
    shared_log_leases: Family<LeaseLabels, Gauge>,
    shared_log_conflicts: Counter,
    agents: AgentMetrics,
}

impl Metrics {
    /// Metrics with every counter at zero.
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("poc_memory");
        let calls = Family::<CallLabels, Counter>::default();
        let in_progress = Family::<OpLabels, Gauge>::default();
        // From 0.1 ms (a lookup) to 30 s (the run of an agent), two buckets per factor of ten.
        let seconds = Family::<OpLabels, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.0001, 10_f64.sqrt(), 12))
        });
        let rest = Family::<StatusLabels, Counter>::default();
        let (reloads, gauges) = (Family::<ReloadLabels, Counter>::default(), Gauges::default());
        registry.register("op_calls", "Calls of ops by outcome", calls.clone());
        registry.register("op_calls_in_progress", "Calls of ops that have not ended", in_progress.clone());
        registry.register("op_seconds", "Duration of ops in seconds", seconds.clone());
        registry.register("rest_answers", "REST responses by status", rest.clone());
        registry.register("nodes", "Live notes", gauges.nodes.clone());
        registry.register("edges", "Edges between live notes", gauges.edges.clone());
        registry.register("index_lag", "Transactions the slowest index is behind", gauges.lag.clone());
        registry.register("degraded", "Reasons why answers may be incomplete", gauges.degraded.clone());
        registry.register(
            "read_only",
            "1 while the store does not accept writes, else 0",
            gauges.read_only.clone(),
        );
        registry.register(
            "read_only_cause",
            "1 for the reason why the store does not accept writes: its files are damaged, its disk fails writes, its log was changed, its shared log does not answer, or its writer has ended",
            gauges.read_only_causes.clone(),
        );
        let heads = [
            ("shared_log_head", "The last change in the shared log", &gauges.shared_log_head),
            (
                "shared_log_behind",
                "Changes in the shared log that answers do not show yet",
                &gauges.shared_log_behind,
            ),
        ];
        for (name, help, gauge) in heads {
            registry.register(name, help, gauge.clone());
        }
        registry.register("shared_log", "1 for the address of the shared log", gauges.shared_logs.clone());
        registry.register(
            "shared_log_peer_head",
            "The last change that another daemon or command had read when it was last seen, within a minute",
            gauges.shared_log_peers.clone(),
        );
        registry.register(
            "shared_log_lease",
            "1 while another daemon or command alone may append, or store snapshots",
            gauges.shared_log_leases.clone(),
        );
        registry.register(
            "shared_log_conflicts",
            "Appends to the shared log that lost to another writer and were retried",
            gauges.shared_log_conflicts.clone(),
        );
        registry.register("agent_reloads", "Changes of agent files by kind", reloads.clone());
        gauges.agents.register(&mut registry);
        Metrics { registry, calls, in_progress, seconds, rest, reloads, gauges: Mutex::new(gauges) }
    }

    /// Counts a call that begins. [`Metrics::count_call_end`] must follow.
    pub(crate) fn count_call_start(&self, op: &'static str, surface: Surface) {
        self.in_progress.get_or_create(&OpLabels { op, surface: surface.name() }).inc();
    }

    /// Counts a call that has ended.
    pub(crate) fn count_call_end(
        &self,
        op: &'static str,
        surface: Surface,
        outcome: &'static str,
        duration: Duration,
    ) {
        let surface = surface.name();
        self.calls.get_or_create(&CallLabels { op, surface, outcome }).inc();
        self.in_progress.get_or_create(&OpLabels { op, surface }).dec();
        self.seconds.get_or_create(&OpLabels { op, surface }).observe(duration.as_secs_f64());
    }

    /// Counts a response of REST, including responses to requests that never reached an op.
    pub(crate) fn count_answer(&self, status: u16) {
        self.rest.get_or_create(&StatusLabels { status }).inc();
    }

    /// Counts a change of an agent's file.
    pub(crate) fn count_reload(&self, change: &'static str) {
        self.reloads.get_or_create(&ReloadLabels { change }).inc();
    }

    /// All metrics as text. This reads the state of every agent from the store, and the other users of a shared log
    /// from its database unless that is known not to answer, so it may block.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn text(&self, memory: &Memory, catalog: &Catalog, models: &ModelRegistry) -> Result<String> {
        let view = memory.store.view();
        let fresh = answer_status::of(memory, &view);
        let counts = memory.store.total_counts();
        let read_only = memory.store.read_only();
        let peers = if read_only.is_none() { memory.store.peers().unwrap_or_default() } else { Vec::new() };
        let gauges = self.gauges.lock();
        gauges.nodes.set(counts.live as i64);
        gauges.edges.set(counts.edges as i64);
        gauges.lag.set(fresh.lag as i64);
        gauges.degraded.set(fresh.degraded.len() as i64);
        gauges.read_only.set(read_only.is_some().into());
        gauges.read_only_causes.clear();
        if let Some(cause) = read_only {
            gauges.read_only_causes.get_or_create(&ReadOnlyLabels { cause: cause.name() }).set(1);
        }
        if let Some(log) = memory.store.shared_log() {
            gauges.shared_log_head.set(log.head as i64);
            gauges.shared_log_behind.set(log.behind as i64);
            gauges.shared_log_conflicts.inner().store(log.conflicts, Ordering::Relaxed);
            gauges.shared_logs.get_or_create(&SharedLogLabels { address: log.address }).set(1);
        }
        gauges.shared_log_peers.clear();
        gauges.shared_log_leases.clear();
        for Peer { name, head, has_lease, has_claim, .. } in peers {
            for (right, _) in
                [("append", has_lease), ("snapshot", has_claim)].into_iter().filter(|(_, has)| *has)
            {
                let labels = LeaseLabels { name: name.clone(), right };
                gauges.shared_log_leases.get_or_create(&labels).set(1);
            }
            gauges.shared_log_peers.get_or_create(&PeerLabels { name }).set(head as i64);
        }
        gauges.agents.read(memory, catalog, models)?;
        let mut text = String::new();
        text::encode(&mut text, &self.registry)
            .map_err(|error| Error::internal(format!("the metrics cannot be encoded: {error}")))?;
        Ok(text)
    }
}
