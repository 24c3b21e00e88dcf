//! The default of every setting.

use poc_graph::error::{Error, Result};
use std::sync::LazyLock;
use toml::Table;

/// The compiled-in defaults, with a comment on every line that needs one.
pub const DEFAULTS: &str = include_str!("../defaults/config.toml");

// The text is long, and settings are loaded again whenever their file changes.
static TABLE: LazyLock<Result<Table>> = LazyLock::new(|| {
    toml::from_str(DEFAULTS)
        .map_err(|error| Error::internal(format!("the built-in defaults cannot be read: {error}")))
});

/// The defaults by section and key.
///
/// # Errors
/// Fails if the text of the defaults is not TOML.
pub(super) fn default_table() -> Result<&'static Table> {
    TABLE.as_ref().map_err(Error::clone)
}
