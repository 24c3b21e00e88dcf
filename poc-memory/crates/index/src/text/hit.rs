//! What a search of the text index is given and gives.

use poc_graph::NodeId;

/// Which text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The title.
    Title,
    /// The body.
    Body,
}

/// A node that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextHit {
    /// The node.
    pub id: NodeId,
    /// BM25 score, above 0.
    pub score: f64,
}
