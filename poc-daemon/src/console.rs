//! What the daemon prints on standard error before its log is open.

use poc_graph::error::Error;

/// Prints why the daemon does not start.
#[allow(clippy::print_stderr, reason = "before the log is open, standard error is the only place")]
pub(crate) fn print_error(error: &Error) {
    eprintln!("error: {error}");
    if let Some(hint) = &error.hint {
        eprintln!("hint: {hint}");
    }
}

/// Prints what the daemon does before it starts.
#[allow(clippy::print_stderr, reason = "before the log is open, standard error is the only place")]
pub(crate) fn print_line(line: &str) {
    eprintln!("{line}");
}
