//! JSON Schemas of tools, in a form that strict clients accept.

use crate::ops::OpDef;
use poc_config::TenantSchema;
use poc_graph::json::remove_null_type;
use serde_json::{Map, Value};

/// Formats of schemars that clients may not know and therefore reject.
const OWN_FORMATS: [&str; 8] = ["uint", "uint8", "uint16", "uint32", "uint64", "int64", "double", "float"];

/// The input schema of a tool. Optional fields are omitted rather than null, so no type is `null`.
pub(super) fn input(op: &OpDef, tenants: Option<&TenantSchema>) -> Map<String, Value> {
    let mut schema = strict(Value::clone(&(op.shared_request_schema)()));
    // Added unchanged: [`strict`] would change its meaning.
    if let Some(tenants) = tenants {
        op.add_tenant(&mut schema, tenants);
    }
    schema
}

/// Removes defaults, which the descriptions of default tools already mention, and redundant keywords, because
/// these schemas are part of every conversation.
pub(super) fn without_defaults(schema: Map<String, Value>) -> Map<String, Value> {
    let schema = each(schema.into(), &|object| {
        // A property may also have one of these names; then its value is a schema and is kept.
        for word in ["default", "$schema", "title", "format"] {
            if object.get(word).is_some_and(|value| !value.is_object()) {
                object.shift_remove(word);
            }
        }
        if object.get("additionalProperties") == Some(&Value::Bool(true)) {
            object.shift_remove("additionalProperties");
        }
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A schema without `null` and unknown formats, and always with `properties`.
pub(super) fn strict(schema: Value) -> Map<String, Value> {
    let Value::Object(mut schema) = each(without_own_formats(schema), &remove_null_type) else {
        return Map::new();
    };
    // An op without arguments also needs `properties`.
    schema.entry("properties").or_insert_with(|| Map::new().into());
    schema
}

/// Removes unknown formats.
fn without_own_formats(schema: Value) -> Value {
    each(schema, &|object| {
        let own = |format: &Value| format.as_str().is_some_and(|format| OWN_FORMATS.contains(&format));
        if object.get("format").is_some_and(own) {
            object.shift_remove("format");
        }
    })
}

/// Applies a change to every schema within a schema, the innermost first.
fn each(schema: Value, change: &dyn Fn(&mut Map<String, Value>)) -> Value {
    match schema {
        Value::Array(items) => items.into_iter().map(|item| each(item, change)).collect(),
        Value::Object(fields) => {
            let mut object: Map<String, Value> =
                fields.into_iter().map(|(name, value)| (name, each(value, change))).collect();
            change(&mut object);
            object.into()
        }
        plain => plain,
    }
}
