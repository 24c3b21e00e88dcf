//! A permitted action, as proposals store it.

use poc_graph::NodeId;
use poc_notes::Draft;
use serde::{Deserialize, Serialize};

/// A permitted action. It is applied only if the nodes it names have not changed since they were read.
// Stored as the variant's index: add new variants at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PermittedAction {
    /// Add a link.
    Link {
        /// Source node.
        from: NodeId,
        /// Destination node.
        to: NodeId,
        /// Above 0, at most 1.
        strength: f64,
        /// Why.
        reason: String,
    },
    /// Change a weight.
    Weigh {
        /// The node.
        node: NodeId,
        /// Amount of the change.
        delta: f64,
    },
    /// Insert a node.
    Insert {
        /// The new node.
        draft: Box<Draft>,
        /// Nodes that it is derived from.
        sources: Vec<NodeId>,
        /// Why.
        reason: String,
    },
    /// Supersede a node by an existing one.
    Replace {
        /// The node.
        old: NodeId,
        /// Its replacement.
        new: NodeId,
        /// Why.
        reason: String,
    },
    /// Supersede a node by a new one.
    Rewrite {
        /// The node.
        old: NodeId,
        /// Its replacement.
        draft: Box<Draft>,
    },
}

impl PermittedAction {
    /// The nodes it names.
    pub fn nodes(&self) -> Vec<NodeId> {
        match self {
            PermittedAction::Link { from, to, .. } => vec![*from, *to],
            PermittedAction::Weigh { node, .. } => vec![*node],
            PermittedAction::Insert { sources, .. } => sources.clone(),
            PermittedAction::Replace { old, new, .. } => vec![*old, *new],
            PermittedAction::Rewrite { old, .. } => vec![*old],
        }
    }

    /// Whether it has the same effect as another action; reasons and strengths are ignored.
    pub fn is_equivalent(&self, other: &PermittedAction) -> bool {
        let text = |draft: &Draft| (draft.key.clone(), draft.title.clone(), draft.body.clone());
        match (self, other) {
            (PermittedAction::Link { from, to, .. }, PermittedAction::Link { from: a, to: b, .. }) => {
                (from, to) == (a, b) || (from, to) == (b, a)
            }
            (PermittedAction::Weigh { node, .. }, PermittedAction::Weigh { node: other, .. }) => {
                node == other
            }
            (PermittedAction::Insert { draft, .. }, PermittedAction::Insert { draft: other, .. }) => {
                text(draft) == text(other)
            }
            (PermittedAction::Replace { old, new, .. }, PermittedAction::Replace { old: a, new: b, .. }) => {
                (old, new) == (a, b)
            }
            (PermittedAction::Rewrite { old, draft }, PermittedAction::Rewrite { old: other, draft: by }) => {
                old == other && text(draft) == text(by)
            }
            _ => false,
        }
    }

    /// The new note.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            PermittedAction::Insert { draft, .. } | PermittedAction::Rewrite { draft, .. } => Some(draft),
            PermittedAction::Link { .. }
            | PermittedAction::Weigh { .. }
            | PermittedAction::Replace { .. } => None,
        }
    }

    pub(crate) fn draft_mut(&mut self) -> Option<&mut Draft> {
        match self {
            PermittedAction::Insert { draft, .. } | PermittedAction::Rewrite { draft, .. } => Some(draft),
            PermittedAction::Link { .. }
            | PermittedAction::Weigh { .. }
            | PermittedAction::Replace { .. } => None,
        }
    }

    /// The node that it supersedes.
    pub fn replaced_node(&self) -> Option<NodeId> {
        match self {
            PermittedAction::Replace { old, .. } | PermittedAction::Rewrite { old, .. } => Some(*old),
            PermittedAction::Link { .. } | PermittedAction::Weigh { .. } | PermittedAction::Insert { .. } => {
                None
            }
        }
    }
}
