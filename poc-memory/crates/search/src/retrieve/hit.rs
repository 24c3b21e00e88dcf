//! What a retrieval gives.

use poc_graph::NodeId;
use poc_index::VectorHit;

/// A node that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievalHit {
    /// The node.
    pub id: NodeId,
    /// The fused score: the sum of the shares.
    pub score: f64,
    /// The lists that named it, with its rank in each, from 1.
    pub ranks: Vec<(&'static str, usize)>,
    /// What each signal adds to the score; those that add nothing are left out.
    pub shares: Vec<(&'static str, f64)>,
    /// The note that its share of mentions or of names in common comes from, if it has one.
    pub led_by: Option<NodeId>,
    /// Whether the text asks for it by its key ([`super::key::notes_named`]): then it is before all others. Fused by
    /// ranks none is.
    pub by_key: bool,
    /// Its part that is nearest in meaning; `None` without a vector.
    pub near: Option<VectorHit>,
    /// How likely it answers the text, 0–1, where a cross-encoder was asked: not here.
    pub likelihood: Option<f64>,
}

/// What was found, best first, ties by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieval {
    /// At most as many as wanted.
    pub hits: Vec<RetrievalHit>,
    /// The lists, with how many nodes each named.
    pub named: Vec<(&'static str, usize)>,
    /// The greatest cosine of any node with the question; `None` when nothing has one.
    pub cosine: Option<f64>,
}
