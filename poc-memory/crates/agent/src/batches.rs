//! Runs of one agent, one after another, until nothing is left to do.

use super::ledger::{self, ActionState, Run, Status, TriggerKind};
use super::run::{self, RunOptions, Trigger};
use super::{Catalog, Definition, selection};
use poc_graph::NodeId;
use poc_graph::error::{Code, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// What an agent did in several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// Number of runs that called the model.
    pub runs: u64,
    /// Applied actions by kind (`link-add`).
    pub applied: BTreeMap<String, u64>,
    /// Actions that wait for approval.
    pub proposed: u64,
    /// Refused actions by reason (`already-present`).
    pub refused: BTreeMap<String, u64>,
    /// Refused actions beyond those that the runs keep.
    pub refused_unlisted: u64,
    /// US dollars, of all calls that have a price.
    pub cost_usd: f64,
    /// The error that ended the runs.
    pub failed: Option<String>,
}

impl BatchReport {
    /// Adds the outcome of a run.
    fn add(&mut self, row: &Run) {
        self.runs += 1;
        for action in &row.actions {
            let kind = || action.kind.map_or("unreadable", |kind| kind.name()).to_owned();
            match action.state {
                ActionState::Applied => *self.applied.entry(kind()).or_default() += 1,
                ActionState::Proposed => self.proposed += 1,
                ActionState::Refused => {
                    let reason = action.rejected.clone().unwrap_or_default();
                    *self.refused.entry(reason).or_default() += 1;
                }
                ActionState::Rejected | ActionState::Stale | ActionState::Undone => {}
            }
        }
        self.refused_unlisted += u64::from(row.left_out);
        self.cost_usd += row.cost.unwrap_or(0.0);
    }

    /// Adds the outcome of other runs.
    pub fn merge(&mut self, other: BatchReport) {
        self.runs += other.runs;
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

/// Runs an agent until its pipeline returns nothing stale, a run fails, or a run visits no node. Calls `progress`
/// after each run with the number of nodes visited so far.
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
    let mut visited = 0;
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
        // Without a visit, the next run would select the same nodes.
        if row.visited.is_empty() {
            return Ok(report);
        }
    }
}

/// The batches of one slot. A run reads as many notes as its pipeline and prompt allow; the batches after it read the
/// other notes that were stale when it began.
#[derive(Clone, Debug)]
pub struct SlotBatches {
    due: Timestamp,
    started: Timestamp,
    visited: HashSet<NodeId>,
}

impl SlotBatches {
    /// The batches after the first run of a slot; `None` if it was not triggered by the schedule.
    pub fn after(first: &Run) -> Option<SlotBatches> {
        let is_scheduled = matches!(first.trigger, TriggerKind::Schedule | TriggerKind::Rerun);
        let due = first.scheduled_at.filter(|_| is_scheduled)?;
        Some(SlotBatches { due, started: first.started, visited: HashSet::new() })
    }

    /// Runs the next batch after `previous`. `None` if nothing is left to do, if the run before visited no further
    /// note or did not succeed, if the time of the agent is over, or if it was paused, disabled or started by
    /// someone else.
    ///
    /// # Errors
    /// Those of [`run::run`] except `conflict`, and of the pipeline.
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
        let succeeded =
            matches!(previous.status, Status::Ok | Status::Noop | Status::Partial | Status::Proposed);
        let now = memory.now();
        let is_over = now >= self.started.plus(definition.execution.max_duration);
        let before = self.visited.len();
        self.visited.extend(&previous.visited);
        let is_paused = entry.paused(&ledger::state(memory, agent)?, now).is_some();
        if !succeeded || is_over || self.visited.len() == before || !definition.enabled || is_paused {
            return Ok(None);
        }
        if selection::backlog_of(memory, definition, self.started)? == 0 {
            return Ok(None);
        }
        match run::run(memory, definition, Trigger::Batch(self.due), options) {
            Ok(row) => Ok(Some(row)),
            Err(error) if error.code == Code::Conflict => {
                tracing::info!(agent, "no further batch: {error}");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
