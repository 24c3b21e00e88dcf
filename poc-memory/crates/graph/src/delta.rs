//! The changes that a transaction made: the input of everything derived from the log.

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
    /// The node was deleted.
    NodeDeleted(NodeId),
    /// The node's activity is now this.
    Activity(NodeId, Activity),
    /// The node's activity was reset to that of a new node.
    ActivityDeleted(NodeId),
    /// The edge is now this.
    Edge(Edge),
    /// The edge was deleted: source, kind, target.
    EdgeDeleted(NodeId, EdgeKind, NodeId),
    /// The agent's visit of the node is now this.
    Visit(Arc<str>, NodeId, Visit),
    /// The agent's visit of the node was deleted.
    VisitDeleted(Arc<str>, NodeId),
    /// The vector of a part of the node (0 is the title, passages follow), unit length.
    Vector(NodeId, u16, Arc<[f32]>),
    /// The vector of that part was deleted.
    VectorDeleted(NodeId, u16),
}
