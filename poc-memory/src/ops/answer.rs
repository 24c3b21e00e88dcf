//! The version that every JSON answer has.

use serde_json::{Map, Value, json};

/// The version of the format of JSON answers. Within one version fields may be added but not renamed.
pub const SCHEMA_VERSION: u32 = 1;

/// The answer as an object that starts with `schema_version`. A value that is not an object becomes the field
/// `answer`.
pub fn versioned(answer: Value) -> Value {
    let mut object = Map::new();
    object.insert("schema_version".into(), SCHEMA_VERSION.into());
    match answer {
        Value::Object(fields) => object.extend(fields),
        other => {
            object.insert("answer".into(), other);
        }
    }
    Value::Object(object)
}

/// The schema of an answer with [`versioned`] applied.
pub fn versioned_schema(mut schema: Map<String, Value>) -> Map<String, Value> {
    let version = json!({"type": "integer", "description": "Version of the shape of answers"});
    if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
        properties.shift_insert(0, "schema_version".into(), version);
    }
    if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
        required.insert(0, "schema_version".into());
    }
    schema
}
