//! Rows of runs and occurrences, as the store keeps them.

mod cause;
mod change_progress;
mod key;
mod reservation;
mod rows;
mod settled_slots;
mod state;
mod status;
mod stored_versions;
mod totals;
mod trigger;

pub use change_progress::ChangeProgress;
pub use reservation::{Account, BudgetDays, account, record_child_process, reserve};
pub use rows::{
    RowOutcome, abandon, agents, book_cost, claim, claim_for, close, find, interrupt_others, record_unrun,
    record_unrun_slots, rows, running, running_since, set_change_mark, update_state, with_current_status,
};
pub(super) use rows::{end, expect_running, get};
pub(crate) use rows::{put_reviewed, row};
pub use state::{AgentState, LastRun, Pause, PendingRerun, state};
pub use status::{Reason, Status};
pub use totals::Totals;
pub use trigger::{Trigger, TriggerKind};

use super::cost::CallCost;
use super::definition::{ActionKind, Mode};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId};
use poc_notes::Memory;
use poc_store::{Record, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

// Variants are stored by their place: a new one goes to the end, none ever goes away.

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionState {
    /// It changed the graph.
    Applied,
    /// It was not done, for the row's reason.
    Refused,
    /// It waits for a person.
    Proposed,
    /// A person did not want it.
    Rejected,
    /// It waited until what it was about had changed.
    Stale,
    /// It was applied and taken back.
    Undone,
}

/// One answer of a model, as far as it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The name, in the settings, of the model that answered.
    pub model: String,
    /// Tokens read.
    pub tokens_in: Option<u64>,
    /// Tokens written.
    pub tokens_out: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
    /// Whether the provider told nothing and these are what it may have been at most.
    pub estimated: bool,
}

/// One action of a run and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Which; `None` in rows of before it was kept.
    pub kind: Option<ActionKind>,
    /// In words, with keys in place of handles.
    pub summary: String,
    /// Why, in the model's words.
    pub why: String,
    /// What became of it.
    pub state: ActionState,
    /// The stable reason it was rejected for.
    pub rejected: Option<String>,
    /// What the rejection is about, in words.
    pub detail: Option<String>,
    /// Sequence number of the transaction that applied it.
    pub seq: Option<u64>,
    /// The writes of that transaction that are this action's, as a range of positions.
    pub writes: (u32, u32),
}

impl ActionRecord {
    /// Whether it changed the graph, also when that was taken back.
    pub fn applied(&self) -> bool {
        matches!(self.state, ActionState::Applied | ActionState::Undone)
    }

    /// Whether it was taken back.
    pub fn undone(&self) -> bool {
        self.state == ActionState::Undone
    }
}

/// One run, or one occurrence that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The agent.
    pub agent: String,
    /// What made it run.
    pub trigger: TriggerKind,
    /// The slot it is for, or when it was due; `None` when asked for by a person.
    pub scheduled_at: Option<Timestamp>,
    /// The failed run it repeats.
    pub rerun_of: Option<RunId>,
    /// The boot of the process that runs it.
    pub boot: String,
    /// When it was claimed.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How it ended.
    pub status: Status,
    /// Why it was skipped, or what it failed for when that has a stable name.
    pub reason: Option<Reason>,
    /// What went wrong, in words.
    pub message: Option<String>,
    /// Sequence number of the transaction that applied its actions.
    pub seq: Option<u64>,
    /// Fingerprint of the definition it ran.
    pub fingerprint: String,
    /// What was to happen to its actions; `None` when it came to nothing before that was known.
    pub mode: Option<Mode>,
    /// The model's name in the settings.
    pub model: String,
    /// Values it was given for the parameters of its pipeline.
    pub set: BTreeMap<String, String>,
    /// The nodes it read and their versions.
    pub selected: Vec<(NodeId, u32)>,
    /// Nodes whose visit it recorded.
    pub visited: Vec<NodeId>,
    /// What the model said about its reply as a whole.
    pub notes: String,
    /// Its actions; of refused ones the first.
    pub actions: Vec<ActionRecord>,
    /// The writes of its transaction that moved nodes along the replay ladder, as a range of
    /// positions.
    pub replays: (u32, u32),
    /// Tokens read, of all calls.
    pub tokens_in: Option<u64>,
    /// Tokens written, of all calls.
    pub tokens_out: Option<u64>,
    /// US dollars, of all calls.
    pub cost: Option<f64>,
    /// The calls one by one; none in rows of before they were kept.
    pub calls: Vec<Call>,
    /// Actions that were refused as well, beyond those kept.
    pub left_out: u32,
}

