//! Edges: directed connections of one kind between two nodes.

use super::id::NodeId;
use super::node::named;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

named!(
    /// The meaning of an edge.
    EdgeKind {
        /// Created deliberately by a person or an agent. Strength 0–1.
        Link = "link",
        /// Created on insert for a shared keyword. The strength is the cosine similarity of the two notes.
        Keyword = "keyword",
        /// Created on insert for notes with similar meaning. The strength is their cosine similarity.
        Semantic = "semantic",
        /// The source replaces the target. The strength is 1.
        Supersedes = "supersedes",
        /// The source contradicts the target.
        Contradicts = "contradicts",
        /// Associative. Joins neighbours in one message or session in both directions, and a note to the one written
        /// just before it in one direction. Weight 0.05–100, decaying.
        Structural = "structural",
        /// Associative. The two notes were recalled together. Weight 0.05–100, decaying.
        CoRetrieval = "co_retrieval",
        /// Associative. Recall reached a hit over this edge. Weight 0.05–100, decaying.
        CoTraversal = "co_traversal",
        /// The source, a fact or a digest, was created from the target. The strength is 1.
        #[serde(alias = "derived_from")] // The spelling of release 0.1.
        DerivedFrom = "derived-from",
    }
);

impl EdgeKind {
    /// Whether graph stages, degrees and communities use edges of this kind.
    pub fn is_graph(self) -> bool {
        !matches!(self, EdgeKind::Supersedes | EdgeKind::Contradicts | EdgeKind::DerivedFrom)
    }

    /// Whether the memory creates edges of this kind itself from the texts of their notes.
    pub fn is_automatic(self) -> bool {
        matches!(self, EdgeKind::Keyword | EdgeKind::Semantic)
    }

    /// Whether edges of this kind are made on purpose. The memory derives the others from keywords, meaning, order and
    /// use.
    pub fn is_deliberate(self) -> bool {
        !self.is_automatic() && !self.is_associative()
    }

    /// Whether the strength is an unbounded decaying weight.
    pub fn is_associative(self) -> bool {
        matches!(self, EdgeKind::Structural | EdgeKind::CoRetrieval | EdgeKind::CoTraversal)
    }

    /// The strength that graph stages use for an edge of this kind, 0–1. An associative weight `w` is mapped to
    /// `w / (1 + w)`, which is always below 1.
    pub fn graph_strength(self, strength: f64) -> f64 {
        if self.is_associative() { strength / (1.0 + strength) } else { strength }
    }
}

/// Identifies an edge: there is at most one of each kind from one node to another. Sorted by source, then kind, then
/// target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId {
    /// The id of the source node.
    pub src: NodeId,
    /// The meaning of the edge.
    pub kind: EdgeKind,
    /// The id of the target node.
    pub dst: NodeId,
}

impl EdgeId {
    /// The edge of the same kind in the other direction.
    #[must_use]
    pub fn reversed(self) -> EdgeId {
        EdgeId { src: self.dst, kind: self.kind, dst: self.src }
    }
}

/// A directed edge. It is stored under its source and mirrored under its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The id of the source node.
    pub src: NodeId,
    /// The id of the target node.
    pub dst: NodeId,
    /// The meaning of the edge.
    pub kind: EdgeKind,
    /// The strength, 0–1. For associative edges the weight at the time `touched`, 0.05–100.
    pub strength: f64,
    /// When the edge was created.
    pub created: Timestamp,
    /// When the strength was last written.
    pub touched: Timestamp,
    /// Who created the edge, in the format of [`Node::provenance`](crate::Node::provenance).
    pub provenance: String,
    /// Why the edge was created, as stated by its creator; may be empty.
    pub reason: String,
}

impl Edge {
    /// Its identifier.
    pub fn id(&self) -> EdgeId {
        EdgeId { src: self.src, kind: self.kind, dst: self.dst }
    }

    /// The strength that graph stages use, 0–1.
    pub fn graph_strength(&self) -> f64 {
        self.kind.graph_strength(self.strength)
    }
}
