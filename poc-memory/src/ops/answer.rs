//! What every JSON answer carries, whatever the surface.

use serde_json::{Map, Value};

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
