//! What a search of the vector index gives.

use poc_graph::NodeId;
use poc_rank::top::Ranked;

/// A node near a vector: its best part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// The node.
    pub id: NodeId,
    /// The part that was nearest: 0 is the title, passages follow.
    pub part: u16,
    /// Cosine, −1 to 1.
    pub cosine: f64,
}

impl From<Ranked<u16>> for VectorHit {
    fn from(found: Ranked<u16>) -> VectorHit {
        VectorHit { id: found.id, part: found.with, cosine: found.score }
    }
}
