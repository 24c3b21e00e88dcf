//! The modes of agents: how the actions of a reply are treated.

use serde::{Deserialize, Serialize};

/// How an agent's actions are treated.
// Stored as the variant's index: add new variants at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Actions are applied.
    Apply,
    /// Nothing is applied; the run only records the actions.
    Observe,
    /// Actions wait for a person's approval.
    Propose,
}

impl Mode {
    /// The modes with their names in TOML and output.
    pub const NAMES: [(&'static str, Mode); 3] =
        [("apply", Mode::Apply), ("propose", Mode::Propose), ("observe", Mode::Observe)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Apply => "apply",
            Mode::Observe => "observe",
            Mode::Propose => "propose",
        }
    }
}
