//! What makes an agent run.

use poc_graph::RunId;
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of a [`Trigger`], as rows keep it.
// Variants are stored by their place: a new one goes to the end, none ever goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerKind {
    /// A person asked.
    Manual,
    /// A slot of its schedule came.
    Schedule,
    /// An earlier run had failed.
    Rerun,
    /// Notes that concern it changed.
    Change,
}

impl TriggerKind {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            TriggerKind::Manual => "asked",
            TriggerKind::Schedule => "schedule",
            TriggerKind::Rerun => "rerun",
            TriggerKind::Change => "change",
        }
    }
}

/// What makes an agent run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A person asks.
    Manual,
    /// A slot of its schedule has come.
    Slot(Timestamp),
    /// A run has failed and is to be repeated.
    Rerun {
        /// The failed run.
        run: RunId,
        /// When it is to be repeated.
        due: Timestamp,
    },
    /// Notes have changed after one transaction, and not after another.
    Change {
        /// Everything up to it is dealt with.
        after: u64,
        /// The last that was scanned.
        until: u64,
        /// When the changes were found.
        found: Timestamp,
    },
}

impl Trigger {
    /// Its kind.
    pub fn kind(self) -> TriggerKind {
        match self {
            Trigger::Manual => TriggerKind::Manual,
            Trigger::Slot(_) => TriggerKind::Schedule,
            Trigger::Rerun { .. } => TriggerKind::Rerun,
            Trigger::Change { .. } => TriggerKind::Change,
        }
    }

    /// The slot, or the time at which it was due; `None` when a person asks.
    pub fn due(self) -> Option<Timestamp> {
        match self {
            Trigger::Manual => None,
            Trigger::Slot(at) | Trigger::Rerun { due: at, .. } | Trigger::Change { found: at, .. } => {
                Some(at)
            }
        }
    }
}

impl fmt::Display for Trigger {
    /// The time at which it was due.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.due() {
            Some(due) => due.fmt(f),
            None => f.write_str(self.kind().name()),
        }
    }
}
