//! What flows between stages: scored nodes, and pairs of them.

use poc_graph::Ix;

/// A node with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredNode {
    /// The node.
    pub ix: Ix,
    /// The score.
    pub score: f64,
}

/// Two nodes that are alike in text but live in different communities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The node with the smaller id.
    pub a: Ix,
    /// The other.
    pub b: Ix,
    /// Their similarity, 0–1.
    pub similarity: f64,
}

/// What a stage takes and returns.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// The nodes, in order.
    pub items: Vec<ScoredNode>,
    /// The pairs a generator found; only pairs whose members are both in `items` count.
    pub pairs: Vec<Pair>,
}
