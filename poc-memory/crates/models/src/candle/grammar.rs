//! The schema of the reply of a local model. It is stricter than the schema for other providers, because the
//! grammar enforces it.

use poc_agent::action;
use poc_agent::model::Request;
use serde_json::{Value, json};

/// The schema that llguidance compiles to a grammar. Lists, strings and numbers have bounded lengths, nodes
/// must be handles of the prompt, there is no white space between JSON tokens, and strings contain only
/// characters that are allowed in notes.
pub(super) fn schema(request: &Request<'_>) -> Value {
    let handles: Vec<&str> = request.selection.handles.iter().map(|handle| handle.name.as_str()).collect();
    let mut schema = action::bounded_schema(request.actions, &handles, request.max_chars);
    if let Some(schema) = schema.as_object_mut() {
        let form = json!({"whitespace_flexible": false, "json_allowed_escapes": "nt\\\""});
        schema.insert("x-guidance".to_owned(), form);
    }
    schema
}

/// Maximum number of tokens needed to complete a reply from any point. Computed in bytes, because each token
/// writes at least one byte.
pub(super) fn closing_tokens(schema: &Value) -> usize {
    let longest = properties(schema).filter_map(|(_, list)| list.get("items")).map(min_bytes).max();
    // Bytes to finish an incomplete character or escape.
    const UNFINISHED: usize = 8;
    min_bytes(schema) + longest.unwrap_or(0) + UNFINISHED
}

/// Number of bytes that suffice for a minimal value of a schema; for an enum, for any of its values.
fn min_bytes(schema: &Value) -> usize {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| value.to_string().len()).max().unwrap_or(0);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            2 + properties(schema).map(|(name, field)| name.len() + 4 + min_bytes(field)).sum::<usize>()
        }
        // `-0.01`
        Some("number") => 5,
        _ => 2,
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}
