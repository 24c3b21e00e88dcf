//! The `_meta` of a message of MCP, to which values of its HTTP request are added.

use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// Changes the `_meta` of a JSON-RPC request. Other messages stay as they are, and the server refuses those that are
/// not valid. No field may be given twice in the message.
///
/// # Errors
/// Those of `change`.
pub(super) fn change(
    message: Vec<u8>,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<()>,
) -> Result<Vec<u8>> {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(&message) else { return Ok(message) };
    let is_request = fields.contains_key("id") && fields.contains_key("method");
    let empty = || Value::Object(Map::new());
    let params = fields.entry("params").or_insert_with(empty).as_object_mut();
    let meta = params.and_then(|params| params.entry("_meta").or_insert_with(empty).as_object_mut());
    match meta {
        Some(meta) if is_request => change(meta)?,
        _ => return Ok(message),
    }
    serde_json::to_vec(&fields).map_err(|error| Error::internal(error.to_string()))
}
