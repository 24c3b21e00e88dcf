//! Messages that give a field twice. The SDK would use the last one.

use poc_graph::json::{self, UniqueFields};
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use serde_json::Value;

/// The answer to a message in which an object has a field twice; `None` for any other message.
pub fn refusal(message: &[u8]) -> Option<JsonRpcError> {
    let error = serde_json::from_slice::<UniqueFields>(message).err()?;
    let name = json::repeated_field(&error)?;
    let error = ErrorData::invalid_params(format!("the field `{name}` is given twice"), None);
    let message: Option<Value> = serde_json::from_slice(message).ok();
    Some(JsonRpcError::new(message.as_ref().and_then(id_of), error))
}

/// The id of a message, if it has a valid one.
pub fn id_of(message: &Value) -> Option<RequestId> {
    serde_json::from_value(message.get("id")?.clone()).ok()
}