/// One slot of one agent, or one failed run that is repeated: its key in the store is what makes it run once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The row with the outcome.
    pub run: RunId,
}

impl Record for Occurrence {
    const TABLE: Table = Table::Occurrences;
}

impl Run {
    /// A row in progress, claimed now by this process.
    pub fn claimed(memory: &Memory, agent: &str, scheduled_at: Option<Timestamp>) -> Run {
        let row = Run::new(memory.new_run_id(), agent, scheduled_at, memory.now());
        Run { boot: memory.boot.clone(), ..row }
    }

    /// As [`Run::claimed`], for a trigger.
    pub fn due(memory: &Memory, agent: &str, trigger: Trigger) -> Run {
        let row = Run::claimed(memory, agent, trigger.due());
        let rerun_of = match trigger {
            Trigger::Rerun { run, .. } => Some(run),
            Trigger::Manual | Trigger::Slot(_) | Trigger::Change { .. } => None,
        };
        Run { trigger: trigger.kind(), rerun_of, ..row }
    }

    /// A row in progress, of no process yet.
    pub(super) fn new(id: RunId, agent: &str, scheduled_at: Option<Timestamp>, started: Timestamp) -> Run {
        Run {
            id,
            agent: agent.to_owned(),
            trigger: if scheduled_at.is_some() { TriggerKind::Schedule } else { TriggerKind::Manual },
            scheduled_at,
            rerun_of: None,
            boot: String::new(),
            started,
            finished: None,
            status: Status::Running,
            reason: None,
            message: None,
            seq: None,
            fingerprint: String::new(),
            mode: None,
            model: String::new(),
            set: BTreeMap::new(),
            selected: Vec::new(),
            visited: Vec::new(),
            notes: String::new(),
            actions: Vec::new(),
            replays: (0, 0),
            tokens_in: None,
            tokens_out: None,
            cost: None,
            calls: Vec::new(),
            left_out: 0,
        }
    }

    /// The slot of its schedule it is for.
    pub fn slot(&self) -> Option<Timestamp> {
        self.scheduled_at.filter(|_| self.trigger == TriggerKind::Schedule)
    }

    /// Counts what an answer took. What cannot be a number of dollars counts as not told.
    pub fn add_call(&mut self, call: Call) {
        let call = Call { cost: call.cost.and_then(CallCost::dollars), ..call };
        fn sum(so_far: Option<u64>, more: Option<u64>) -> Option<u64> {
            match (so_far, more) {
                (Some(so_far), Some(more)) => Some(so_far.saturating_add(more)),
                (one, other) => one.or(other),
            }
        }
        self.tokens_in = sum(self.tokens_in, call.tokens_in);
        self.tokens_out = sum(self.tokens_out, call.tokens_out);
        self.cost = self.cost.map_or(call.cost, |cost| Some(cost + call.cost.unwrap_or(0.0)));
        self.calls.push(call);
    }

    /// The row's key: agent, NUL, id, so that the rows of an agent stand together, oldest first.
    pub fn key(&self) -> Vec<u8> {
        key::run_key(&self.agent, self.id)
    }

    /// Whether it asked for something, and none of it was permitted.
    pub fn is_all_refused(&self) -> bool {
        let refused = |action: &ActionRecord| action.state == ActionState::Refused;
        !self.actions.is_empty() && self.actions.iter().all(refused)
    }

    /// Actions that changed the graph.
    pub fn applied(&self) -> impl Iterator<Item = &ActionRecord> {
        self.actions.iter().filter(|action| action.applied())
    }

    /// Ends it.
    pub fn finish(&mut self, memory: &Memory, status: Status, reason: Option<Reason>) {
        (self.status, self.reason, self.finished) = (status, reason, Some(memory.now()));
    }
}
