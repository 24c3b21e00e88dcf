//! Messages name tools.

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

/// The commands in backticks within the Rust files below a folder.
fn commands(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            commands(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let parts = line.split("`poc-memory ").skip(1);
                found.extend(parts.map(|part| format!("`poc-memory {}`", part.split('`').next().unwrap())));
            }
        }
    }
}

#[test]
fn no_message_tells_a_model_a_shell_command() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in [here.join("src"), here.join("crates"), here.join("../poc-daemon/src")] {
        commands(&folder, &mut found);
    }
    assert!(found.len() > 20, "{found:?}");
    for set in [ToolSet::Default, ToolSet::All, ToolSet::Seed] {
        let tools = offered(Access::Write, set);
        for command in &found {
            let told = hints::rewritten(command, &tools);
            assert!(!told.contains("poc-memory"), "{told}");
            let is_tool = tools.iter().any(|tool| told.starts_with(&format!("`{}`", tool.name)));
            assert!(is_tool || told.starts_with("the user's command `"), "{told}");
        }
    }
}

#[test]
fn every_message_of_an_error_is_rewritten_and_notes_are_not() {
    let tools = offered(Access::Write, ToolSet::Default);
    let error = Error::not_found("there is no node `x`").hint("`poc-memory search x` looks for it");
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
