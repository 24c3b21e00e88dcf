//! A command as the first process of a container.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The id of the first process of a container. On a machine, this program never has it.
pub(super) const ID: u32 = 1;

/// Lets signals end this process if it is the first one of a container. The kernel delivers to such a process only
/// signals that it handles. The exit code is then 128 plus the number of the signal, as in a shell.
pub(super) fn end_on_signals() {
    if std::process::id() != ID {
        return;
    }
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let always = Arc::new(AtomicBool::new(true));
        if let Err(error) = flag::register_conditional_shutdown(signal, 128 + signal, always) {
            tracing::debug!("the signal {signal} does not end this process: {error}");
        }
    }
}
