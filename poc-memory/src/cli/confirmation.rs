//! Asks a person to confirm a change.

use crate::ops::{IrreversibleFlag, OpDef};
use clap::{Arg, ArgAction, ArgMatches};
use poc_graph::error::{Error, Result};
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};

/// The id and the name of the option that answers the question of [`confirm_op`].
const YES: &str = "yes";

/// The hint of a command that cannot ask.
const NO_TERMINAL: &str = "standard input is not a terminal: repeat the command with `--yes`";

/// The option of ops with an irreversible flag that answers the question.
pub(super) fn yes_option(flag: &IrreversibleFlag) -> Arg {
    let help = format!(
        "Do not ask for confirmation of `--{}`; required if standard input is no terminal",
        flag.name
    );
    Arg::new(YES).long(YES).short('y').action(ArgAction::SetTrue).help(help)
}

/// Asks before an op runs with its irreversible flag, unless `--yes` is given. Returns whether it may run.
///
/// # Errors
/// `invalid_argument` when it would have to ask and standard input is not a terminal.
pub(super) fn confirm_op(op: &OpDef, request: &Value, matches: &ArgMatches) -> Result<bool> {
    let Some(flag) = op.irreversible else { return Ok(true) };
    let is_given = request.get(flag.name).and_then(Value::as_bool) == Some(true);
    if !is_given || matches.get_flag(YES) {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("`--{}` was not confirmed: nothing was changed", flag.name);
        let hint = format!("{NO_TERMINAL}. {}", flag.warning.trim_end_matches('.'));
        return Err(Error::invalid(message).hint(hint).field(YES));
    }
    Ok(ask(&format!("{} Continue?", flag.warning)))
}

/// Asks a question on the terminal. Whether the answer is yes; any other answer is no.
pub(super) fn ask(question: &str) -> bool {
    let answer = answer(&format!("{question} [y/N]"));
    answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// The answer to a question on the terminal; `None` if it cannot be asked or answered.
fn answer(question: &str) -> Option<String> {
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "{question} ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    // After an answer without a line break, as by Ctrl-D, the cursor is still on the line of the question.
    if !answer.ends_with('\n') {
        // If the terminal is gone, nobody sees the next line either.
        let _ = writeln!(stderr);
    }
    asked.and(read).ok().map(|_| answer.trim().to_owned())
}

/// Asks on the terminal for the name of what is deleted. `warning` says what that means, as a sentence.
///
/// # Errors
/// `invalid_argument` when another name is typed, or standard input is not a terminal.
pub(super) fn confirm(name: &str, warning: &str) -> Result<()> {
    let refused = || Error::invalid(format!("`{name}` was not deleted"));
    if !std::io::stdin().is_terminal() {
        return Err(refused().hint(NO_TERMINAL).field(YES));
    }
    match answer(&format!("{warning} Type its name to confirm:")) {
        Some(typed) if typed == name => Ok(()),
        _ => Err(refused().hint("the typed name does not match")),
    }
}
