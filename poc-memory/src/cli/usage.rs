//! Errors of command-line parsing, reported like all other errors.

use super::command::{self, SelectedCommand};
use super::globals::Globals;
use super::output::Output;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};
use poc_graph::error::{Code, Error, Exit};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

/// Prints the parser's message and returns the exit status.
pub(super) fn report(error: &clap::Error, arguments: &[OsString], output: &Output) -> Exit {
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
            output.error(&to_error(error, arguments));
            Exit::Usage
        }
    }
}

/// The parser's message as an error, with a better hint where there is one.
fn to_error(error: &clap::Error, arguments: &[OsString]) -> Error {
    if let Some(own) = error_in_file(error) {
        return own;
    }
    let translated = translate(&rendered(error), &help_for(arguments));
    match meant_commands(error, arguments).as_slice() {
        [name] => translated.hint(format!("`poc-memory {name}` does this; see `poc-memory {name} --help`")),
        [] if is_second_path_of_import(error, arguments) => {
            translated.hint("`import` takes one path: name the folder, or import each file by itself")
        }
        [] if is_unknown_assistant(error) => {
            let tip = translated.hint.as_deref().filter(|hint| !hint.starts_with("see "));
            let hint = match tip {
                Some(tip) => format!("{tip}; {OTHER_ASSISTANTS}"),
                None => OTHER_ASSISTANTS.to_owned(),
            };
            translated.hint(hint)
        }
        [] => translated,
        several => {
            let commands: Vec<String> = several.iter().map(|name| format!("`poc-memory {name}`")).collect();
            translated.hint(format!("did you mean {}?", commands.join(" or ")))
        }
    }
}

/// The error about the contents of a file that an option names. It needs neither the name of the file, which is `-` for
/// standard input, nor the help of the command.
fn error_in_file(error: &clap::Error) -> Option<Error> {
    let own = error.source()?.downcast_ref::<Error>()?;
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    argument.ends_with(" <FILE>").then(|| own.clone())
}

/// Words that people try for commands with another name.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("ask", "retrieve"),
    ("edit", "insert --update"),
    ("find", "search"),
    ("ls", "list"),
    ("mv", "rename"),
    ("new", "insert"),
    ("note", "insert"),
    ("open", "get"),
    ("read", "get"),
    ("remember", "insert"),
    ("remove", "delete"),
    ("revert", "undo"),
    ("rm", "delete"),
    ("save", "insert"),
    ("show", "get"),
];

/// How to connect an assistant that `setup` does not know.
const OTHER_ASSISTANTS: &str = "for another assistant, paste what `poc-memory mcp config cursor` prints into its \
    settings of MCP servers; most assistants read this form";

/// Whether `setup` or `mcp config` got the name of an assistant that they do not know.
fn is_unknown_assistant(error: &clap::Error) -> bool {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return false };
    error.kind() == ErrorKind::InvalidValue
        && ["ASSISTANT", "CLIENT"].iter().any(|name| argument.contains(name))
}

/// The first word of a command line that is not an option.
fn first_word(arguments: &[OsString]) -> Option<&str> {
    arguments.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?.to_str()
}

/// Whether `import` got several paths, as from a pattern of the shell.
fn is_second_path_of_import(error: &clap::Error, arguments: &[OsString]) -> bool {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given,
        _ => return false,
    };
    first_word(arguments) == Some("import") && !given.starts_with('-')
}

/// The commands that an unknown first word may mean: the one for which it is a common other name, otherwise those whose
/// last word it is, such as `agent review` for `review`.
fn meant_commands(error: &clap::Error, arguments: &[OsString]) -> Vec<&'static str> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return Vec::new();
    };
    if first_word(arguments) != Some(given.as_str()) {
        return Vec::new();
    }
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| other == given) {
        return vec![*name];
    }
    let is_last = |name: &&str| name.rsplit_once(' ').is_some_and(|(_, last)| last == given);
    command::all().map(SelectedCommand::name).filter(is_last).collect()
}

