//! A permitted action, as proposals store it.

use crate::ledger::LinkEnds;
use poc_graph::{Node, NodeId};
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
        /// Strength, above 0 and at most 1.
        strength: f64,
        /// Why.
        reason: String,
    },
    /// Change a weight.
    Weigh {
        /// The node.
        node: NodeId,
        /// Amount to add to the weight; may be negative.
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
    /// Give a node another key.
    Rename {
        /// The node.
        node: NodeId,
        /// The key that was read.
        from: String,
        /// The new key.
        to: String,
    },
    /// Supersede a derived node by a new one that is derived from other nodes.
    Revise {
        /// The node.
        old: NodeId,
        /// Its replacement.
        draft: Box<Draft>,
        /// Nodes that the replacement is derived from.
        sources: Vec<NodeId>,
        /// Why.
        reason: String,
    },
}

impl PermittedAction {
    /// The renaming that is equivalent to a replacement: `None` unless the replacement differs from the node
    /// only in its key.
    pub fn renaming(node: &Node, replacement: &Draft) -> Option<PermittedAction> {
        let text = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        let is_same =
            text(&replacement.title) == node.title.trim() && text(&replacement.body) == node.body.trim();
        let key = replacement.key.as_ref().filter(|key| is_same && **key != node.key)?;
        Some(PermittedAction::Rename { node: node.id, from: node.key.clone(), to: key.clone() })
    }

    /// The nodes it names.
    pub fn nodes(&self) -> Vec<NodeId> {
        match self {
            PermittedAction::Link { from, to, .. } => vec![*from, *to],
            PermittedAction::Weigh { node, .. } | PermittedAction::Rename { node, .. } => vec![*node],
            PermittedAction::Insert { sources, .. } => sources.clone(),
            PermittedAction::Replace { old, new, .. } => vec![*old, *new],
            PermittedAction::Rewrite { old, .. } => vec![*old],
            PermittedAction::Revise { old, sources, .. } => [&[*old], sources.as_slice()].concat(),
        }
    }

    /// The nodes of the link that it adds, if it adds one.
    pub fn link(&self) -> Option<LinkEnds> {
        let PermittedAction::Link { from, to, .. } = self else { return None };
        Some(LinkEnds { from: *from, to: *to })
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
            (PermittedAction::Rewrite { old, draft }, PermittedAction::Rewrite { old: other, draft: by })
            | (
                PermittedAction::Revise { old, draft, .. },
                PermittedAction::Revise { old: other, draft: by, .. },
            ) => old == other && text(draft) == text(by),
            (
                PermittedAction::Rename { node, to, .. },
                PermittedAction::Rename { node: other, to: by, .. },
            ) => (node, to) == (other, by),
            _ => false,
        }
    }

    /// The new note.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            PermittedAction::Insert { draft, .. }
            | PermittedAction::Rewrite { draft, .. }
            | PermittedAction::Revise { draft, .. } => Some(draft),
            PermittedAction::Link { .. }
            | PermittedAction::Weigh { .. }
            | PermittedAction::Replace { .. }
            | PermittedAction::Rename { .. } => None,
        }
    }

    pub(crate) fn draft_mut(&mut self) -> Option<&mut Draft> {
        match self {
            PermittedAction::Insert { draft, .. }
            | PermittedAction::Rewrite { draft, .. }
            | PermittedAction::Revise { draft, .. } => Some(draft),
            PermittedAction::Link { .. }
            | PermittedAction::Weigh { .. }
            | PermittedAction::Replace { .. }
            | PermittedAction::Rename { .. } => None,
        }
    }

    /// The node that it supersedes or renames.
    pub fn replaced_node(&self) -> Option<NodeId> {
        match self {
            PermittedAction::Replace { old, .. }
            | PermittedAction::Rewrite { old, .. }
            | PermittedAction::Revise { old, .. } => Some(*old),
            PermittedAction::Rename { node, .. } => Some(*node),
            PermittedAction::Link { .. } | PermittedAction::Weigh { .. } | PermittedAction::Insert { .. } => {
                None
            }
        }
    }
}
