//! Normalises the arguments of tool calls. Models often pass omitted arguments as `null` or `""`, and lists
//! and objects as JSON text.

use crate::ops::similar_field::similar_field;
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// The arguments without omitted ones, and with lists and objects decoded from text. `schema` is the schema
/// of the tool.
pub(super) fn prepared(given: Map<String, Value>, schema: &Map<String, Value>) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_omitted = |name: &str, value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() && !required.iter().any(|required| required == name),
        _ => false,
    };
    let kind = |name: &str| schema.get("properties")?.get(name)?.get("type")?.as_str();
    let decoded = |name: &str, value: Value| match (value, kind(name)) {
        (Value::String(text), Some("array")) => decode(&text, Value::is_array).unwrap_or(text.into()),
        (Value::String(text), Some("object")) => decode(&text, Value::is_object).unwrap_or(text.into()),
        (Value::Object(object), Some("array")) => Value::Array(vec![object.into()]),
        (value, _) => value,
    };
    given
        .into_iter()
        .filter(|(name, value)| !is_omitted(name, value))
        .map(|(name, value)| {
            let value = decoded(&name, value);
            (name, value)
        })
        .collect()
}

/// The value of a JSON text, if it has the right type.
fn decode(text: &str, is_right: fn(&Value) -> bool) -> Option<Value> {
    serde_json::from_str(text).ok().filter(is_right)
}

/// Refuses arguments that a tool does not have.
pub(super) fn refuse_unknown(given: &Map<String, Value>, schema: &Value) -> Result<()> {
    let Some(Value::Object(known)) = schema.get("properties") else { return Ok(()) };
    // `expires_at` is another name of `expires`.
    let is_known = |name: &str| {
        known.contains_key(name) || name.strip_suffix("_at").is_some_and(|name| known.contains_key(name))
    };
    let Some(unknown) = given.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let names = known.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let hint = match similar_field(unknown, known.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? The arguments are {names}"),
        None => format!("the arguments are {names}"),
    };
    Err(Error::invalid(format!("there is no argument `{unknown}`")).hint(hint).field(unknown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn omitted_arguments_are_dropped_and_json_in_text_is_decoded() {
        let schema = object(json!({"required": ["node"], "properties": {
            "node": {"type": "string"}, "key": {"type": "string"}, "keywords": {"type": "array"},
            "notes": {"type": "array"}, "metadata": {"type": "object"},
        }}));
        let check = |given: Value, expected: Value| {
            assert_eq!(Value::Object(prepared(object(given), &schema)), expected);
        };
        check(json!({"node": "", "key": "", "keywords": null}), json!({"node": ""}));
        check(json!({"keywords": "[\"a\", \"b\"]"}), json!({"keywords": ["a", "b"]}));
        check(json!({"keywords": "a"}), json!({"keywords": "a"}));
        check(json!({"keywords": "[draft"}), json!({"keywords": "[draft"}));
        check(json!({"metadata": "{\"a\": 1}", "key": "{}"}), json!({"metadata": {"a": 1}, "key": "{}"}));
        check(json!({"notes": {"title": "x"}}), json!({"notes": [{"title": "x"}]}));
    }

    #[test]
    fn an_unknown_argument_names_the_right_ones() {
        let schema = json!({"properties": {"text": {}, "limit": {}, "expires": {}}});
        let error = refuse_unknown(&object(json!({"lmit": 5})), &schema).unwrap_err();
        insta::assert_snapshot!(error.line(), @"`lmit`: there is no argument `lmit`; did you mean `limit`? The arguments are `text`, `limit`, `expires`");
        assert!(refuse_unknown(&object(json!({"text": 5, "expires_at": 5})), &schema).is_ok());
        assert!(refuse_unknown(&object(json!({"expires_at_at": 5})), &schema).is_err());
    }
}
