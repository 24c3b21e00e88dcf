//! Messages for models name tools instead of commands.

use super::*;
use crate::mcp::hints;
use std::fs;
use std::path::Path;

#[test]
fn a_command_becomes_the_tool_that_runs_the_same_op() {
    let check = |set, text: &str, expected: &str| {
        assert_eq!(hints::rewritten(text, &offered(Access::Write, set)), expected);
    };
    check(ToolSet::Default, "`poc-memory get kettle` shows it", "`memory_get` with `kettle` shows it");
    check(ToolSet::Seed, "`poc-memory get kettle` shows it", "`graft_get` with `kettle` shows it");
    check(
        ToolSet::Default,
        "`poc-memory search 'a kettle'` looks for it",
        "`memory_search` with `a kettle` looks for it",
    );
    check(ToolSet::Default, "see `poc-memory search -p @recent`", "see `memory_search`");
    check(ToolSet::All, "`poc-memory get` of a chunk", "`memory_get` of a chunk");
    check(
        ToolSet::Default,
        "`poc-memory agent review` lists them, `poc-memory changes` too",
        "the user's command `agent review` lists them, `memory_history` too",
    );
    check(ToolSet::Default, "`poc-memory getting` is none", "the user's command `getting` is none");
    check(ToolSet::Default, "use `poc-memory` of the same version", "use `poc-memory` of the same version");
    check(ToolSet::Default, "damaged `poc-memory get x", "damaged `memory_get` with `x`");
}

/// The Rust files below a folder, without comments, tests and the command line's own files.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        if path.is_dir() {
            if !["tests", "cli"].contains(&name) {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !["tests.rs", "arguments.rs"].contains(&name) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.push(code.join("\n"));
        }
    }
}

/// All sources whose messages may reach a model.
fn all_sources() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in [here.join("src"), here.join("crates"), here.join("../poc-daemon/src")] {
        sources(&folder, &mut found);
    }
    assert!(found.len() > 100, "{} files", found.len());
    found
}

/// The string literals in the arguments of every call of `.hint(…)`.
fn hints_of(source: &str) -> Vec<String> {
    source.split(".hint(").skip(1).flat_map(literals).collect()
}

/// The string literals up to the parenthesis that closes the call.
fn literals(call: &str) -> Vec<String> {
    let (mut found, mut depth, mut letters) = (Vec::new(), 1, call.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            '"' => {
                let mut literal = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    literal.push(if letter == '\\' { letters.next().unwrap() } else { letter });
                }
                found.push(literal);
            }
            _ => {}
        }
    }
    found
}

/// Whether a text names an option of the command line in backticks, such as `--limit`.
fn names_an_option(text: &str) -> bool {
    let options = text.split('`').skip(1).step_by(2);
    let is_letter = |letter: char| letter.is_ascii_alphabetic();
    options
        .filter_map(|code| code.strip_prefix('-'))
        .any(|code| code.strip_prefix('-').unwrap_or(code).starts_with(is_letter))
}

#[test]
fn the_check_of_hints_recognizes_options() {
    for text in ["leave `--force` out", "add `-p limit:5`"] {
        assert!(names_an_option(text), "{text}");
    }
    for text in ["the stage `limit:5`", "from `-1` to `1`", "a `-`", "see `a -b`"] {
        assert!(!names_an_option(text), "{text}");
    }
    let source = r#"Error::invalid("`--a`").hint(format!("use `{}`", name("`-b`"))).field("`--c`")"#;
    assert_eq!(hints_of(source), ["use `{}`", "`-b`"]);
}

#[test]
fn no_hint_for_a_model_contains_an_option_or_a_shell_command() {
    let hints: Vec<String> = all_sources().iter().flat_map(|source| hints_of(source)).collect();
    let commands = hints.iter().filter(|hint| hint.contains("`poc-memory ")).count();
    assert!(hints.len() > 100 && commands > 20, "{} hints, {commands} commands", hints.len());
    for set in [ToolSet::Default, ToolSet::All, ToolSet::Seed] {
        let tools = offered(Access::Write, set);
        for hint in &hints {
            let rewritten_hint = hints::rewritten(hint, &tools);
            assert!(!rewritten_hint.contains("`poc-memory "), "{rewritten_hint}");
            assert!(!names_an_option(&rewritten_hint), "{rewritten_hint}");
        }
    }
}

#[test]
fn every_message_of_an_error_is_rewritten_and_notes_are_not() {
    let tools = offered(Access::Write, ToolSet::Default);
    let error = Error::not_found("there is no note `x`").hint("`poc-memory search x` looks for it");
    assert_eq!(hints::for_models(&error, &tools)["hint"], "`memory_search` with `x` looks for it");
    let command = "`poc-memory get x`";
    let mut answer = json!({
        "degraded": [command], "warning": command, "body": command,
        "notes": [{"key": "a", "error": {"code": "conflict", "message": command, "hint": command}}],
    });
    hints::rewrite_warnings(&mut answer, &tools);
    let tool = "`memory_get` with `x`";
    let expected = json!({
        "degraded": [tool], "warning": tool, "body": command,
        "notes": [{"key": "a", "error": {"code": "conflict", "message": tool, "hint": tool}}],
    });
    assert_eq!(answer, expected);
}
