//! Limits how many agents run at once in a process, scheduled or manual.

use super::ledger;
use super::model::{Priority, PrioritySemaphore, SemaphorePermit};
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use std::sync::Arc;

/// The run limit of a process. Clones share it.
#[derive(Clone, Default)]
pub struct RunLimiter(Arc<PrioritySemaphore>);

impl RunLimiter {
    /// Waits for a permit for a scheduled run; interactive runs go first. `None` when cancelled.
    pub fn acquire(&self, memory: &Memory, cancellation: &CancellationToken) -> Option<SemaphorePermit> {
        self.enter(memory, Priority::Background, cancellation)
    }

    /// Waits for a permit for a manual run, which gets the next free one.
    ///
    /// # Errors
    /// `conflict` when the agent is already running, `unavailable` when the run is cancelled first.
    pub fn acquire_interactive(
        &self,
        memory: &Memory,
        agent: &str,
        cancellation: &CancellationToken,
    ) -> Result<SemaphorePermit> {
        expect_free(memory, agent)?;
        self.enter(memory, Priority::Interactive, cancellation)
            .ok_or_else(|| Error::unavailable("the run was stopped before it started"))
    }

    fn enter(
        &self,
        memory: &Memory,
        priority: Priority,
        cancellation: &CancellationToken,
    ) -> Option<SemaphorePermit> {
        self.0.enter(memory.config.agents.max_concurrent_runs.max(1), priority, cancellation)
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
