//! Whether an agent is due: a pure function over definitions, ledger and time.

use super::Catalog;
use super::ledger::{Reason, Run};
use crate::time::Timestamp;

/// What is to be done about a slot now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Run it.
    Run {
        /// The agent.
        agent: String,
        /// The slot.
        slot: Timestamp,
    },
    /// Leave a row and do nothing.
    Skip {
        /// The agent.
        agent: String,
        /// The slot.
        slot: Timestamp,
        /// Whether its time passed while nothing could run it.
        missed: bool,
        /// Why.
        reason: Reason,
    },
}

/// What is due at `now`. `rows` are the newest rows of each agent that has any; `since` is when
/// the agent was first seen, before which no slot counts.
pub fn due(
    _catalog: &Catalog,
    _rows: &[Run],
    _since: &dyn Fn(&str) -> Timestamp,
    _now: Timestamp,
) -> Vec<Decision> {
    todo!()
}
