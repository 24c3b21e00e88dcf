//! The result of a search of the vector index.

use poc_graph::NodeId;
use poc_rank::top_k::Ranked;

/// A node near the query vector, with its nearest passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// The id of the node.
    pub id: NodeId,
    /// The nearest passage: 0 is the title, and those of the text start at 1.
    pub passage: u16,
    /// The cosine of that passage, −1 to 1.
    pub cosine: f64,
}

impl From<Ranked<u16>> for VectorHit {
    fn from(found: Ranked<u16>) -> VectorHit {
        VectorHit { id: found.id, passage: found.payload, cosine: found.score }
    }
}
