//! Keys that begin with a text, for completions.

use super::{OpDef, find};
use poc_graph::error::Result;
use serde_json::{Value, json};

/// Maximum number of keys.
const MAX_KEYS: usize = 20;

/// Keys of notes that begin with `begin`, the heaviest first, at most 20. `call` runs an op. Empty if the op fails.
pub(crate) fn keys_beginning_with(
    begin: &str,
    call: impl FnOnce(&'static OpDef, Value) -> Result<Value>,
) -> Vec<String> {
    // Other characters have a meaning in the pipeline, and keys hardly ever contain them.
    if !begin.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter)) {
        return Vec::new();
    }
    let pipeline = format!("all | key:{begin}* | sort:weight | limit:{MAX_KEYS}");
    let Some(op) = find("search") else { return Vec::new() };
    let Ok(found) = call(op, json!({ "pipeline": [pipeline] })) else { return Vec::new() };
    let hits = found.get("results").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    hits.iter().filter_map(|hit| Some(hit.get("key")?.as_str()?.to_owned())).collect()
}
