//! An action that passed the permit checks, as proposals store it.

use poc_graph::NodeId;
use poc_notes::Draft;
use serde::{Deserialize, Serialize};

/// An action that may be done, if nothing it names has changed since it was read.
// Proposals keep it by the place of its variant: a new one goes to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PermittedAction {
    /// Make a link.
    Link {
        /// Where it starts.
        from: NodeId,
        /// Where it ends.
        to: NodeId,
        /// Above 0, at most 1.
        strength: f64,
        /// Why.
        reason: String,
    },
    /// Move a weight.
    Weigh {
        /// The node.
        node: NodeId,
        /// By how much.
        delta: f64,
    },
    /// Make a node.
    Insert {
        /// Its text; trust and provenance are set when it is applied.
        draft: Box<Draft>,
        /// What it is linked to.
        links: Vec<NodeId>,
        /// Why.
        reason: String,
    },
    /// Replace a node by one that is there.
    Replace {
        /// The node.
        old: NodeId,
        /// What takes its place.
        new: NodeId,
        /// Why.
        reason: String,
    },
    /// Replace a node by a new one.
    Rewrite {
        /// The node.
        old: NodeId,
        /// What takes its place.
        draft: Box<Draft>,
    },
}

impl PermittedAction {
    /// The nodes it names.
    pub fn nodes(&self) -> Vec<NodeId> {
        match self {
            PermittedAction::Link { from, to, .. } => vec![*from, *to],
            PermittedAction::Weigh { node, .. } => vec![*node],
            PermittedAction::Insert { links, .. } => links.clone(),
            PermittedAction::Replace { old, new, .. } => vec![*old, *new],
            PermittedAction::Rewrite { old, .. } => vec![*old],
        }
    }

    /// Whether it would do what another one would: reasons and strengths aside.
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

    /// The note it writes.
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

    /// The node it puts out of use.
    pub fn replaced_node(&self) -> Option<NodeId> {
        match self {
            PermittedAction::Replace { old, .. } | PermittedAction::Rewrite { old, .. } => Some(*old),
            PermittedAction::Link { .. } | PermittedAction::Weigh { .. } | PermittedAction::Insert { .. } => {
                None
            }
        }
    }
}
