//! Schemas that do not allow `null`.

use serde_json::{Map, Value};

/// Removes `null` from the types and the default of a schema, for formats that have no null. If an `anyOf` or `oneOf`
/// then has one schema left, its fields replace it; where both schemas have a field, the outer one is kept. Schemas
/// within the schema do not change.
pub fn remove_null_type(schema: &mut Map<String, Value>) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = schema.get_mut(word) else { continue };
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.shift_remove(word);
            for (name, value) in only {
                schema.entry(name).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_removed() {
        let check = |schema: Value, expected: Value| {
            let mut fields = schema.as_object().unwrap().clone();
            remove_null_type(&mut fields);
            assert_eq!(Value::Object(fields), expected);
        };
        check(json!({"type": ["integer", "null"], "default": null}), json!({"type": "integer"}));
        check(json!({"type": ["integer", "string", "null"]}), json!({"type": ["integer", "string"]}));
        check(json!({"anyOf": [{"$ref": "#/x"}, {"type": "null"}]}), json!({"$ref": "#/x"}));
        check(json!({"oneOf": [{"$ref": "#/x"}, {"type": "null"}]}), json!({"$ref": "#/x"}));
        let inner = json!({"description": "inner", "enum": [1]});
        check(
            json!({"description": "outer", "anyOf": [{"type": "null"}, inner]}),
            json!({"description": "outer", "enum": [1]}),
        );
        check(json!({"type": "string", "default": "a"}), json!({"type": "string", "default": "a"}));
    }
}
