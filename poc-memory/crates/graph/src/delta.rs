//! What a transaction did, in terms of values: the input of everything derived from the log.

use super::edge::{Edge, EdgeKind};
use super::id::NodeId;
use super::node::{Activity, Node};
use super::visit::Visit;
use std::sync::Arc;

/// One change to the graph. Applying a delta twice gives the same result as applying it once.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The node is now this.
    Node(Arc<Node>),
    /// The node is gone.
    NodeDeleted(NodeId),
    /// The node's activity is now this.
    Activity(NodeId, Activity),
    /// The node's activity is that at birth again.
    ActivityDeleted(NodeId),
    /// The edge is now this.
    Edge(Edge),
    /// The edge is gone: source, kind, target.
    EdgeDeleted(NodeId, EdgeKind, NodeId),
    /// The agent's visit of the node is now this.
    Visit(Arc<str>, NodeId, Visit),
    /// The agent's visit of the node is gone.
    VisitDeleted(Arc<str>, NodeId),
    /// The vector of a part of the node (0 is the title, passages follow), unit length.
    Vector(NodeId, u16, Arc<[f32]>),
    /// The vector of that part is gone.
    VectorDeleted(NodeId, u16),
}
