//! Visits: which agent processed which node, when, and at which version.

use super::node::named;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

named!(
    /// What came of a visit.
    VisitOutcome {
        /// The agent read the node and left it as it was.
        Processed = "processed",
        /// The agent read the node and chose to skip it.
        Skipped = "skipped",
        /// The agent's actions changed the node or its edges.
        Modified = "modified",
    }
);

/// The last time one agent saw one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub outcome: VisitOutcome,
    /// The node's version that was seen; a later version makes the visit stale.
    pub version: u32,
}
