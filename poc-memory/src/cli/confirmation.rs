//! Asks a person to confirm a deletion that cannot be undone.

use poc_graph::error::{Error, Result};
use std::io::{IsTerminal as _, Write as _};

/// Asks on the terminal for the name of what is deleted. `warning` says what that means, as a sentence.
///
/// # Errors
/// `invalid_argument` when another name is typed, or standard input is not a terminal.
pub(super) fn confirm(name: &str, warning: &str) -> Result<()> {
    let refused = || Error::invalid(format!("`{name}` was not deleted"));
    if !std::io::stdin().is_terminal() {
        return Err(refused()
            .hint("standard input is not a terminal: repeat the command with `--yes`")
            .field("yes"));
    }
    let mut stderr = std::io::stderr();
    // A failed write is ignored: if the terminal is gone, the following read returns nothing.
    let _ = write!(stderr, "{warning} Type its name to confirm: ");
    let _ = stderr.flush();
    let mut typed = String::new();
    match std::io::stdin().read_line(&mut typed) {
        Ok(_) if typed.trim() == name => Ok(()),
        _ => Err(refused().hint("the typed name does not match")),
    }
}
