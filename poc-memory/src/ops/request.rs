//! Decodes the arguments of ops, which arrive as JSON from every surface.
//!
//! Fields have the types of the schema. Language models and forms often send a number as text (`"5"`), a
//! whole number as a fraction (`5.0`), or one text for a list of texts. A value with only one possible
//! meaning is accepted. An error names the field.

use super::serde_message;
use super::similar_field::similar_field;
use poc_graph::error::{Error, Result};
use poc_graph::json::{self, DecodeError};
use poc_graph::similar;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The field that holds the text of a request.
const TEXT: &str = "text";

/// The name that the field `text` of an op had in release 0.1. Requests may still use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerText {
    /// The former name.
    pub name: &'static str,
    /// Whether it was a list of words, which are joined by spaces.
    pub repeats: bool,
}

impl FormerText {
    /// A field that was one text.
    pub(super) const fn word(name: &'static str) -> FormerText {
        FormerText { name, repeats: false }
    }

    /// A field that was a list of words.
    pub(crate) const fn words(name: &'static str) -> FormerText {
        FormerText { name, repeats: true }
    }
}

/// Refuses a request that is not a JSON object: serde would read a list as the fields in their order.
pub(super) fn require_object(request: Value) -> Result<Value> {
    if request.is_object() {
        return Ok(request);
    }
    Err(Error::invalid("the arguments are not a JSON object")
        .hint("give them by their names: `{\"field\": value}`"))
}

/// Moves the text from its former name to `text`.
pub(crate) fn rename_text(former: FormerText, request: &mut Map<String, Value>) -> Result<()> {
    let Some(given) = request.shift_remove(former.name) else { return Ok(()) };
    if request.contains_key(TEXT) {
        return Err(Error::invalid(format!("the text is given twice, as `{TEXT}` and as `{}`", former.name))
            .hint(format!("give `{TEXT}` only"))
            .field(TEXT));
    }
    let text = match given {
        Value::Array(words) if former.repeats && words.iter().all(Value::is_string) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            if words.is_empty() {
                return Ok(());
            }
            Value::from(words.join(" "))
        }
        given => given,
    };
    request.insert(TEXT.to_owned(), text);
    Ok(())
}

/// Decodes a request without conversions. An error names the field.
pub(crate) fn decode<T: DeserializeOwned>(request: &Value) -> Result<T> {
    json::decode(request).map_err(|error| invalid(&error))
}

/// The error of a request that cannot be decoded.
fn invalid(DecodeError { path, message }: &DecodeError) -> Error {
    let field = match (path.as_str(), quoted_field(message)) {
        ("", None) => None,
        ("", Some(name)) => Some(name.to_owned()),
        (path, Some(name)) if path.rsplit('.').next() != Some(name) => Some(format!("{path}.{name}")),
        (path, _) => Some(path.to_owned()),
    };
    let message = serde_message::in_json_terms(message);
    let of_type = || serde_message::type_hint(&message).map(|hint| (message.clone(), hint));
    let invalid = match unknown_name(&message).or_else(of_type) {
        Some((message, hint)) => Error::invalid(message).hint(hint),
        None => {
            let (message, hint) = Error::split_line(&message);
            Error { hint: hint.map(str::to_owned), ..Error::invalid(message) }
        }
    };
    match field {
        Some(field) => invalid.field(field),
        None => invalid,
    }
}

/// The unknown or missing field: serde names it in the message, and the path ends above it.
fn quoted_field(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("missing field `"))?;
    rest.split('`').next()
}

/// The message and the hint for an unknown field or value. Serde lists the known ones in its message.
fn unknown_name(message: &str) -> Option<(String, String)> {
    let field = message.strip_prefix("unknown field `");
    let (name, known) = field.or_else(|| message.strip_prefix("unknown variant `"))?.split_once("`, ")?;
    let known = known.split('`').skip(1).step_by(2);
    let (what, meant) = match field {
        Some(_) => ("field", similar_field(name, known.clone())),
        None => ("value", similar::closest(name, known.clone())),
    };
    let all = known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if all.is_empty() => "leave it out".to_owned(),
        None => format!("the {what}s are {all}"),
    };
    Some((format!("unknown {what} `{name}`"), hint))
}

/// The value with everything converted that the schema does not allow but that has one obvious meaning. Other
/// values stay as they are.
pub(crate) fn lenient(value: Value, schema: &Value) -> Value {
    let schema = without_null(schema);
    match value {
        Value::Object(fields) => {
            let of = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
            fields
                .into_iter()
                .map(|(name, value)| match of(&name) {
                    Some(schema) => (name, lenient(value, schema)),
                    None => (name, value),
                })
                .collect()
        }
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| lenient(item, schema)).collect(),
            None => Value::Array(items),
        },
        Value::String(text) if !allows(schema, "string") => from_text(text, schema),
        Value::Number(number) if !allows(schema, "number") && allows(schema, "integer") => {
            number.as_f64().and_then(whole).unwrap_or(Value::Number(number))
        }
        value => value,
    }
}

/// A text where the schema allows none.
fn from_text(text: String, schema: &Value) -> Value {
    let trimmed = text.trim();
    let read = if allows(schema, "array") {
        let item = schema.get("items").map(|items| lenient(Value::from(trimmed), items));
        item.map(|item| Value::Array(vec![item]))
    } else if allows(schema, "integer") || allows(schema, "number") {
        let number = trimmed.parse::<f64>().ok().filter(|number| number.is_finite());
        let exact = trimmed.parse::<i64>().ok().map(Value::from).or_else(|| number.and_then(whole));
        exact.or_else(|| number.filter(|_| allows(schema, "number")).map(Value::from))
    } else if allows(schema, "boolean") {
        trimmed.parse::<bool>().ok().map(Value::from)
    } else {
        None
    };
    read.unwrap_or(Value::String(text))
}

