//! What every JSON answer carries, whatever the surface.

use serde_json::{Map, Value, json};

/// The version of the shape of JSON answers. Fields may be added under one version, not renamed.
pub const SCHEMA_VERSION: u32 = 1;

/// An answer as one object that begins with `schema_version`. What is no object stands in `answer`.
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

/// The schema of an answer as [`versioned`] makes it.
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
