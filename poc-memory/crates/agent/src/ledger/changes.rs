//! How far an agent that runs when notes change has come.

use super::Run;
use super::status::{Reason, Status};
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Interruptions after which a slot, or changes, are given up: what ended the process twice may be the run.
pub(super) const INTERRUPTIONS: u32 = 2;

/// The changes an agent has dealt with, by the numbers of their transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Since when the agent is there: another one of its name begins anew.
    pub since: Timestamp,
    /// Nothing is left of what happened up to this one.
    pub done: u64,
    /// The last that a row was written for.
    claimed: u64,
    /// Whether its run is under way.
    taken: bool,
    /// Interruptions since a run came to its end.
    interrupted: u32,
}

impl Changes {
    /// Nothing from before concerns it.
    pub(super) fn from(since: Timestamp, done: u64) -> Changes {
        Changes { since, done, claimed: done, taken: false, interrupted: 0 }
    }

    /// Whether a row was written for the changes up to one.
    pub(super) fn is_claimed(&self, until: u64) -> bool {
        until <= self.claimed
    }

    /// With the changes after one transaction, up to another, claimed; `None` when that was done before. Those that had to wait may be
    /// claimed again.
    pub(super) fn claim(self, after: u64, until: u64) -> Option<Changes> {
        let free = !self.taken && self.done <= after && after < until && self.claimed <= until;
        free.then_some(Changes { done: after, claimed: until, ..self })
    }

    /// Takes in the row of a run as it is written.
    pub(super) fn note(self, row: &Run) -> Changes {
        let finished = Changes { done: self.claimed, taken: false, interrupted: 0, ..self };
        match row.status {
            Status::Running => Changes { taken: true, ..self },
            Status::Interrupted => {
                let interrupted = self.interrupted.saturating_add(1);
                match interrupted < INTERRUPTIONS {
                    true => Changes { taken: false, interrupted, ..self },
                    false => finished,
                }
            }
            // They are still there when it has passed.
            Status::Skipped if row.reason.is_some_and(Reason::passes) => Changes { taken: false, ..self },
            // There may be more than one run takes. One that visits nothing comes to no end.
            _ if !row.visited.is_empty() => Changes { done: self.done, ..finished },
            _ => finished,
        }
    }
}
