//! The changes that a transaction made. Everything derived from the log is updated from them.

use super::edge::{Edge, EdgeId};
use super::id::NodeId;
use super::node::{Activity, Node};
use super::visit::Visit;
use std::sync::Arc;

/// One change to the graph. Applying a delta twice gives the same result as applying it once.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The node was created or replaced by this one.
    Node(Arc<Node>),
    /// The node was deleted.
    NodeDeleted(NodeId),
    /// The node's activity was set.
    Activity(NodeId, Activity),
    /// The node's activity was reset to that of a new node.
    ActivityDeleted(NodeId),
    /// The edge was created or replaced, and has this strength in the graph ([`Edge::graph_strength`]).
    Edge(EdgeId, f64),
    /// The edge was deleted.
    EdgeDeleted(EdgeId),
    /// The agent's visit of the node was recorded; it replaces an earlier one.
    Visit(Arc<str>, NodeId, Visit),
    /// The agent's visit of the node was deleted.
    VisitDeleted(Arc<str>, NodeId),
    /// The unit vector of a passage of the node: passage 0 is the title, the others are those of the body.
    Vector(NodeId, u16, Arc<[f32]>),
    /// The vector of this passage was deleted.
    VectorDeleted(NodeId, u16),
}

impl From<Edge> for Delta {
    fn from(edge: Edge) -> Delta {
        Delta::Edge(edge.id(), edge.graph_strength())
    }
}
