//! Runs of one agent, one after another, until nothing is left to do.

use super::ledger::{self, ActionState, CallRecord, Run, Status, StatusReason, TriggerKind};
use super::run::{self, RunOptions, Trigger};
use super::tenant_rotation::{self, TenantWork};
use super::{Catalog, Definition};
use poc_graph::error::{Code, Result};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId, Tenant, Tuple};
use poc_notes::Memory;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// The totals of several runs of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// Number of runs that called the model.
    pub runs: u64,
    /// Number of these runs that were undone, because search then answered the confirmed questions worse.
    #[serde(default)]
    pub reverted: u64,
    /// Applied actions by kind (`link-add`).
    pub applied: BTreeMap<String, u64>,
    /// Number of actions that were applied and then undone with their runs.
    #[serde(default)]
    pub undone: u64,
    /// Number of actions that wait for approval.
    pub proposed: u64,
    /// Refused actions by reason (`already-present`).
    pub refused: BTreeMap<String, u64>,
    /// Number of refused actions beyond those that the rows of the runs list.
    pub refused_unlisted: u64,
    /// Input and output tokens of all calls, as far as reported.
    #[serde(default)]
    pub tokens: u64,
    /// Cost in US dollars of all calls whose model has a price.
    pub cost_usd: f64,
    /// Number of calls whose model has no price, without those of the heuristic model.
    #[serde(default)]
    pub unpriced_calls: u64,
    /// The error that ended the runs.
    pub failed: Option<String>,
}

impl BatchReport {
    /// Adds the outcome of a run.
    pub(super) fn add(&mut self, row: &Run) {
        self.runs += 1;
        self.reverted += u64::from(row.status == Status::Reverted);
        for action in &row.actions {
            let kind = || action.kind.map_or("unreadable", |kind| kind.name()).to_owned();
            match action.state {
                ActionState::Applied => *self.applied.entry(kind()).or_default() += 1,
                ActionState::Proposed => self.proposed += 1,
                ActionState::Refused => {
                    let reason = action.refusal_code.clone().unwrap_or_default();
                    *self.refused.entry(reason).or_default() += 1;
                }
                ActionState::Undone => self.undone += 1,
                ActionState::Rejected | ActionState::Outdated => {}
            }
        }
        // A call of the heuristic model has neither tokens nor an estimate.
        let is_unpriced =
            |call: &&CallRecord| call.cost.is_none() && (call.estimated || call.tokens_in.is_some());
        self.unpriced_calls += row.calls.iter().filter(is_unpriced).count() as u64;
        let tokens = row.tokens_in.unwrap_or(0).saturating_add(row.tokens_out.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(tokens);
        self.refused_unlisted += u64::from(row.left_out);
        self.cost_usd += row.cost.unwrap_or(0.0);
    }

    /// Adds the outcome of other runs.
    pub fn merge(&mut self, other: BatchReport) {
        self.runs += other.runs;
        self.reverted += other.reverted;
        self.undone += other.undone;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.unpriced_calls += other.unpriced_calls;
        self.proposed += other.proposed;
        self.refused_unlisted += other.refused_unlisted;
        self.cost_usd += other.cost_usd;
        for (mine, theirs) in [(&mut self.applied, other.applied), (&mut self.refused, other.refused)] {
            for (name, count) in theirs {
                *mine.entry(name).or_default() += count;
            }
        }
        self.failed = self.failed.take().or(other.failed);
    }
}

/// What several runs of an agent have read.
#[derive(Clone, Debug, Default)]
struct ReadNotes {
    visited: HashSet<NodeId>,
    /// The pairs of [`Run::shown_pairs`], if the agent reads pairs.
    pairs: HashSet<(NodeId, NodeId)>,
}

impl ReadNotes {
    /// Adds what a run has read. Returns whether it visited a node or showed a pair for the first time. Only nodes that
    /// were stored before the run `first` count, so that the runs end even if an agent reads what it writes.
    fn add(&mut self, run: &Run, definition: &Definition, first: RunId) -> bool {
        // Nodes and runs get their ids from one generator.
        let is_earlier = |id: &NodeId| id.as_bytes() < first.as_bytes();
        let before = self.visited.len() + self.pairs.len();
        self.visited.extend(run.visited.iter().copied().filter(is_earlier));
        if definition.query.pipeline.finds_pairs() {
            let pairs = run.shown_pairs().map(|(one, other)| (one.id, other.id));
            self.pairs.extend(pairs.filter(|(one, other)| is_earlier(one) && is_earlier(other)));
        }
        self.visited.len() + self.pairs.len() > before
    }
}

/// Runs an agent until its pipeline returns nothing stale, a budget is used up, a run fails, or a run reads nothing
/// that no earlier one has read. Calls `progress` after each run with the number of nodes visited so far.
///
/// # Errors
/// Those of [`run::run`].
pub fn run_until_done(
    memory: &Memory,
    definition: &Definition,
    options: &RunOptions,
    progress: &dyn Fn(u64),
) -> Result<BatchReport> {
    let mut report = BatchReport::default();
    let (mut read, mut visited, mut first) = (ReadNotes::default(), 0, None);
    loop {
        let row = run::run(memory, definition, Trigger::Manual, options)?;
        if row.status == Status::Skipped {
            return Ok(report);
        }
        report.add(&row);
        visited += row.visited.len() as u64;
        progress(visited);
        if matches!(row.status, Status::Failed | Status::TimedOut | Status::Interrupted) {
            report.failed = Some(row.message.unwrap_or_else(|| row.status.name().to_owned()));
            return Ok(report);
        }
        // The next run would select the same nodes.
        if !read.add(&row, definition, *first.get_or_insert(row.id)) {
            return Ok(report);
        }
    }
}

/// The batches of one slot. The first run reads as many notes of one tenant as its pipeline and prompt allow;
/// the following batches read the other notes that were stale when it began. They visit the tenants
/// round-robin.
#[derive(Clone, Debug)]
pub struct SlotBatches {
    due: Timestamp,
    first: RunId,
    started: Timestamp,
    /// What was read, by tenant.
    read: HashMap<Tenant, ReadNotes>,
    /// The tenants that may have stale nodes left, in turn; `None` before the first batch.
    left: Option<VecDeque<Tuple>>,
}

impl SlotBatches {
    /// The batches after the first run of a slot; `None` if it was not triggered by the schedule.
    pub fn after(first: &Run) -> Option<SlotBatches> {
        let is_scheduled = matches!(first.trigger, TriggerKind::Slot | TriggerKind::Rerun);
        let due = first.scheduled_at.filter(|_| is_scheduled)?;
        Some(SlotBatches { due, first: first.id, started: first.started, read: HashMap::new(), left: None })
    }

