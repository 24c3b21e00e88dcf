//! What is counted of each agent: what became of its runs, what they took, and how it stands.

use crate::shared::Shared;
use poc_agent::{ledger, proposal, selection};
use poc_graph::error::Result;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Agent {
    agent: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    agent: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tokens {
    agent: String,
    /// `read` or `written`.
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Standing {
    agent: String,
    state: &'static str,
}

/// Read anew for every answer, from what the store keeps: it goes on after a restart.
#[derive(Default)]
pub(super) struct Agents {
    runs: Family<Ended, Counter>,
    tokens: Family<Tokens, Counter>,
    cost: Family<Agent, Counter<f64, AtomicU64>>,
    standing: Family<Standing, Gauge>,
    failures: Family<Agent, Gauge>,
    backlog: Family<Agent, Gauge>,
    proposals: Gauge,
}

impl Agents {
    pub(super) fn register(&self, registry: &mut Registry) {
        let ended = "Runs of an agent, and slots that came to none, by how they ended";
        registry.register("agent_runs", ended, self.runs.clone());
        registry.register("agent_tokens", "Tokens its models read and wrote", self.tokens.clone());
        registry.register("agent_cost_dollars", "US dollars its models took", self.cost.clone());
        registry.register("agent_state", "1 for how the agent stands", self.standing.clone());
        let failures = "Runs that failed one after the other, up to now";
        registry.register("agent_failures_in_a_row", failures, self.failures.clone());
        registry.register("agent_backlog", "Notes it would look at now", self.backlog.clone());
        registry.register("proposals", "Actions that wait for a person", self.proposals.clone());
    }

    pub(super) fn read(&self, shared: &Shared) -> Result<()> {
        let (memory, catalog) = (&shared.memory, shared.catalog.load_full());
        let now = memory.now();
        self.clear();
        self.proposals.set(proposal::proposals(memory, None)?.len() as i64);
        for agent in ledger::agents(memory)? {
            let state = ledger::state(memory, &agent)?;
            let totals = state.totals();
            for (status, count) in totals.ended() {
                let ended = Ended { agent: agent.clone(), status: status.name() };
                self.runs.get_or_create(&ended).inc_by(count);
            }
            for (direction, count) in [("read", totals.tokens_in), ("written", totals.tokens_out)] {
                self.tokens.get_or_create(&Tokens { agent: agent.clone(), direction }).inc_by(count);
            }
            self.cost.get_or_create(&Agent { agent }).inc_by(totals.cost);
        }
        for (name, entry) in &catalog.agents {
            let (agent, state) = (Agent { agent: name.clone() }, ledger::state(memory, name)?);
            let standing = entry.standing(entry.paused(&state, now).as_ref());
            self.standing.get_or_create(&Standing { agent: name.clone(), state: standing }).set(1);
            self.failures.get_or_create(&agent).set(i64::from(state.failures()));
            let backlog = entry
                .definition
                .as_deref()
                .and_then(|definition| selection::backlog_at_hand(memory, definition));
            if let Some(backlog) = backlog {
                self.backlog.get_or_create(&agent).set(backlog as i64);
            }
        }
        Ok(())
    }

    fn clear(&self) {
        self.runs.clear();
        self.tokens.clear();
        self.cost.clear();
        self.standing.clear();
        self.failures.clear();
        self.backlog.clear();
    }
}
