//! Conversion between JSON values and Rust types.

mod all_fields;
mod description;
mod null;
mod unique_fields;

pub use all_fields::AllFields;
pub use description::join_description_lines;
pub use null::remove_null_type;
pub use unique_fields::{UniqueFields, repeated_field};

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// Why a JSON value could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The path of the invalid part, such as `nodes[2].weight`; empty for the whole value.
    pub path: String,
    /// The error message of serde.
    pub message: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

/// Decodes a value that a person or a model wrote.
///
/// # Errors
/// The path and the reason of the first part that does not match the type.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, DecodeError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path();
        let path = if path.iter().next().is_some() { path.to_string() } else { String::new() };
        DecodeError { path, message: error.into_inner().to_string() }
    })
}

/// Parses a line that a person or another program wrote.
///
/// # Errors
/// `invalid_argument` if it is not JSON, with the column of the error, or if an object repeats a field.
pub fn parse_line(line: &str) -> Result<Value> {
    let UniqueFields(value) = serde_json::from_str(line).map_err(|error| invalid_line(&error))?;
    Ok(value)
}

/// The error for a line that could not be parsed.
pub fn invalid_line(error: &serde_json::Error) -> Error {
    if let Some(name) = repeated_field(error) {
        return Error::invalid(format!("the field `{name}` is given twice")).hint("give it once");
    }
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    Error::invalid(format!("it is not JSON: {message} at column {}", error.column()))
}

/// Decodes the output of an op. It was encoded by this program, so the path of an error is not tracked: that would
/// double the generated code of every type.
///
/// # Errors
/// `internal` with the name of the op, because the caller did nothing wrong.
pub fn decode_answer<T: DeserializeOwned>(op: &str, answer: &Value) -> Result<T> {
    T::deserialize(answer).map_err(|error| undecodable(op, &error))
}

fn undecodable(op: &str, error: &serde_json::Error) -> Error {
    Error::internal(format!("the answer of `{op}` cannot be decoded: {error}"))
}

/// Encodes a value as JSON.
///
/// # Errors
/// `internal` for a map whose keys are not strings, or an error from the type's own serializer.
pub fn encode<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| unencodable(&error))
}

fn unencodable(error: &serde_json::Error) -> Error {
    Error::internal(format!("a value cannot be encoded as JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        number: u8,
        #[serde(default)]
        inner: Vec<Inner>,
        #[serde(default)]
        text: Option<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Inner {
        Point { x: f64 },
        Nothing,
    }

    #[test]
    fn values_are_decoded_and_encoded_as_by_serde_json() {
        let value =
            json!({"number": 3, "inner": [{"kind": "point", "x": 0.1}, {"kind": "nothing"}], "text": null});
        let decoded: Outer = decode(&value).unwrap();
        assert_eq!(decoded, serde_json::from_value(value.clone()).unwrap());
        assert_eq!(encode(&decoded).unwrap(), serde_json::to_value(&decoded).unwrap());
    }

    #[test]
    fn an_error_names_the_place_and_says_what_serde_json_says() {
        for (value, path) in [
            (json!({"number": 300}), "number"),
            (json!({"number": null}), "number"),
            (json!({"number": 1.5}), "number"),
            (
                json!({"number": 1, "inner": [{"kind": "point", "x": 1}, {"kind": "point", "x": "a"}]}),
                "inner[1]",
            ),
            (json!({"number": 1, "text": ["a"]}), "text"),
            (json!({"number": 1, "colour": 1}), "colour"),
            (json!({}), ""),
            (json!("a"), ""),
        ] {
            let error = decode::<Outer>(&value).unwrap_err();
            assert!(
                error.path.starts_with(path) && path.is_empty() == error.path.is_empty(),
                "{value}: {error:?}"
            );
            assert_eq!(error.message, serde_json::from_value::<Outer>(value).unwrap_err().to_string());
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_is_an_internal_error() {
        let error = decode_answer::<Outer>("stats", &json!({"number": "many"})).unwrap_err();
        assert_eq!(error.code, crate::error::Code::Internal);
        assert!(
            error.message.starts_with("the answer of `stats` cannot be decoded: invalid type: "),
            "{error}"
        );
        let keyed = BTreeMap::from([(vec![1], 1)]);
        assert_eq!(encode(&keyed).unwrap_err().code, crate::error::Code::Internal);
    }
}
