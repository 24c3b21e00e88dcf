//! Progress of an on-change agent through the transactions of the log.

use super::Run;
use super::status::{Status, StatusReason};
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Number of interruptions after which a slot or a set of changes is abandoned, because the run itself may
/// crash the process.
pub(super) const INTERRUPTIONS: u32 = 2;

/// The changes an agent has handled, by transaction numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProgress {
    /// When the agent was first seen; a new agent of the same name starts over.
    pub since: Timestamp,
    /// All transactions up to this one are handled.
    pub done: u64,
    /// The last transaction that a row was written for.
    claimed: u64,
    /// Whether the run for the claimed changes is in progress.
    running: bool,
    /// Interruptions since the last completed run.
    interrupted: u32,
}

impl ChangeProgress {
    /// Starts after transaction `done`.
    pub(super) fn from(since: Timestamp, done: u64) -> ChangeProgress {
        ChangeProgress { since, done, claimed: done, running: false, interrupted: 0 }
    }

    /// Whether a row was written for the changes up to a transaction.
    pub(super) fn is_claimed(&self, until: u64) -> bool {
        until <= self.claimed
    }

    /// Whether the run for the claimed changes was interrupted and is to be repeated.
    pub(super) fn is_interrupted(self) -> bool {
        self.interrupted > 0 && !self.running
    }

    /// Claims the changes in `after+1..=until`; `None` when they were already claimed. Changes whose run had
    /// to wait may be claimed again.
    pub(super) fn claim(self, after: u64, until: u64) -> Option<ChangeProgress> {
        let free = !self.running && self.done <= after && after < until && self.claimed <= until;
        free.then_some(ChangeProgress { done: after, claimed: until, ..self })
    }

    /// Updates the progress for a row that is written.
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
            // The changes stay pending until the reason is gone.
            Status::Skipped if row.reason.is_some_and(StatusReason::passes) => {
                ChangeProgress { running: false, ..self }
            }
            // There may be more changes than one run can process, so the changes stay pending. After a run
            // without visits they do not, because the run would repeat forever.
            _ if !row.visited.is_empty() => ChangeProgress { done: self.done, ..finished },
            _ => finished,
        }
    }
}
