//! Pauses of agents: set by a person, or after too many consecutive failures.

use super::ledger::{self, AgentState, Pause};
use super::{CatalogEntry, Definition};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_store::Cause;

/// Why an agent is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// A person paused it.
    ByPerson(Pause),
    /// Too many consecutive runs failed.
    Failing {
        /// Number of failures.
        failures: u32,
        /// When the last of them ended.
        since: Timestamp,
    },
}

impl PauseCause {
    /// Why an agent is paused at `now`, if it is. `after` is the number of failures that pause it; 0 means
    /// never.
    pub fn of(after: u32, state: &AgentState, now: Timestamp) -> Option<PauseCause> {
        if let Some(pause) = state.pause().filter(|pause| pause.is_active(now)) {
            return Some(PauseCause::ByPerson(pause.clone()));
        }
        let failures = state.failures();
        let since = state.last().map_or(now, |last| last.ended);
        is_enough(after, failures).then_some(PauseCause::Failing { failures, since })
    }

    /// Start of the pause.
    pub fn since(&self) -> Timestamp {
        match self {
            PauseCause::ByPerson(pause) => pause.since,
            PauseCause::Failing { since, .. } => *since,
        }
    }

    /// End of the pause, if it ends by itself.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            PauseCause::ByPerson(pause) => pause.until,
            PauseCause::Failing { .. } => None,
        }
    }

    /// A message with the command that ends the pause.
    pub fn line(&self, agent: &str) -> String {
        match self {
            PauseCause::ByPerson(Pause { since, until, note }) => {
                let end = match until {
                    Some(until) => format!(" until {until}"),
                    None => format!("; {}", ends(agent)),
                };
                let note = if note.is_empty() { String::new() } else { format!(": {note}") };
                format!("paused since {since}{end}{note}")
            }
            PauseCause::Failing { failures, .. } => {
                format!("paused after {failures} failures in a row; {}", ends(agent))
            }
        }
    }
}

/// The notice for the message of a failed run, when this failure pauses the agent.
pub fn failure_notice(memory: &Memory, definition: &Definition) -> Option<String> {
    let failures = ledger::state(memory, &definition.name).ok()?.failures().saturating_add(1);
    let paused = PauseCause::Failing { failures, since: memory.now() };
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
) -> Result<Option<PauseCause>> {
    let paused = entry.paused(&ledger::state(memory, agent)?, cause.at);
    ledger::update_state(memory, agent, cause, |state| {
        state.resume();
        Ok(())
    })?;
    Ok(paused)
}

fn is_enough(after: u32, failures: u32) -> bool {
    after > 0 && failures >= after
}

fn ends(agent: &str) -> String {
    format!("`poc-memory agent resume {agent}` resumes it")
}
