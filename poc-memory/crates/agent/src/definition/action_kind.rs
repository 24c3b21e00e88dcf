//! The kinds of actions a reply can ask for.

use serde::{Deserialize, Serialize};

/// The kinds of actions.
// Stored as the variant's index: add new variants at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ActionKind {
    /// `link-add`
    LinkAdd,
    /// `weight`
    Weight,
    /// `insert`
    Insert,
    /// `supersede`
    Supersede,
}

impl ActionKind {
    /// Every action, in the order a reply lists and a run applies them.
    pub const ALL: [ActionKind; 4] =
        [ActionKind::LinkAdd, ActionKind::Weight, ActionKind::Insert, ActionKind::Supersede];

    /// Name in agent files and replies.
    pub fn name(self) -> &'static str {
        match self {
            ActionKind::LinkAdd => "link-add",
            ActionKind::Weight => "weight",
            ActionKind::Insert => "insert",
            ActionKind::Supersede => "supersede",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<ActionKind> {
        ActionKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
