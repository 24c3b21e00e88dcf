//! Metrics of each agent: its runs, their cost, and its state.

use poc_agent::model::ModelRegistry;
use poc_agent::{Catalog, ledger, proposal, tenant_rotation};
use poc_graph::error::Result;
use poc_notes::Memory;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabels {
    agent: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    agent: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    agent: String,
    /// `read` or `written`.
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    agent: String,
    state: &'static str,
}

/// Values that are read from the store for each response, so they survive a restart of the daemon.
#[derive(Default)]
pub(super) struct AgentMetrics {
    runs: Family<RunLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<AgentLabels, Counter<f64, AtomicU64>>,
    states: Family<StateLabels, Gauge>,
    failures: Family<AgentLabels, Gauge>,
    backlog: Family<AgentLabels, Gauge>,
    proposals: Gauge,
}

impl AgentMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let runs = "Runs of an agent by status, including slots that were skipped";
        registry.register("agent_runs", runs, self.runs.clone());
        registry.register("agent_tokens", "Tokens its models read and wrote", self.tokens.clone());
        registry.register("agent_cost_dollars", "Cost of its models in US dollars", self.cost.clone());
        registry.register("agent_state", "1 for the current state of the agent", self.states.clone());
        let failures = "Failed runs since the last run that succeeded";
        registry.register("agent_failures_in_a_row", failures, self.failures.clone());
        registry.register("agent_backlog", "Notes that an agent has still to read", self.backlog.clone());
        registry.register("proposals", "Actions that wait for approval", self.proposals.clone());
    }

    pub(super) fn read(&self, memory: &Memory, catalog: &Catalog, models: &ModelRegistry) -> Result<()> {
        let now = memory.now();
        self.clear();
        self.proposals.set(proposal::proposals(memory, None)?.len() as i64);
        for agent in ledger::agents(memory)? {
            let state = ledger::state(memory, &agent)?;
            let totals = state.totals();
            for (status, count) in totals.ended() {
                let labels = RunLabels { agent: agent.clone(), status: status.name() };
                self.runs.get_or_create(&labels).inc_by(count);
            }
            for (direction, count) in [("read", totals.tokens_in), ("written", totals.tokens_out)] {
                let labels = TokenLabels { agent: agent.clone(), direction };
                self.tokens.get_or_create(&labels).inc_by(count);
            }
            self.cost.get_or_create(&AgentLabels { agent }).inc_by(totals.cost);
        }
        for (name, entry) in &catalog.agents {
            let (agent, state) = (AgentLabels { agent: name.clone() }, ledger::state(memory, name)?);
            let obstacle = entry.obstacle(&memory.config, models, now);
            let status = entry.status(entry.paused(&state, now).as_ref(), obstacle.as_deref());
            let labels = StateLabels { agent: name.clone(), state: status.name() };
            self.states.get_or_create(&labels).set(1);
            self.failures.get_or_create(&agent).set(i64::from(state.failures()));
            let backlog = |definition| tenant_rotation::backlog_of_scan(memory, definition);
            let backlog = entry.definition.as_deref().map(backlog).transpose()?;
            if let Some(backlog) = backlog.flatten() {
                self.backlog.get_or_create(&agent).set(backlog as i64);
            }
        }
        Ok(())
    }

    fn clear(&self) {
        self.runs.clear();
        self.tokens.clear();
        self.cost.clear();
        self.states.clear();
        self.failures.clear();
        self.backlog.clear();
    }
}
