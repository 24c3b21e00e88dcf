//! Environment variables, and the paths that depend on them.

use std::path::PathBuf;

/// Reads an environment variable. An empty variable counts as unset.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads an environment variable, from any thread.
pub(super) type VariableReader = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The process's environment.
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// A path of the settings, which is absolute or starts with `~/`.
pub(super) fn path_of(path: &str, environment: Environment<'_>) -> Result<PathBuf, String> {
    poc_config::paths::named(path, environment("HOME").as_deref())
}
