//! The result of a retrieval.

use poc_graph::NodeId;
use poc_index::VectorHit;

/// A node found by a retrieval.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievalHit {
    /// The id of the node.
    pub id: NodeId,
    /// The fused score, which is the sum of `shares`. With fusion by scores, it is in standard deviations.
    pub score: f64,
    /// The lists that contain the node, with its rank in each, from 1.
    pub ranks: Vec<(&'static str, usize)>,
    /// The contribution of each signal to the score. Contributions of 0 are omitted.
    pub shares: Vec<(&'static str, f64)>,
    /// The note that contributes most through a mention or a shared name; `None` if no note does.
    pub led_by: Option<NodeId>,
    /// The note derived from this one that contributes most; `None` if no note does.
    pub derived: Option<NodeId>,
    /// The note whose link with this one contributes most; `None` if no note does.
    pub linked_from: Option<NodeId>,
    /// Whether the text names the note by its key ([`super::key::notes_named`]), or names only days and the note was
    /// written on one of them. Such a hit comes before all others. It is always `false` with fusion by ranks.
    pub by_key: bool,
    /// The passage of the node that is nearest to the text; `None` if the node has no vector.
    pub near: Option<VectorHit>,
    /// The likelihood, 0 to 1, that the node answers the text, if a cross-encoder has scored it. Retrieval itself
    /// leaves it `None`.
    pub likelihood: Option<f64>,
}

/// The result of a retrieval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieval {
    /// The hits, best first, at most as many as wanted. Equal scores are ordered by id.
    pub hits: Vec<RetrievalHit>,
    /// The lists that were fused, with the number of nodes in each.
    pub named: Vec<(&'static str, usize)>,
    /// The highest cosine of any node with the query, −1 to 1; `None` if no node has a vector.
    pub cosine: Option<f64>,
    /// The node with this cosine. It need not be a hit: notes that it was derived from may represent it.
    pub nearest: Option<NodeId>,
}
