//! The nodes of one run, by the handles the prompt gives them.

use crate::graph::{Ix, Node, NodeId, View};
use std::sync::Arc;

/// A node the reply may name.
#[derive(Clone, Debug)]
pub struct Handle {
    /// `N1`, `N2`, …
    pub name: String,
    /// The node as it was read.
    pub node: Arc<Node>,
    /// Its index in the selection's view.
    pub ix: Ix,
    /// Whether the pipeline chose it; else it is a link candidate of one it chose.
    pub chosen: bool,
    /// Whether its whole text stands in the prompt.
    pub whole: bool,
    /// Its weight at selection.
    pub weight: f64,
    /// Handles of nodes it is like and not tied to yet, best first, with the cosine.
    pub candidates: Vec<(String, f64)>,
}

/// Two chosen nodes that are alike.
#[derive(Clone, Debug)]
pub struct HandlePair {
    /// One handle.
    pub a: String,
    /// The other.
    pub b: String,
    /// 0–1.
    pub similarity: f64,
}

/// What one run works on.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The graph as it was read.
    pub view: Arc<View>,
    /// Chosen nodes in the pipeline's order, then candidates.
    pub handles: Vec<Handle>,
    /// Pairs, from `interference-pairs`.
    pub pairs: Vec<HandlePair>,
}

impl Selection {
    /// The node behind a handle.
    pub fn get(&self, name: &str) -> Option<&Handle> {
        self.handles.iter().find(|handle| handle.name == name)
    }

    /// The handle of a node.
    pub fn of(&self, id: NodeId) -> Option<&Handle> {
        self.handles.iter().find(|handle| handle.node.id == id)
    }
}
