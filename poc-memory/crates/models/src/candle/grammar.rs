//! What a reply may be, for a model that can be held to more than the schema others are given.

use poc_agent::action;
use poc_agent::model::Request;
use serde_json::{Value, json};

/// The schema that llguidance makes a grammar of: lists, texts and numbers of bounded length, nodes by the
/// handles of the prompt, nothing between the words of JSON, and no character that no note may have.
pub(super) fn schema(request: &Request<'_>) -> Value {
    let handles: Vec<&str> = request.selection.handles.iter().map(|handle| handle.name.as_str()).collect();
    let mut schema = action::bounded(request.actions, &handles, request.max_chars);
    if let Some(schema) = schema.as_object_mut() {
        let form = json!({"whitespace_flexible": false, "json_allowed_escapes": "nt\\\""});
        schema.insert("x-guidance".to_owned(), form);
    }
    schema
}

/// Bytes that bring a reply to its end from anywhere in it, when no more is said than has to be. A token
/// writes one byte at least, so as many tokens are enough.
pub(super) fn closing(schema: &Value) -> usize {
    let longest = properties(schema).filter_map(|(_, list)| list.get("items")).map(least).max();
    // A character or an escape that was begun.
    const BEGUN: usize = 8;
    least(schema) + longest.unwrap_or(0) + BEGUN
}

/// Bytes of a value that says nothing.
fn least(schema: &Value) -> usize {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| value.to_string().len()).max().unwrap_or(0);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            2 + properties(schema).map(|(name, field)| name.len() + 4 + least(field)).sum::<usize>()
        }
        // `-0.01`
        Some("number") => 5,
        _ => 2,
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}
