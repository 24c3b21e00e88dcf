//! Edges: directed connections of one kind between two nodes.

use super::id::NodeId;
use super::node::named;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

named!(
    /// What an edge means.
    EdgeKind {
        /// Made on purpose, by a person or an agent; strength 0 to 1.
        Link = "link",
        /// Made by insert: a keyword in common; strength is the cosine.
        Keyword = "keyword",
        /// Made by insert: similar in meaning; strength is the cosine.
        Semantic = "semantic",
        /// The source replaces the target; strength 1.
        Supersedes = "supersedes",
        /// The source contradicts the target.
        Contradicts = "contradicts",
        /// Associative: neighbours in one message or session, both ways, and what was written just before,
        /// one way; weight 0.05 to 100, decaying.
        Structural = "structural",
        /// Associative: recalled together; weight 0.05 to 100, decaying.
        CoRetrieval = "co_retrieval",
        /// Associative: the edge that led to a hit; weight 0.05 to 100, decaying.
        CoTraversal = "co_traversal",
        /// The source was made from the target: a fact or a digest, and a note it rests on; strength 1.
        #[serde(alias = "derived_from")] // As release 0.1 wrote it.
        DerivedFrom = "derived-from",
    }
);

impl EdgeKind {
    /// Whether graph stages, degrees and communities use edges of this kind.
    pub fn is_graph(self) -> bool {
        !matches!(self, EdgeKind::Supersedes | EdgeKind::Contradicts | EdgeKind::DerivedFrom)
    }

    /// Whether the strength is an unbounded decaying weight.
    pub fn is_associative(self) -> bool {
        matches!(self, EdgeKind::Structural | EdgeKind::CoRetrieval | EdgeKind::CoTraversal)
    }
}

/// One edge, stored under its source and mirrored under its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Where it starts.
    pub src: NodeId,
    /// Where it ends.
    pub dst: NodeId,
    /// What it means.
    pub kind: EdgeKind,
    /// 0 to 1, or the weight of an associative edge (0.05 to 100) as of `touched`.
    pub strength: f64,
    /// When it was made.
    pub created: Timestamp,
    /// When its strength was last written.
    pub touched: Timestamp,
    /// Who made it, in the form of a node's provenance.
    pub provenance: String,
    /// Why, in the maker's words; may be empty.
    pub reason: String,
}

impl Edge {
    /// The strength that graph stages use, 0–1: an associative weight `w` counts as `w / (1 + w)`.
    pub fn graph_strength(&self) -> f64 {
        if self.kind.is_associative() { self.strength / (1.0 + self.strength) } else { self.strength }
    }
}
