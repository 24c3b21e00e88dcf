//! Prints to standard error before the log of the daemon is open.

use poc_graph::error::Error;

/// Prints why the daemon does not start.
#[allow(clippy::print_stderr, reason = "before the log is open, standard error is the only place")]
pub(crate) fn print_error(error: &Error) {
    for error in error.each() {
        eprintln!("error: {error}");
        if let Some(hint) = &error.hint {
            eprintln!("hint: {hint}");
        }
    }
}

/// Prints a status line of the start.
#[allow(clippy::print_stderr, reason = "before the log is open, standard error is the only place")]
pub(crate) fn print_line(line: &str) {
    eprintln!("{line}");
}
