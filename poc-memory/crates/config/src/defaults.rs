//! The default of every setting.

/// The compiled-in defaults, with a comment on every line that needs one.
pub const DEFAULTS: &str = include_str!("../defaults/config.toml");
