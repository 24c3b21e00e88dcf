//! The ledger: rows of runs and occurrences in the store.

mod booking;
mod cause;
mod change_progress;
mod claim;
mod dead_processes;
mod key;
mod link_ends;
mod node_version;
mod recent_spending;
mod reservation;
mod row;
mod rows;
mod settled_slots;
mod state;
mod status;
mod stored_versions;
mod tenant_spending;
mod time_range;
mod totals;
mod trigger;

pub use change_progress::ChangeProgress;
pub use claim::{RowOutcome, claim, claim_for, end_run, record_slots_without_run, record_without_run};
pub use link_ends::LinkEnds;
pub use node_version::NodeVersion;
pub use recent_spending::Spending;
pub use reservation::{
    BudgetDays, DaySpending, day_spending, record_child_process, reserve, reserved_by, spent_by_all,
};
pub(super) use row::{expect_running, get};
pub(crate) use row::{row, row_before, stored_row};
pub(super) use rows::end;
pub use rows::{
    abandon, agents, agents_of, agents_to_repeat, book_cost, close, current_run, find, interrupt_orphaned,
    is_visible, rows, rows_since, rows_with_status, running, set_change_mark, update_state, visible_rows,
    with_current_status,
};
pub(crate) use rows::{for_each_since, newest, put_reviewed, set_reverted};
pub use state::{AgentState, LastRun, Pause, PendingRerun, state};
pub use status::{Status, StatusReason};
pub use tenant_spending::spending_of_tenant;
#[cfg(test)]
pub(crate) use tenant_spending::stored_tenants;
pub(crate) use time_range::TimeRange;
pub use totals::Totals;
pub use trigger::{Trigger, TriggerKind};

use super::cost::CallCost;
use super::definition::{ActionKind, Mode};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId, Tuple};
use poc_notes::Memory;
use poc_notes::diff::FieldChange;
use poc_store::{Record, Table, WriteRange};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

// Variants are stored by index: add new ones at the end and never remove any.

/// State of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionState {
    /// It changed the graph.
    Applied,
    /// It was refused, for the reason in the record.
    Refused,
    /// It waits for approval.
    Proposed,
    /// A person rejected it.
    Rejected,
    /// It was a proposal, and the notes it was about changed before approval.
    Outdated,
    /// It was applied and undone.
    Undone,
}

/// Cost of one reply of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Configured name of the model.
    pub model: String,
    /// Input tokens.
    pub tokens_in: Option<u64>,
    /// Output tokens.
    pub tokens_out: Option<u64>,
    /// Cost in US dollars.
    pub cost: Option<f64>,
    /// Whether the provider reported nothing, so that the values are estimates. For a response that did not arrive, they
    /// are upper bounds.
    pub estimated: bool,
}

/// One action of a run and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Its kind; `None` in rows of older releases.
    pub kind: Option<ActionKind>,
    /// Description with keys instead of handles.
    pub summary: String,
    /// Reason given by the model.
    pub why: String,
    /// Its state.
    pub state: ActionState,
    /// Stable code of the refusal, if it was refused.
    pub refusal_code: Option<String>,
    /// Details of the refusal.
    pub detail: Option<String>,
    /// Sequence number of the transaction that applied, undid or rejected it.
    pub seq: Option<u64>,
    /// The action's writes, as a half-open range of positions in that transaction.
    pub writes: WriteRange,
    /// In a dry run, the fields that it would change. Not stored, because the log has the changes of a run.
    #[serde(skip)]
    pub changes: Vec<FieldChange>,
}

impl ActionRecord {
    /// Whether it changed the graph, even if that was undone later.
    pub fn is_applied(&self) -> bool {
        matches!(self.state, ActionState::Applied | ActionState::Undone)
    }

    /// Whether it was undone.
    pub fn is_undone(&self) -> bool {
        self.state == ActionState::Undone
    }
}

/// The row of a run, or of an occurrence that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The agent.
    pub agent: String,
    /// What triggered the run.
    pub trigger: TriggerKind,
    /// The slot, or the time at which it was due; `None` for manual runs.
    pub scheduled_at: Option<Timestamp>,
    /// The failed run that it reruns.
    pub rerun_of: Option<RunId>,
    /// The `Memory::instance` of the process that runs it.
    pub instance: String,
    /// When it was claimed.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How it ended.
    pub status: Status,
    /// Why it was skipped, missed or failed, if that has a stable code.
    pub reason: Option<StatusReason>,
    /// Error message.
    pub message: Option<String>,
    /// Sequence number of the transaction that applied its actions.
    pub seq: Option<u64>,
    /// Fingerprint of the definition.
    pub fingerprint: String,
    /// Mode of the run; `None` when it ended before the mode was known.
    pub mode: Option<Mode>,
    /// The model's name in the settings.
    pub model: String,
    /// Parameter values of its pipeline.
    pub set: BTreeMap<String, String>,
    /// The nodes it read and their versions.
    pub selected: Vec<NodeVersion>,
    /// Nodes whose visit it recorded.
    pub visited: Vec<NodeId>,
    /// The model's notes about its reply.
    pub notes: String,
    /// Its actions; only the first refused ones are stored.
    pub actions: Vec<ActionRecord>,
    /// The writes that moved nodes to their next replay interval, as a range of positions in its transaction.
    pub replays: WriteRange,
    /// Input tokens of all calls, as far as reported.
    pub tokens_in: Option<u64>,
    /// Output tokens of all calls, as far as reported.
    pub tokens_out: Option<u64>,
    /// Cost of all calls in US dollars, as far as known.
    pub cost: Option<f64>,
    /// The individual calls; empty in rows of older releases.
    pub calls: Vec<CallRecord>,
    /// Number of further refused actions that are not stored.
    pub left_out: u32,
    /// The tenant whose notes it worked on. Rows of occurrences that were not run have the default tenant.
    pub tenant: Tuple,
    /// The nodes of each permitted action that adds a link, by the position of the action in `actions`, from 0. Empty
    /// in rows of older releases.
    pub links: BTreeMap<u16, LinkEnds>,
    /// Whether the budget of its tenant was the reason for its end, so that the agent may still run for others. Not
    /// stored, because only the process that made the run continues its slot.
    #[serde(skip)]
    pub is_over_tenant_budget: bool,
}

