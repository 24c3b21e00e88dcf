//! The program of the daemon and its arguments.

use poc_config::paths::{DEFAULT_PROFILE, Paths};
use std::path::PathBuf;

/// The daemon's program: the one beside this program, else the one in `PATH`.
pub(super) fn program() -> PathBuf {
    const NAME: &str = "poc-daemon";
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(NAME));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| NAME.into())
}

/// The arguments with which the daemon serves a profile.
pub(super) fn arguments(paths: &Paths) -> Vec<String> {
    match paths.profile() {
        DEFAULT_PROFILE => Vec::new(),
        name => vec!["--profile".into(), name.into()],
    }
}
