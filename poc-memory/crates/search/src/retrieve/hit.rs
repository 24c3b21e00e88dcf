//! The result of a retrieval.

use poc_graph::NodeId;
use poc_index::VectorHit;

/// A node found by a retrieval.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievalHit {
    /// The node.
    pub id: NodeId,
    /// The fused score, which is the sum of the shares.
    pub score: f64,
    /// The lists that contain it, with its rank in each, starting at 1.
    pub ranks: Vec<(&'static str, usize)>,
    /// The contribution of each signal to the score. Zero contributions are left out.
    pub shares: Vec<(&'static str, f64)>,
    /// The note that contributes most through a mention or a shared name, if any does.
    pub led_by: Option<NodeId>,
    /// The note derived from this one that contributes most, if any does.
    pub derived: Option<NodeId>,
    /// The note whose link to or from this one contributes most, if any does.
    pub linked_from: Option<NodeId>,
    /// Whether the text names the note by its key ([`super::key::notes_named`]). Such a hit comes before all
    /// others. Always `false` with fusion by ranks.
    pub by_key: bool,
    /// Its part that is nearest to the text; `None` if the node has no vector.
    pub near: Option<VectorHit>,
    /// The probability that it answers the text, 0–1, if a cross-encoder has scored it. Retrieval itself
    /// leaves it `None`.
    pub likelihood: Option<f64>,
}

/// The result of a retrieval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieval {
    /// The hits, best first, ties by id; at most as many as wanted.
    pub hits: Vec<RetrievalHit>,
    /// The lists that were fused, with the number of nodes in each.
    pub named: Vec<(&'static str, usize)>,
    /// The greatest cosine of any node with the query; `None` if no node has a vector.
    pub cosine: Option<f64>,
}
