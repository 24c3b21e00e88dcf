//! On whose behalf an op is called.

use poc_graph::Trust;
use serde::{Deserialize, Serialize};

/// Who calls: what is written is marked with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A person, or a program of theirs.
    #[default]
    Person,
    /// A model, by a tool it was offered.
    Model,
}

impl Actor {
    /// As provenance and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Actor::Person => "manual",
            Actor::Model => "mcp",
        }
    }

    /// How far what it writes may be relied on.
    pub fn trust(self) -> Trust {
        match self {
            Actor::Person => Trust::User,
            Actor::Model => Trust::Agent,
        }
    }
}
