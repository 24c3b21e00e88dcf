//! Names of agents.

use poc_config::ConsolidateConfig;
use poc_graph::error::{Error, Result};

/// Checks that a name is valid for an agent and its file.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name == ConsolidateConfig::NAME {
        return Err(Error::invalid(format!(
            "`{name}` is the name of scheduled consolidation in the history of runs"
        ))
        .hint("give the agent another name")
        .field("agent"));
    }
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(is_of_name) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{name}` is not a valid agent name"))
        .hint("use letters, digits, `-`, `_` and `.`, and do not start with `.`")
        .field("agent"))
}

/// Whether a name may have a character.
pub(crate) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || "-_.".contains(character)
}
