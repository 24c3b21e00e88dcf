//! What the texts of pipelines may name besides the words of the language.

use crate::config::Config;

/// The names a pipeline may use: node types.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    types: Vec<String>,
}

impl Names {
    /// The names the settings know.
    pub fn of(config: &Config) -> Names {
        Names { types: config.node_types().map(str::to_owned).collect() }
    }

    /// Whether it is a node type.
    pub(super) fn has_type(&self, name: &str) -> bool {
        self.types().any(|known| known == name)
    }

    /// The node types.
    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(String::as_str)
    }
}
