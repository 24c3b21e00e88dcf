//! Reads an export.

use serde_json::Value;

/// The keys of the notes in an export, in their order.
pub(crate) fn keys(export: &str) -> Vec<String> {
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some(line["key"].as_str()?.to_owned())).collect()
}