/// The parser's message. Messages of the standard library about numbers are replaced by the valid range.
fn rendered(error: &clap::Error) -> String {
    let text = error.to_string();
    let Some(source) = error.source() else { return text };
    let wrong = source.to_string();
    // `0 is not in 1..=365`, by the parser of bounded numbers.
    let bounds = wrong.split_once(" is not in ").and_then(|(_, bounds)| bounds.split_once("..="));
    let right = match (source.downcast_ref::<ParseIntError>().map(ParseIntError::kind), bounds) {
        (Some(IntErrorKind::PosOverflow), _) => "the number is too large".to_owned(),
        (Some(IntErrorKind::NegOverflow), _) => "the number is too small".to_owned(),
        (Some(_), _) => "give a whole number, for example `10`".to_owned(),
        (None, Some((min, max))) => format!("give a number from {min} to {max}"),
        (None, None) if source.is::<ParseFloatError>() => "give a number, for example `0.8`".to_owned(),
        (None, None) => return text,
    };
    text.replace(&wrong, &right)
}

/// Converts an error of a request to an error of the command line: names of fields are replaced by the
/// options that set them, for example `top_k` by `--limit`, and fields that are positional arguments by their names in
/// the usage line, or by nothing where the message is clear without. Fields of files keep their names.
pub(super) fn in_options(mut error: Error, matches: &ArgMatches) -> Error {
    if error.at.as_ref().is_some_and(|at| at.file.is_some() || at.line.is_some()) {
        return error;
    }
    let top = command::build(&Globals::default());
    // Without `--profile`, the field `profile` is about an argument, for example of `profile show`.
    let names_profile = matches.get_one::<String>("profile").is_some();
    let globals = || top.get_arguments().filter(|argument| names_profile || argument.get_id() != "profile");
    let (mut command, mut matches) = (&top, matches);
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { return error };
        (command, matches) = (found, below);
    }
    let option = |field: &str| {
        let argument =
            command.get_arguments().chain(globals()).find(|argument| argument.get_id() == field)?;
        argument.get_long().map(|long| format!("--{long}"))
    };
    // The options of some fields have another name in the code, because `type` is a word of Rust.
    let same_name = |field: &str| {
        let is_option = command.get_arguments().any(|argument| argument.get_long() == Some(field));
        is_option.then(|| format!("--{field}"))
    };
    if let Some(at) = error.at.as_mut()
        && let Some(field) = at.field.clone()
    {
        let is_field = |argument: &&Arg| argument.get_id() == field.as_str();
        if let Some(option) = option(&field).or_else(|| same_name(&field)) {
            at.field = Some(option);
        } else if let Some(argument) = command.get_positionals().find(is_field) {
            at.field = positional_name(command, argument, matches, &error.message);
        }
    }
    // The words of a pipeline are not fields.
    if error.at.as_ref().is_some_and(|at| !at.pipelines.is_empty()) {
        return error;
    }
    if error.code == Code::InvalidArgument {
        error.message = with_options(&error.message, option);
    }
    error.hint = error.hint.map(|hint| with_options(&hint, option));
    error
}

/// The name of a positional argument, as the usage line shows it. `None` if the command has no other, or if the message
/// quotes what was given.
fn positional_name(command: &Command, argument: &Arg, matches: &ArgMatches, message: &str) -> Option<String> {
    let given = matches.try_get_raw(argument.get_id().as_str()).ok().flatten();
    let is_quoted = given.into_iter().flatten().any(|value| {
        let value = value.to_string_lossy();
        message.contains(&format!("`{value}`"))
    });
    if is_quoted || command.get_positionals().count() == 1 {
        return None;
    }
    argument.get_value_names()?.first().map(|name| format!("<{name}>"))
}

/// A text in which fields in backticks are replaced by their options. A hint that suggests similar names stays as it
/// is, because its backticks contain names of notes or of other data.
fn with_options(text: &str, option: impl Fn(&str) -> Option<String>) -> String {
    if text.contains("did you mean") {
        return text.to_owned();
    }
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => option(part).unwrap_or_else(|| part.to_owned()),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// The command line that prints the help of the intended command.
fn help_for(arguments: &[OsString]) -> String {
    let top = command::build(&Globals::default());
    let mut command = &top;
    let mut path = vec![top.get_name()];
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(found) => {
                command = found;
                path.push(found.get_name());
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    format!("see `{} --help`", path.join(" "))
}

/// A parser's message as an error, for `poc-daemon`; `None` for help and the version.
pub(super) fn parser_error(error: &clap::Error, help: &str) -> Option<Error> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(translate(&rendered(error), help)),
    }
}

