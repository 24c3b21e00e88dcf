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
    match object_in(&mut fields, "params").and_then(|params| object_in(params, "_meta")) {
        Some(meta) if is_request => change(meta)?,
        _ => return Ok(message),
    }
    serde_json::to_vec(&fields).map_err(|error| Error::internal(error.to_string()))
}

/// The object in a field. It is created if the field is missing or `null`, which the SDK takes for the same. `None` for
/// any other value.
fn object_in<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    let value = fields.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
