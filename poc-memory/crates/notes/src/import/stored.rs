//! The result of storing one imported note.

use crate::automatic_edges::EdgeCounts;
use poc_graph::NodeId;

/// The result of storing a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreOutcome {
    Inserted,
    Updated,
    Duplicate,
}

/// A stored note.
pub(super) struct StoredNote {
    pub(super) id: NodeId,
    pub(super) key: String,
    pub(super) outcome: StoreOutcome,
    /// Number of edges created automatically.
    pub(super) edge_counts: EdgeCounts,
}
