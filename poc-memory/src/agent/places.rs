//! Places for runs: how many agents run at once in a process, whoever has them run.

use super::ledger;
use super::model::{Gate, Place, Right, Stop};
use crate::error::{Error, Result};
use crate::memory::Memory;
use std::sync::Arc;

/// The places of a process. Copies of it are the same.
#[derive(Clone, Default)]
pub struct Places(Arc<Gate>);

impl Places {
    /// A place for a run of a slot, once there is one that no person waits for; `None` when it is to stop
    /// before.
    pub fn slot(&self, memory: &Memory, stop: &Stop) -> Option<Place> {
        self.enter(memory, Right::Usual, stop)
    }

    /// A place for a run that a person asks for: the next that is free.
    ///
    /// # Errors
    /// `conflict` when the agent runs already, `unavailable` when it is to stop before there is a place.
    pub fn asked(&self, memory: &Memory, agent: &str, stop: &Stop) -> Result<Place> {
        expect_free(memory, agent)?;
        self.enter(memory, Right::Asked, stop)
            .ok_or_else(|| Error::unavailable("the run was stopped before it had begun"))
    }

    fn enter(&self, memory: &Memory, right: Right, stop: &Stop) -> Option<Place> {
        self.0.enter(memory.config.agents.max_concurrent_runs.max(1), right, stop)
    }
}

/// That an agent does not run in this process.
pub(super) fn expect_free(memory: &Memory, agent: &str) -> Result<()> {
    let running = ledger::running(memory)?.into_iter().find(|run| run.agent == agent);
    match running {
        None => Ok(()),
        Some(run) => Err(Error::conflict(format!(
            "`{agent}` is running already, since {} (run `{}`)",
            run.started, run.id
        ))
        .hint(format!("wait for it to end: `poc-memory agent inspect {}` tells what became of it", run.id))),
    }
}
