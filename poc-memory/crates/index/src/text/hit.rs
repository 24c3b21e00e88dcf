//! The fields of the text index, and the hits of its searches.

use poc_graph::NodeId;

/// A text field of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The title.
    Title,
    /// The body.
    Body,
}

/// A node that matches a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextHit {
    /// The id of the node.
    pub id: NodeId,
    /// The BM25 score, above 0.
    pub score: f64,
}
