//! Names the command that holds the store, if another command does.

use super::command;
use super::command_context::CommandContext;
use super::globals::Globals;
use poc_graph::error::{Code, Error};
use poc_store::Store;
use std::path::Path;

/// The hint if another command holds the store.
const HINT: &str = "wait until it has ended; with a daemon, commands need not wait for each other: \
    `poc-memory daemon start`";

/// The error of a command. If another command holds the store, the error names it; a daemon keeps its own error.
pub(super) fn with_holder(context: &CommandContext, error: Error) -> Error {
    if error.code != Code::Locked {
        return error;
    }
    let Ok(Some(pid)) = Store::holder(&context.paths.store()) else { return error };
    let reason = format!("the store is held by {}", Store::holder_name(pid));
    match running_command(pid) {
        Some(name) if error.message == reason => {
            Error { message: format!("{reason}, `poc-memory {name}`"), ..error }.hint(HINT)
        }
        _ => error,
    }
}

/// The command of another process; `None` if it is not a command, or on a system without `/proc`.
fn running_command(pid: u32) -> Option<String> {
    // The holder is in another container: this process waits for it.
    if pid == std::process::id() {
        return None;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into()).collect();
    let (program, words) = words.split_first()?;
    if Path::new(program).file_name()? != "poc-memory" {
        return None;
    }
    command_name(words)
}

/// The name of the command that a command line selects. The line is not parsed, because parsing reads files and
/// standard input.
fn command_name(words: &[String]) -> Option<String> {
    let top = command::build(&Globals::default());
    let takes_value = |word: &str| {
        let mut globals = top.get_arguments();
        globals.any(|own| own.get_action().takes_values() && own.get_long() == word.strip_prefix("--"))
    };
    let (mut selected, mut names) = (&top, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            if takes_value(word) {
                words.next();
            }
        } else if let Some(next) = selected.find_subcommand(word) {
            names.push(next.get_name());
            selected = next;
        } else {
            break;
        }
    }
    (!names.is_empty()).then(|| names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_selects_a_command() {
        let check = |line: &str, expected: Option<&str>| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(command_name(&words).as_deref(), expected, "{line}");
        };
        check("import export", Some("import"));
        check("--json -q --profile export import notes.jsonl", Some("import"));
        check("--tenant=user=ada add - --title x", Some("insert"));
        check("agent run linker", Some("agent run"));
        check("--color never", None);
        check("", None);
    }
}
