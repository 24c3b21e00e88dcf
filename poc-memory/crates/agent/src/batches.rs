//! Runs of one agent, one after another, until nothing is left to do.

use super::Definition;
use super::ledger::{ActionState, Run, Status};
use super::run::{self, RunOptions, Trigger};
use poc_graph::error::Result;
use poc_notes::Memory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
