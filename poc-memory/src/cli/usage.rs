//! A command line that cannot be parsed, said the way every other error is said.

use super::output::Output;
use crate::error::{Error, Exit};
use clap::error::ErrorKind;

/// Says what the parser has to say and how the process is to end.
pub(super) fn end(error: &clap::Error, output: &Output) -> Exit {
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
            output.error(&translate(&error.to_string()));
            Exit::Usage
        }
    }
}

/// The parser's message as an error: what is wrong, then its tip or else the usage.
fn translate(rendered: &str) -> Error {
    let mut message = Vec::new();
    let mut tips = Vec::new();
    let mut usage = None;
    for line in rendered.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            tips.push(tip.to_owned());
        } else if let Some(line) = line.strip_prefix("Usage: ") {
            usage = Some(usage_hint(line));
        } else if usage.is_none() && tips.is_empty() && !line.starts_with("For more information") {
            message.push(line);
        }
    }
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let error = Error::invalid(message.replace('\'', "`"));
    match tips.as_slice() {
        [] => error.hint(usage.unwrap_or_else(|| "see `poc-memory --help`".into())),
        tips => error.hint(tips.join("; ").replace('\'', "`")),
    }
}

/// What a line of usage says, or where to look when it only says that a command is wanted.
fn usage_hint(usage: &str) -> String {
    match usage.split_once(" [OPTIONS] <COMMAND>") {
        Some((command, _)) => format!("see `{command} --help`"),
        None => format!("usage: `{usage}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::super::session::Globals;
    use super::*;

    fn check(line: &[&str]) -> String {
        let line = std::iter::once("poc-memory").chain(line.iter().copied());
        let error = command::build(&Globals::default()).try_get_matches_from(line).unwrap_err();
        let error = translate(&error.to_string());
        format!("{error}\n{}", error.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn usage_errors_read_like_all_others() {
        insta::assert_snapshot!(check(&["deamon"]), @r"
        unrecognized subcommand `deamon`
        a similar subcommand exists: `daemon`
        ");
        insta::assert_snapshot!(check(&["xyz"]), @r"
        unrecognized subcommand `xyz`
        see `poc-memory --help`
        ");
        insta::assert_snapshot!(check(&["daemon", "status", "--loud"]), @r"
        unexpected argument `--loud` found
        usage: `poc-memory daemon status [OPTIONS]`
        ");
        insta::assert_snapshot!(check(&["daemon", "log", "-n", "many"]), @r"
        invalid value `many` for `--lines <N>`: invalid digit found in string
        see `poc-memory --help`
        ");
        insta::assert_snapshot!(check(&["--color", "blue", "init"]), @r"
        invalid value `blue` for `--color <WHEN>` [possible values: auto, always, never]
        see `poc-memory --help`
        ");
    }
}
