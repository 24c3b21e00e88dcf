//! How far an agent that runs when notes change has come.

use super::Run;
use super::status::{Reason, Status};
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Interruptions after which a slot, or changes, are given up: what ended the process twice may be the run.
pub(super) const INTERRUPTIONS: u32 = 2;

/// The changes an agent has dealt with, by the numbers of their transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProgress {
    /// Since when the agent is there: another one of its name begins anew.
    pub since: Timestamp,
    /// Nothing is left of what happened up to this one.
    pub done: u64,
    /// The last that a row was written for.
    claimed: u64,
    /// Whether its run is under way.
    running: bool,
    /// Interruptions since a run came to its end.
    interrupted: u32,
}

impl ChangeProgress {
    /// Nothing from before concerns it.
    pub(super) fn from(since: Timestamp, done: u64) -> ChangeProgress {
        ChangeProgress { since, done, claimed: done, running: false, interrupted: 0 }
    }

    /// Whether a row was written for the changes up to one.
    pub(super) fn is_claimed(&self, until: u64) -> bool {
        until <= self.claimed
    }

    /// With the changes after one transaction, up to another, claimed; `None` when that was done before. Those that had to wait may be
    /// claimed again.
    pub(super) fn claim(self, after: u64, until: u64) -> Option<ChangeProgress> {
        let free = !self.running && self.done <= after && after < until && self.claimed <= until;
        free.then_some(ChangeProgress { done: after, claimed: until, ..self })
    }

    /// Takes in the row of a run as it is written.
    pub(super) fn record(self, row: &Run) -> ChangeProgress {
        let finished = ChangeProgress { done: self.claimed, running: false, interrupted: 0, ..self };
        match row.status {
            Status::Running => ChangeProgress { running: true, ..self },
            Status::Interrupted => {
                let interrupted = self.interrupted.saturating_add(1);
                match interrupted < INTERRUPTIONS {
                    true => ChangeProgress { running: false, interrupted, ..self },
                    false => finished,
                }
            }
            // They are still there when it has passed.
            Status::Skipped if row.reason.is_some_and(Reason::passes) => {
                ChangeProgress { running: false, ..self }
            }
            // There may be more than one run takes. One that visits nothing comes to no end.
            _ if !row.visited.is_empty() => ChangeProgress { done: self.done, ..finished },
            _ => finished,
        }
    }
}
