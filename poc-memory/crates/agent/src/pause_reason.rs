//! Why an agent is paused.

use super::ledger::{AgentState, Pause};
use poc_config::schedule::local_minute;
use poc_graph::plural;
use poc_graph::time::Timestamp;

/// Why an agent is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
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

impl PauseReason {
    /// Why an agent is paused at `now`, if it is. `after` is the number of failures that pause it; 0 means
    /// never.
    pub fn of(after: u32, state: &AgentState, now: Timestamp) -> Option<PauseReason> {
        if let Some(pause) = state.pause().filter(|pause| pause.is_active(now)) {
            return Some(PauseReason::ByPerson(pause.clone()));
        }
        let failures = state.failures();
        let since = state.last().map_or(now, |last| last.ended);
        is_enough(after, failures).then_some(PauseReason::Failing { failures, since })
    }

    /// Start of the pause.
    pub fn since(&self) -> Timestamp {
        match self {
            PauseReason::ByPerson(pause) => pause.since,
            PauseReason::Failing { since, .. } => *since,
        }
    }

    /// End of the pause, if it ends by itself.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            PauseReason::ByPerson(pause) => pause.until,
            PauseReason::Failing { .. } => None,
        }
    }

    /// A message with the command that ends the pause.
    pub fn line(&self, agent: &str) -> String {
        match self {
            PauseReason::ByPerson(Pause { since, until, note }) => {
                let end = match until {
                    Some(until) => format!(" until {}", local_minute(*until)),
                    None => format!("; {}", ends(agent)),
                };
                let note = if note.is_empty() { String::new() } else { format!(": {note}") };
                format!("paused since {}{end}{note}", local_minute(*since))
            }
            PauseReason::Failing { failures, .. } => {
                let failures = plural(u64::from(*failures), "failure");
                format!("paused after {failures} in a row; {}", ends(agent))
            }
        }
    }
}

/// Whether as many failures in a row pause an agent.
pub(crate) fn is_enough(after: u32, failures: u32) -> bool {
    after > 0 && failures >= after
}

/// How the pause ends.
fn ends(agent: &str) -> String {
    format!("`poc-memory agent resume {agent}` resumes it")
}
