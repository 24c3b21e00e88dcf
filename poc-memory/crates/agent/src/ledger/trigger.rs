//! The triggers of runs.

use poc_graph::RunId;
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kind of a [`Trigger`], as stored in rows.
// Variants are stored by index: add new ones at the end and never remove any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerKind {
    /// A person started it.
    Manual,
    /// A slot of its schedule came.
    Slot,
    /// A failed run is repeated.
    Rerun,
    /// Notes that its pipeline may return changed.
    Change,
    /// A scheduled run left stale notes.
    Batch,
}

impl TriggerKind {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            TriggerKind::Manual => "asked",
            TriggerKind::Slot => "schedule",
            TriggerKind::Rerun => "rerun",
            TriggerKind::Change => "change",
            TriggerKind::Batch => "batch",
        }
    }
}

/// The trigger of a run of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A person starts it.
    Manual,
    /// A slot of its schedule has come.
    Slot(Timestamp),
    /// A failed run is repeated.
    Rerun {
        /// The failed run.
        run: RunId,
        /// When the rerun is due.
        due: Timestamp,
    },
    /// Notes changed in the transactions `after+1..=until`.
    Change {
        /// All transactions up to this one are handled.
        after: u64,
        /// The last transaction that was scanned.
        until: u64,
        /// When the changes were found.
        found: Timestamp,
    },
    /// A run of this slot left stale notes.
    Batch(Timestamp),
}

impl Trigger {
    /// Its kind.
    pub fn kind(self) -> TriggerKind {
        match self {
            Trigger::Manual => TriggerKind::Manual,
            Trigger::Slot(_) => TriggerKind::Slot,
            Trigger::Rerun { .. } => TriggerKind::Rerun,
            Trigger::Change { .. } => TriggerKind::Change,
            Trigger::Batch(_) => TriggerKind::Batch,
        }
    }

    /// The slot, or the time at which it was due; `None` for manual runs.
    pub fn due_at(self) -> Option<Timestamp> {
        match self {
            Trigger::Manual => None,
            Trigger::Slot(at)
            | Trigger::Rerun { due: at, .. }
            | Trigger::Change { found: at, .. }
            | Trigger::Batch(at) => Some(at),
        }
    }
}

impl fmt::Display for Trigger {
    /// The time at which it was due.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.due_at() {
            Some(due) => due.fmt(f),
            None => f.write_str(self.kind().name()),
        }
    }
}
