//! Pauses agents and resumes them.

use super::ledger::{self, Pause};
use super::pause_reason::{PauseReason, is_enough};
use super::{CatalogEntry, Definition};
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_store::Cause;

/// The notice for the message of a failed run, when this failure pauses the agent.
pub fn failure_notice(memory: &Memory, definition: &Definition) -> Option<String> {
    let failures = ledger::state(memory, &definition.name).ok()?.failures().saturating_add(1);
    let paused = PauseReason::Failing { failures, since: memory.now() };
    is_enough(definition.failure.pause_after, failures).then(|| paused.line(&definition.name))
}

/// Pauses an agent.
///
/// # Errors
/// `invalid_argument`, at the field `until`, when the end of the pause is in the past.
pub fn pause(memory: &Memory, agent: &str, pause: &Pause, cause: Cause) -> Result<()> {
    if let Some(until) = pause.until.filter(|_| !pause.is_active(cause.at)) {
        return Err(Error::invalid(format!("the end of the pause, {until}, is in the past"))
            .hint("give a time in the future: `2h`, `2030-01-31`, `2030-01-31T08:00:00Z`")
            .field("until"));
    }
    ledger::update_state(memory, agent, cause, |state| {
        state.set_pause(pause.clone());
        Ok(())
    })
}

/// Resumes an agent. Returns why it was paused until now.
pub fn resume(
    memory: &Memory,
    agent: &str,
    entry: &CatalogEntry,
    cause: Cause,
) -> Result<Option<PauseReason>> {
    let paused = entry.paused(&ledger::state(memory, agent)?, cause.at);
    ledger::update_state(memory, agent, cause, |state| {
        state.resume();
        Ok(())
    })?;
    Ok(paused)
}
