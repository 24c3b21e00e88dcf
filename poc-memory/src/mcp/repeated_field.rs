//! Messages that give a field twice. The SDK would use the last one.

use poc_graph::json::{self, UniqueFields};
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use serde_json::Value;

/// The answer to a message in which an object has a field twice; `None` for any other message.
pub fn refusal(message: &[u8]) -> Option<JsonRpcError> {
    let error = serde_json::from_slice::<UniqueFields>(message).err()?;
    let name = json::repeated_field(&error)?;
    let error = ErrorData::invalid_params(format!("the field `{name}` is given twice"), None);
    Some(JsonRpcError::new(id_of(message), error))
}

/// The id of a message that is JSON.
fn id_of(message: &[u8]) -> Option<RequestId> {
    let message: Value = serde_json::from_slice(message).ok()?;
    serde_json::from_value(message.get("id")?.clone()).ok()
}
