//! Visits: which agent processed which node, when, and at which version.

use super::node::named;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

named!(
    /// The result of a visit.
    VisitOutcome {
        /// The agent read the node and left it unchanged.
        Processed = "processed",
        /// The agent read the node and chose to skip it.
        Skipped = "skipped",
        /// The agent's actions changed the node or its edges.
        Modified = "modified",
        /// The agent had no language model: it compared the node with others and may have changed its edges. It
        /// counts as unread once the agent has a language model.
        Compared = "compared",
    }
);

/// The last time that one agent processed one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// When the agent processed the node.
    pub at: Timestamp,
    /// What the agent did with the node.
    pub outcome: VisitOutcome,
    /// The version of the node that the agent saw. The visit is stale if the node has a later version.
    pub version: u32,
}

impl Visit {
    /// Whether the agent read the node, and did not only compare it with others.
    pub fn is_read(self) -> bool {
        self.outcome != VisitOutcome::Compared
    }
}
