//! The caller of an op: a person or a model.

use poc_graph::Trust;
use poc_rank::max_link_strength;
use serde::{Deserialize, Serialize};

/// The caller, which is recorded with everything it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Principal {
    /// A person, or a person's program.
    #[default]
    Person,
    /// A model that calls a tool.
    Model,
}

impl Principal {
    /// The name in provenance and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Principal::Person => "manual",
            Principal::Model => "mcp",
        }
    }

    /// The trust of the notes that it writes.
    pub fn trust(self) -> Trust {
        match self {
            Principal::Person => Trust::User,
            Principal::Model => Trust::Agent,
        }
    }

    /// The maximum strength of the links that it creates.
    pub fn max_link_strength(self) -> f64 {
        max_link_strength::max_link_strength(self.trust())
    }
}
