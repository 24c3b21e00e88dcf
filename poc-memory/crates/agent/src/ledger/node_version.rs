//! The version of a node that was read.

use poc_graph::NodeId;
use serde::{Deserialize, Serialize};

/// A node and the version in which it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeVersion {
    /// The node.
    pub id: NodeId,
    /// Its version.
    pub version: u32,
}