/// A whole number that `f64` represents exactly; `None` for all others.
fn whole(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then(|| {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 53 bits")]
        let number = number as i64;
        Value::from(number)
    })
}

/// The schema that is an alternative to `null`.
fn without_null(schema: &Value) -> &Value {
    let choices = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut others = choices.iter().filter(|choice| !allows(choice, "null"));
    match (others.next(), others.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// Whether a schema allows a type. One without a type allows all.
fn allows(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(any)) => any.iter().any(|one| one == name),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OPS;
    use serde_json::json;

    #[test]
    fn values_with_one_obvious_meaning_are_accepted() {
        let schema = json!({"type": "object", "properties": {
            "count": {"type": ["integer", "null"], "minimum": 0},
            "share": {"type": "number"},
            "flag": {"type": "boolean"},
            "text": {"type": "string"},
            "words": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}}},
        }});
        let check = |given: Value, expected: Value| {
            assert_eq!(lenient(given.clone(), &schema), expected, "{given}");
        };
        check(json!({"count": "5"}), json!({"count": 5}));
        check(json!({"count": 5.0, "maybe": "-2"}), json!({"count": 5, "maybe": -2}));
        check(json!({"share": "0.5"}), json!({"share": 0.5}));
        check(json!({"flag": "true"}), json!({"flag": true}));
        check(json!({"words": "one two"}), json!({"words": ["one two"]}));
        check(json!({"numbers": "3"}), json!({"numbers": [3]}));
        check(json!({"rows": [{"words": "a"}]}), json!({"rows": [{"words": ["a"]}]}));
        for same in [
            json!({"count": "many"}),
            json!({"count": 1.5}),
            json!({"count": "1.5"}),
            json!({"count": null}),
            json!({"share": "NaN"}),
            json!({"text": 5}),
            json!({"text": "5"}),
            json!({"flag": "yes"}),
            json!({"words": 5}),
            json!({"unknown": "5"}),
        ] {
            check(same.clone(), same);
        }
    }

    #[test]
    fn an_unknown_name_leads_to_the_one_that_is_meant_or_to_all() {
        let check = |message: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(message, hint)| (message.to_owned(), hint.to_owned()));
            assert_eq!(unknown_name(message), expected, "{message}");
        };
        check(
            "unknown field `limit`, expected one of `text`, `top_k`, `explain`",
            Some(("unknown field `limit`", "did you mean `top_k`?")),
        );
        check(
            "unknown field `nod`, expected `node` or `quarantined`",
            Some(("unknown field `nod`", "did you mean `node`?")),
        );
        check("unknown field `nod`, expected `node`", Some(("unknown field `nod`", "did you mean `node`?")));
        check(
            "unknown field `colour`, expected one of `text`, `metadata`",
            Some(("unknown field `colour`", "the fields are `text`, `metadata`")),
        );
        check("unknown field `x`, there are no fields", Some(("unknown field `x`", "leave it out")));
        check(
            "unknown variant `cores`, expected `core` or `general`",
            Some(("unknown value `cores`", "did you mean `core`?")),
        );
        check(
            "unknown variant `x`, expected `core` or `general`",
            Some(("unknown value `x`", "the values are `core`, `general`")),
        );
        check("missing field `text`", None);
    }

    #[test]
    fn the_hint_of_a_type_of_this_program_is_kept() {
        #[derive(Debug, serde::Deserialize)]
        struct Dated {
            #[expect(dead_code, reason = "only decoded")]
            at: poc_graph::time::Timestamp,
        }
        let error = decode::<Dated>(&json!({"at": "next; year"})).unwrap_err();
        assert_eq!(error.message, "`next; year` is not a time");
        assert_eq!(error.hint.as_deref(), Some("write `2026-11-21` or `2026-11-21T08:00:00Z`"));
    }

    #[test]
    fn the_text_of_every_op_is_called_text() {
        for op in OPS {
            let schema = (op.request_schema)().to_value();
            let has = |name: &str| schema["properties"].get(name).is_some();
            assert!(!["query", "message", "terms", "question", "words"].into_iter().any(has), "{}", op.name);
            assert!(op.former_text.is_none() || has(TEXT), "{}", op.name);
        }
    }

    #[test]
    fn the_former_name_of_the_text_is_moved_and_both_names_are_refused() {
        let moved = |former: FormerText, mut request: Value| {
            rename_text(former, request.as_object_mut().unwrap()).map(|()| request)
        };
        let (word, words) = (FormerText::word("query"), FormerText::words("terms"));
        assert_eq!(moved(word, json!({"query": "a"})).unwrap(), json!({"text": "a"}));
        assert_eq!(moved(words, json!({"terms": ["a", "b"]})).unwrap(), json!({"text": "a b"}));
        assert_eq!(moved(words, json!({"terms": []})).unwrap(), json!({}));
        let error = moved(word, json!({"query": "a", "text": "b"})).unwrap_err();
        insta::assert_snapshot!(error.line(), @"`text`: the text is given twice, as `text` and as `query`; give `text` only");
    }
}
