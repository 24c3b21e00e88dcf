//! Errors of command-line parsing, reported like all other errors.

use super::command;
use super::globals::Globals;
use super::output::Output;
use clap::error::ErrorKind;
use poc_graph::error::{Error, Exit};
use std::ffi::OsString;

/// Prints the parser's message and returns the exit status.
pub(super) fn end(error: &clap::Error, arguments: &[OsString], output: &Output) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output.page(error);
            Exit::Ok
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !output.json() => {
            output.page(error);
            Exit::Usage
        }
        _ => {
            output.error(&to_error(&error.to_string(), arguments));
            Exit::Usage
        }
    }
}

/// The parser's message as an error, with a better hint where there is one.
fn to_error(rendered: &str, arguments: &[OsString]) -> Error {
    translate(rendered, &help_for(arguments))
}

/// The command line that prints the help of the intended command.
fn help_for(arguments: &[OsString]) -> String {
    let top = command::build(&Globals::default());
    let mut meant = &top;
    let mut path = vec![top.get_name()];
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        match meant.find_subcommand(word) {
            Some(found) => {
                meant = found;
                path.push(found.get_name());
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    format!("see `{} --help`", path.join(" "))
}

/// A parser's message as an error, for `poc-daemon`; `None` for help and the version.
pub(super) fn of(error: &clap::Error, help: &str) -> Option<Error> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(translate(&error.to_string(), help)),
    }
}

/// The parser's message as an error; the hint is its tip, or otherwise `help`.
fn translate(rendered: &str, help: &str) -> Error {
    let mut message = Vec::new();
    let mut tips = Vec::new();
    let lines = rendered.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.take_while(|line| !line.starts_with("Usage: ") && !line.starts_with("For more")) {
        match line.strip_prefix("tip: ") {
            Some(tip) => tips.push(tip),
            None => message.push(line),
        }
    }
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let hint = if tips.is_empty() { help.to_owned() } else { tips.join("; ") };
    Error::invalid(message.replace('\'', "`")).hint(hint.replace('\'', "`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str]) -> String {
        let line: Vec<OsString> =
            std::iter::once("poc-memory").chain(line.iter().copied()).map(OsString::from).collect();
        let error = command::build(&Globals::default()).try_get_matches_from(&line).unwrap_err();
        let error = to_error(&error.to_string(), &line);
        format!("{error}\n{}", error.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn usage_errors_have_the_format_of_all_errors() {
        insta::assert_snapshot!(check(&["serach"]), @r"
        unrecognized subcommand `serach`
        a similar subcommand exists: `search`
        ");
        insta::assert_snapshot!(check(&["xyz"]), @r"
        unrecognized subcommand `xyz`
        see `poc-memory --help`
        ");
        insta::assert_snapshot!(check(&["daemon", "status", "--loud"]), @r"
        unexpected argument `--loud` found
        see `poc-memory daemon status --help`
        ");
        insta::assert_snapshot!(check(&["daemon", "log", "-n", "many"]), @r"
        invalid value `many` for `--lines <N>`: invalid digit found in string
        see `poc-memory daemon log --help`
        ");
        insta::assert_snapshot!(check(&["search", "-p"]), @r"
        a value is required for `--pipeline <STAGE>` but none was supplied
        see `poc-memory search --help`
        ");
        insta::assert_snapshot!(check(&["--color", "blue", "init"]), @r"
        invalid value `blue` for `--color <WHEN>` [possible values: auto, always, never]
        see `poc-memory --help`
        ");
    }
}
