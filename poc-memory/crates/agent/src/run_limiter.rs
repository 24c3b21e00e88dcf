//! Limits how many agents run at once in a process, scheduled or manual.

use super::ledger;
use super::model::{Priority, PrioritySemaphore, SemaphorePermit};
use parking_lot::Mutex;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The run limit of a process. Clones share it.
#[derive(Clone, Default)]
pub struct RunLimiter {
    permits: Arc<PrioritySemaphore>,
    manual: ManualRuns,
}

/// The agents whose manual runs wait for a permit or are in progress. A run for another tenant counts too: an agent has
/// one ledger, budget and run in progress over all tenants.
type ManualRuns = Arc<Mutex<BTreeSet<String>>>;

/// The permit of a manual run, released when dropped.
pub struct ManualRunPermit {
    _permit: SemaphorePermit,
    _run: ManualRun,
}

/// A manual run that waits for a permit or is in progress.
struct ManualRun {
    agent: String,
    all: ManualRuns,
}

impl ManualRun {
    /// `None` if the agent has one already.
    fn begin(agent: &str, all: &ManualRuns) -> Option<ManualRun> {
        let is_first = all.lock().insert(agent.to_owned());
        is_first.then(|| ManualRun { agent: agent.to_owned(), all: all.clone() })
    }
}

impl Drop for ManualRun {
    fn drop(&mut self) {
        self.all.lock().remove(&self.agent);
    }
}

impl RunLimiter {
    /// Waits for a permit for a scheduled run; interactive runs go first. `None` when cancelled.
    pub fn acquire(&self, memory: &Memory, cancellation: &CancellationToken) -> Option<SemaphorePermit> {
        self.enter(memory, Priority::Background, cancellation)
    }

    /// Waits for a permit for a manual run, which gets the next free one.
    ///
    /// # Errors
    /// `conflict` when the agent is already running, or when another manual run of it waits for a permit: it would find
    /// nothing more to do afterwards. `unavailable` when the run is cancelled first.
    pub fn acquire_interactive(
        &self,
        memory: &Memory,
        agent: &str,
        cancellation: &CancellationToken,
    ) -> Result<ManualRunPermit> {
        let begun = ManualRun::begin(agent, &self.manual);
        expect_free(memory, agent)?;
        let run = begun.ok_or_else(|| {
            Error::conflict(format!("a run of `{agent}` already waits for other runs to end"))
                .hint(format!("`poc-memory agent history {agent}` shows its outcome later"))
        })?;
        let permit = self.enter(memory, Priority::Interactive, cancellation);
        let permit = permit.ok_or_else(|| Error::unavailable("the run was stopped before it started"))?;
        Ok(ManualRunPermit { _permit: permit, _run: run })
    }

    fn enter(
        &self,
        memory: &Memory,
        priority: Priority,
        cancellation: &CancellationToken,
    ) -> Option<SemaphorePermit> {
        self.permits.enter(memory.config.agents.max_concurrent_runs.max(1), priority, cancellation)
    }
}

/// Fails with `conflict` when the agent is running.
pub(super) fn expect_free(memory: &Memory, agent: &str) -> Result<()> {
    match ledger::current_run(memory, agent, &ledger::state(memory, agent)?)? {
        None => Ok(()),
        Some(run) => Err(Error::conflict(format!(
            "`{agent}` is already running, since {} (run `{}`)",
            run.started, run.id
        ))
        .hint(format!("wait for it to end; `poc-memory agent inspect {}` shows its outcome", run.id))),
    }
}
