//! Encodes the answers of ops as JSON and decodes their requests.
//!
//! There are some three hundred types in them, and how often each is compiled decides how long this crate takes to
//! build. They are encoded through a trait object, and decoded from a borrowed value only.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Encodes a value.
///
/// # Errors
/// When a map has keys that are not strings, or the value refuses to be encoded.
pub(super) fn encode(value: &dyn erased_serde::Serialize) -> Result<Value, serde_json::Error> {
    value.serialize(serde_json::value::Serializer)
}

/// Decodes a value.
///
/// # Errors
/// The first part of the value that does not fit, with its path.
pub(super) fn decode<T: DeserializeOwned>(
    value: &Value,
) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(value)
}
