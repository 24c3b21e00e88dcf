//! The nodes of one run, by the handles the prompt gives them.

mod choose;

pub(super) use choose::may_be_read;
pub(super) use choose::stale_among;
pub use choose::{Choice, Scope, backlog, backlog_at_hand, choose};

use crate::graph::{Ix, Node, NodeId, Trust, View};
use std::collections::HashSet;
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
    /// The least trust of notes that the template itself has asked for.
    pub template_trust: Trust,
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

    /// The nodes the pipeline chose.
    pub fn chosen(&self) -> impl Iterator<Item = &Handle> {
        self.handles.iter().filter(|handle| handle.chosen)
    }

    /// Leaves out chosen nodes beyond the first `count`, and candidates only they had.
    pub fn keep(&mut self, count: usize) {
        let mut left = count;
        self.handles.retain(|handle| {
            let keeps = !handle.chosen || left > 0;
            left -= usize::from(handle.chosen && left > 0);
            keeps
        });
        let chosen: HashSet<String> = self.chosen().map(|handle| handle.name.clone()).collect();
        self.pairs.retain(|pair| chosen.contains(&pair.a) || chosen.contains(&pair.b));
        let mut wanted: HashSet<String> =
            self.chosen().flat_map(|handle| handle.candidates.iter().map(|(name, _)| name.clone())).collect();
        wanted.extend(self.pairs.iter().flat_map(|pair| [pair.a.clone(), pair.b.clone()]));
        self.handles.retain(|handle| handle.chosen || wanted.contains(&handle.name));
        let known: HashSet<String> = self.handles.iter().map(|handle| handle.name.clone()).collect();
        for handle in &mut self.handles {
            handle.candidates.retain(|(name, _)| known.contains(name));
        }
        self.pairs.retain(|pair| known.contains(&pair.a) && known.contains(&pair.b));
    }
}
