//! Replaces commands by tools in messages for models.
//!
//! Messages and hints are written once, for a person at a shell: `` `poc-memory get NOTE` shows it``. For a
//! model, the command is replaced by the tool that runs the same op. If there is no such tool, the command is
//! described as one that the user can run.

use super::tools::{OfferedTool, running};
use crate::ops::OPS;
use poc_graph::error::Error;
use serde_json::Value;

/// The beginning of a command in a message.
const COMMAND: &str = "`poc-memory ";

/// An error as JSON, with all messages rewritten for a model.
pub(super) fn for_models(error: &Error, tools: &[OfferedTool]) -> Value {
    let mut value = serde_json::to_value(error).unwrap_or_default();
    rewrite_messages(&mut value, tools);
    value
}

/// Rewrites the warnings of an answer, and the errors of single notes. Notes themselves stay as they are.
pub(super) fn rewrite_warnings(answer: &mut Value, tools: &[OfferedTool]) {
    if let Some(reasons) = answer.get_mut("degraded") {
        rewrite_each(reasons, tools);
    }
    if let Some(warning) = answer.get_mut("warning") {
        rewrite(warning, tools);
    }
    if let Some(Value::Array(notes)) = answer.get_mut("notes") {
        notes.iter_mut().filter_map(|note| note.get_mut("error")).for_each(|error| {
            rewrite_messages(error, tools);
        });
    }
}

/// Rewrites every message, hint and reason within an error.
fn rewrite_messages(value: &mut Value, tools: &[OfferedTool]) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "message" | "hint" => rewrite(value, tools),
                    "degraded" => rewrite_each(value, tools),
                    _ => rewrite_messages(value, tools),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_messages(item, tools)),
        _ => {}
    }
}

/// Rewrites a text or every text of a list.
fn rewrite_each(value: &mut Value, tools: &[OfferedTool]) {
    match value {
        Value::Array(texts) => texts.iter_mut().for_each(|text| rewrite(text, tools)),
        text => rewrite(text, tools),
    }
}

fn rewrite(value: &mut Value, tools: &[OfferedTool]) {
    if let Value::String(text) = value
        && text.contains(COMMAND)
    {
        *text = rewritten(text, tools);
    }
}

/// The text with every command replaced.
pub(super) fn rewritten(text: &str, tools: &[OfferedTool]) -> String {
    let mut parts = text.split(COMMAND);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (command, rest) = part.split_once('`').unwrap_or((part, ""));
        result += &for_model(command.trim(), tools);
        result += rest;
    }
    result
}

/// A command line without the program, for a model.
fn for_model(command: &str, tools: &[OfferedTool]) -> String {
    let is_first =
        |name: &str| command.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let op = OPS.iter().filter(|op| is_first(op.command)).max_by_key(|op| op.command.len());
    let Some((op, tool)) = op.and_then(|op| Some((op, running(tools, op.name)?))) else {
        return format!("the user's command `{command}`");
    };
    let arguments = command.get(op.command.len()..).unwrap_or_default().trim();
    // Options exist only on the command line, so arguments with options are left out.
    if arguments.is_empty() || arguments.split(' ').any(|word| word.starts_with('-')) {
        return format!("`{tool}`");
    }
    format!("`{tool}` with `{}`", unquoted(arguments))
}

/// One quoted word without its quotes; anything else as it is.
fn unquoted(text: &str) -> String {
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(word) => word.replace("'\\''", "'"),
        None => text.to_owned(),
    }
}