/// A tip of the parser. It lists several similar names from the least to the most similar one; the best comes first.
fn best_first(tip: &str) -> String {
    match tip.split_once(": ") {
        Some((what, names)) if what.starts_with("some similar ") => {
            let names: Vec<&str> = names.split(", ").collect();
            format!("{what}: {}", names.into_iter().rev().collect::<Vec<_>>().join(", "))
        }
        _ => tip.to_owned(),
    }
}

/// The parser's message as an error; the hint is its tip, or otherwise `help`.
fn translate(rendered: &str, help: &str) -> Error {
    let mut message = Vec::new();
    let mut tips = Vec::new();
    let lines = rendered.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.take_while(|line| !line.starts_with("Usage: ") && !line.starts_with("For more")) {
        match line.strip_prefix("tip: ") {
            // Somebody who mistyped an option does not need the hint that it could be a text.
            Some(tip) if tip.starts_with("to pass '") => {}
            Some(tip) => tips.push(best_first(tip)),
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
        let error = to_error(&error, &line);
        format!("{error}\n{}", error.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn other_names_are_those_of_commands() {
        let top = command::build(&Globals::default());
        for (other, name) in OTHER_NAMES {
            // An option may follow, as in `insert --update`.
            let command = name.split(' ').next().unwrap();
            assert!(
                top.find_subcommand(other).is_none() && top.find_subcommand(command).is_some(),
                "{other}: {name}"
            );
        }
    }

    #[test]
    fn usage_errors_have_the_format_of_all_errors() {
        insta::assert_snapshot!(check(&["serach"]), @r"
        unrecognized subcommand `serach`
        a similar subcommand exists: `search`
        ");
        insta::assert_snapshot!(check(&["serch"]), @r"
        unrecognized subcommand `serch`
        some similar subcommands exist: `search`, `insert`
        ");
        insta::assert_snapshot!(check(&["review"]), @r"
        unrecognized subcommand `review`
        `poc-memory agent review` does this; see `poc-memory agent review --help`
        ");
        insta::assert_snapshot!(check(&["sync"]), @r"
        unrecognized subcommand `sync`
        did you mean `poc-memory profile remote sync` or `poc-memory vault sync`?
        ");
        insta::assert_snapshot!(check(&["remember", "milk"]), @r"
        unrecognized subcommand `remember`
        `poc-memory insert` does this; see `poc-memory insert --help`
        ");
        insta::assert_snapshot!(check(&["edit", "soup"]), @r"
        unrecognized subcommand `edit`
        `poc-memory insert --update` does this; see `poc-memory insert --update --help`
        ");
        insta::assert_snapshot!(check(&["vault", "rm"]), @r"
        unrecognized subcommand `rm`
        a similar subcommand exists: `remove`
        ");
        insta::assert_snapshot!(check(&["xyz"]), @r"
        unrecognized subcommand `xyz`
        see `poc-memory --help`
        ");
        insta::assert_snapshot!(check(&["daemon", "status", "--loud"]), @r"
        unexpected argument `--loud` found
        see `poc-memory daemon status --help`
        ");
        insta::assert_snapshot!(check(&["import", "--dry-run"]), @r"
        unexpected argument `--dry-run` found
        see `poc-memory import --help`
        ");
        insta::assert_snapshot!(check(&["import", "a.md", "b.md"]), @r"
        unexpected argument `b.md` found
        `import` takes one path: name the folder, or import each file by itself
        ");
        insta::assert_snapshot!(check(&["daemon", "log", "-n", "many"]), @r"
        invalid value `many` for `--lines <N>`: give a whole number, for example `10`
        see `poc-memory daemon log --help`
        ");
        insta::assert_snapshot!(check(&["list", "--limit", "99999999999999999999"]), @r"
        invalid value `99999999999999999999` for `--limit <N>`: the number is too large
        see `poc-memory list --help`
        ");
        insta::assert_snapshot!(check(&["eval", "x", "--agents", "y", "--nights", "0"]), @r"
        invalid value `0` for `--nights <N>`: give a number from 1 to 365
        see `poc-memory eval --help`
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

    #[test]
    fn an_error_in_a_file_names_the_line_first() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("notes.jsonl");
        std::fs::write(&file, "{\"title\": \"One\"}\n[1]\n").unwrap();
        insta::assert_snapshot!(check(&["insert", "--notes", file.to_str().unwrap()]), @r#"line 2: it is JSON but not an object; write one note per line: {"title": …, "body": …}; nothing was stored"#);
    }

    #[test]
    fn an_unknown_assistant_is_connected_by_hand() {
        for line in [["setup", "gemini"].as_slice(), &["setup", "opencode"], &["mcp", "config", "windsurf"]] {
            let error = check(line);
            assert!(error.contains("invalid value `") && error.contains("claude-code, codex"), "{error}");
            assert!(error.contains("`poc-memory mcp config cursor` prints"), "{error}");
        }
        // A mistyped name is still corrected.
        let error = check(&["setup", "cluade-code"]);
        assert!(error.contains("`claude-code`") && error.contains("; for another assistant"), "{error}");
    }

    #[test]
    fn errors_of_requests_name_the_option_instead_of_the_field() {
        let converted = |line: &[&str], error: Error| {
            let line = std::iter::once("poc-memory").chain(line.iter().copied());
            let matches = command::build(&Globals::default()).try_get_matches_from(line).unwrap();
            in_options(error, &matches).to_string()
        };
        let name =
            |line: &[&str], field: &str| converted(line, Error::invalid("0 is out of range").field(field));
        assert_eq!(name(&["search", "x"], "top_k"), "`--limit`: 0 is out of range");
        assert_eq!(name(&["retrieve", "x"], "top_k"), "`--limit`: 0 is out of range");
        assert_eq!(name(&["explore", "x"], "depth"), "`--depth`: 0 is out of range");
        assert_eq!(name(&["insert", "x"], "type"), "`--type`: 0 is out of range");
        assert_eq!(name(&["get", "x"], "node"), "0 is out of range");
        assert_eq!(name(&["get", "x"], "unknown"), "`unknown`: 0 is out of range");
        assert_eq!(name(&["get", "x"], "tenant"), "`--tenant`: 0 is out of range");
        assert_eq!(name(&["--profile", "y", "stats"], "profile"), "`--profile`: 0 is out of range");
        assert_eq!(name(&["profile", "show", "y"], "profile"), "`profile`: 0 is out of range");
        // One of several arguments is named, unless the message shows which one it is about.
        assert_eq!(name(&["supersede", "x", "y"], "new"), "`<NEW>`: 0 is out of range");
        let unknown = Error::not_found("there is no note `y`").field("new");
        assert_eq!(converted(&["supersede", "x", "y"], unknown), "there is no note `y`");
        let in_file = Error::config("0 is out of range").field("depth").file("x.toml");
        assert_eq!(converted(&["explore", "x"], in_file), "x.toml:`depth`: 0 is out of range");
        let hint = |line: &[&str], hint: &str| {
            let line = std::iter::once("poc-memory").chain(line.iter().copied());
            let matches = command::build(&Globals::default()).try_get_matches_from(line).unwrap();
            in_options(Error::conflict("the key `update` is taken").hint(hint), &matches).line()
        };
        assert_eq!(
            hint(&["insert", "x"], "give `update`, `supersedes` with `btree`, or `if_version`"),
            "the key `update` is taken; give `--update`, `--supersedes` with `btree`, or `--if-version`"
        );
        assert_eq!(
            hint(&["forget", "--before", "1d"], "give `message_id` or `before`, or add `recent`"),
            "the key `update` is taken; give `--message-id` or `--before`, or add `--recent`"
        );
        assert!(hint(&["insert", "x"], "did you mean `title`?").ends_with("; did you mean `title`?"));
        let invalid = Error::invalid("`if_version` is for updates only");
        assert_eq!(converted(&["insert", "x"], invalid), "`--if-version` is for updates only");
    }
}