/// A claimed slot or rerun of an agent. Its key in the store ensures that it runs only once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The row with the outcome.
    pub run: RunId,
}

impl Record for Occurrence {
    const TABLE: Table = Table::Occurrences;
}

impl Run {
    /// A running row of this process, starting now.
    pub fn new_running(memory: &Memory, agent: &str, scheduled_at: Option<Timestamp>) -> Run {
        let row = Run::new(rows::new_id(memory), agent, scheduled_at, memory.now());
        Run { instance: memory.instance.clone(), tenant: memory.store.tuple().clone(), ..row }
    }

    /// Like [`Run::new_running`], for a trigger.
    pub fn for_trigger(memory: &Memory, agent: &str, trigger: Trigger) -> Run {
        let row = Run::new_running(memory, agent, trigger.due_at());
        let rerun_of = match trigger {
            Trigger::Rerun { run, .. } => Some(run),
            Trigger::Manual | Trigger::Slot(_) | Trigger::Change { .. } | Trigger::Batch(_) => None,
        };
        Run { trigger: trigger.kind(), rerun_of, ..row }
    }

    /// A running row without a process.
    pub(super) fn new(id: RunId, agent: &str, scheduled_at: Option<Timestamp>, started: Timestamp) -> Run {
        Run {
            id,
            agent: agent.to_owned(),
            trigger: if scheduled_at.is_some() { TriggerKind::Slot } else { TriggerKind::Manual },
            scheduled_at,
            rerun_of: None,
            instance: String::new(),
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
            replays: WriteRange::default(),
            tokens_in: None,
            tokens_out: None,
            cost: None,
            calls: Vec::new(),
            left_out: 0,
            tenant: Tuple::default(),
            links: BTreeMap::new(),
            is_over_tenant_budget: false,
        }
    }

    /// Its slot, if the schedule triggered it.
    pub fn slot(&self) -> Option<Timestamp> {
        self.scheduled_at.filter(|_| self.trigger == TriggerKind::Slot)
    }

    /// Adds a call to the totals of the row. Implausible costs count as not reported.
    pub fn add_call(&mut self, call: CallRecord) {
        let call = CallRecord { cost: call.cost.and_then(CallCost::dollars), ..call };
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

    /// Key of the row: agent, NUL, id. The rows of an agent are adjacent, oldest first.
    pub fn key(&self) -> Vec<u8> {
        key::run_key(&self.agent, self.id)
    }

    /// Whether it moved notes to their next replay interval, and that was not undone.
    pub fn has_replayed(&self) -> bool {
        self.replays.start < self.replays.end
    }

    /// Whether the cost is partly an estimate, because a model did not report its usage.
    pub fn is_cost_at_most(&self) -> bool {
        self.calls.iter().any(|call| call.estimated && call.cost.is_some_and(|cost| cost > 0.0))
    }

    /// Whether it requested actions and all of them were refused.
    pub fn is_all_refused(&self) -> bool {
        let refused = |action: &ActionRecord| action.state == ActionState::Refused;
        !self.actions.is_empty() && self.actions.iter().all(refused)
    }

    /// The nodes of the link that an action adds, given by its position in `actions`. `None` for actions of other kinds
    /// and in rows of older releases.
    pub fn link(&self, at: usize) -> Option<LinkEnds> {
        u16::try_from(at).ok().and_then(|at| self.links.get(&at).copied())
    }

    /// The links that a person rejected or undid, with their positions in `actions`. The judge undoes all links of a run,
    /// whichever of them are harmful, so these do not count.
    pub(crate) fn unwanted_links(&self) -> impl Iterator<Item = (usize, &ActionRecord)> {
        let is_reverted = self.status == Status::Reverted;
        self.actions.iter().enumerate().filter(move |(_, action)| {
            action.kind == Some(ActionKind::LinkAdd)
                && match action.state {
                    ActionState::Rejected => true,
                    ActionState::Undone => !is_reverted,
                    _ => false,
                }
        })
    }

    /// Actions that changed the graph.
    pub fn applied_actions(&self) -> impl Iterator<Item = &ActionRecord> {
        self.actions.iter().filter(|action| action.is_applied())
    }

    /// The pairs of nodes that it showed without visiting the first one, for example because the prompt had no room for
    /// all pairs of this node. None if its reply was not applied.
    pub(crate) fn shown_pairs(&self) -> impl Iterator<Item = (NodeVersion, NodeVersion)> {
        // Only runs whose reply was applied have a transaction.
        let read: &[NodeVersion] = if self.seq.is_some() { &self.selected } else { &[] };
        let visited: HashSet<NodeId> = self.visited.iter().copied().collect();
        let unvisited = read.iter().filter(move |one| !visited.contains(&one.id));
        unvisited.flat_map(move |one| {
            let others = read.iter().filter(move |other| other.id != one.id);
            others.map(move |other| (*one, *other))
        })
    }

    /// Ends the row now.
    pub fn finish(&mut self, memory: &Memory, status: Status, reason: Option<StatusReason>) {
        (self.status, self.reason, self.finished) = (status, reason, Some(memory.now()));
    }
}