    /// Runs the next batch after `previous`. `None` if no tenant has work left, if the previous run ended in
    /// a way that further runs cannot fix, if `max-duration` is over, or if the agent was paused, disabled or
    /// started by someone else. A tenant gets no further batch in this slot if its run failed or read nothing
    /// new, if its budget is used up, or if the pipeline fails for it.
    ///
    /// # Errors
    /// Those of [`run::run`] except `conflict`.
    pub fn run_next(
        &mut self,
        memory: &Memory,
        catalog: &Catalog,
        previous: &Run,
        options: &RunOptions,
    ) -> Result<Option<Run>> {
        let agent = &previous.agent;
        let Some((entry, definition)) =
            catalog.agents.get(agent).and_then(|entry| Some((entry, entry.definition.as_ref()?)))
        else {
            return Ok(None);
        };
        let now = memory.now();
        let is_over = now >= self.started.plus(definition.execution.max_duration);
        let is_paused = entry.paused(&ledger::state(memory, agent)?, now).is_some();
        if is_over || ends_the_slot(previous) || !definition.enabled || is_paused {
            return Ok(None);
        }
        let mut left = match self.left.take() {
            Some(left) => left,
            None => tenant_rotation::in_turn(memory, definition)?.into(),
        };
        if !self.progressed(previous, definition) {
            left.retain(|tenant| *tenant != previous.tenant);
        }
        while let Some(tenant) = left.pop_front() {
            if tenant_rotation::used_up(memory, definition, &tenant, options.zone)?.is_some() {
                continue;
            }
            let work =
                tenant_rotation::work_of(memory, definition, &tenant, self.started, &options.idle_tenants);
            let memory = match work {
                TenantWork::Some(memory, notes) if notes > 0 => memory,
                TenantWork::Some(..) | TenantWork::Nothing | TenantWork::Fails => continue,
            };
            left.push_back(tenant);
            self.left = Some(left);
            return match run::run(&memory, definition, Trigger::Batch(self.due), options) {
                Ok(row) => Ok(Some(row)),
                Err(error) if error.code == Code::Conflict => {
                    tracing::info!(agent, "no further batch: {error}");
                    Ok(None)
                }
                Err(error) => Err(error),
            };
        }
        Ok(None)
    }

    /// Records what a run has read. Returns whether it succeeded and read something for the first time in this slot.
    fn progressed(&mut self, run: &Run, definition: &Definition) -> bool {
        let read = self.read.entry(run.tenant.id()).or_default();
        let is_new = read.add(run, definition, self.first);
        let succeeded = matches!(run.status, Status::Ok | Status::Noop | Status::Partial | Status::Proposed);
        succeeded && is_new
    }
}

/// Whether runs for other tenants would end in the same way as this run, for example over budget or without a
/// reply of the model.
fn ends_the_slot(run: &Run) -> bool {
    if run.is_over_tenant_budget {
        return false;
    }
    match run.status {
        Status::Missed | Status::Interrupted | Status::TimedOut | Status::Running => true,
        Status::Skipped => !matches!(run.reason, Some(StatusReason::NotStale | StatusReason::TooFewResults)),
        Status::Failed => run.reason != Some(StatusReason::Unparseable),
        Status::Ok
        | Status::Noop
        | Status::Partial
        | Status::Proposed
        | Status::Rejected
        | Status::Reverted => false,
    }
}
