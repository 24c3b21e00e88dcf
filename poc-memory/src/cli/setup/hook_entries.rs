//! The entries that register `poc-memory hook` with an assistant. Claude Code and Codex use the same format:
//! each entry runs one shell command.

use super::edit::Edit;
use crate::cli::command_context::CommandContext;
use crate::cli::invocation::Invocation;
use poc_graph::error::Result;
use serde_json::{Map, Value, json};

/// Event of the assistant, hook that handles it, and matcher (which kinds of session start trigger it). Uses of tools
/// are not among them: `hook tool` only has the session captured, and the daemon watches its transcript anyway.
const EVENTS: [(&str, &str, Option<&str>); 5] = [
    ("SessionStart", "session-start", Some("startup|resume|clear|compact")),
    ("UserPromptSubmit", "prompt", None),
    ("PreCompact", "pre-compact", None),
    ("Stop", "stop", None),
    ("SessionEnd", "session-end", None),
];

/// Timeout of a hook in seconds, after which an assistant gives up. A call takes at most two.
const TIMEOUT: u64 = 5;

/// The hooks by event, in the format of a hooks file.
pub(in crate::cli) fn hooks(context: &CommandContext) -> Result<Value> {
    let mut events = Map::new();
    for (event, entry) in entries(context)? {
        events.insert(event.to_owned(), json!([entry]));
    }
    Ok(Value::Object(events))
}

/// The changes that register the hooks in addition to those of other programs.
pub(super) fn edits(context: &CommandContext) -> Result<Vec<Edit>> {
    let entries = entries(context)?.into_iter();
    Ok(entries.map(|(event, entry)| Edit::HookEntry { event: event.to_owned(), entry }).collect())
}

fn entries(context: &CommandContext) -> Result<Vec<(&'static str, Value)>> {
    EVENTS
        .into_iter()
        .map(|(event, hook, matcher)| {
            let command = Invocation::of(context, &["hook", hook])?.shell_line();
            let mut entry = Map::new();
            if let Some(matcher) = matcher {
                entry.insert("matcher".into(), matcher.into());
            }
            entry.insert(
                "hooks".into(),
                json!([{ "type": "command", "command": command, "timeout": TIMEOUT }]),
            );
            Ok((event, Value::Object(entry)))
        })
        .collect()
}

/// Whether an entry calls this program's hook, with any path and profile.
pub(super) fn is_own(entry: &Value) -> bool {
    let Some((program, hook)) = command(entry).and_then(|command| command.rsplit_once(" hook ")) else {
        return false;
    };
    program.contains("poc-memory") && EVENTS.iter().any(|(_, own, _)| *own == hook.trim())
}

/// Whether two entries run the same command.
pub(super) fn have_same_command(a: &Value, b: &Value) -> bool {
    command(a).is_some() && command(a) == command(b)
}

/// The command of an entry; `None` if it has several, or none.
fn command(entry: &Value) -> Option<&str> {
    match entry.get("hooks")?.as_array()?.as_slice() {
        [only] => only.get("command")?.as_str(),
        _ => None,
    }
}
