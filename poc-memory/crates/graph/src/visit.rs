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
