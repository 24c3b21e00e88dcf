//! The JSON Schema of an agent file, with which editors complete and check it.

use super::DEFAULTS;
use super::key_spec::{Bound, KeySpec, UNBOUNDED, ValueType};
use super::keys;
use crate::schedule::Schedule;
use serde_json::{Map, Value, json};
use toml::Table;

/// The types of a duration. A bare number is seconds.
const DURATION_TYPES: [&str; 2] = ["string", "integer"];

/// The pattern of a duration.
const DURATION: &str = "[0-9]{1,9}(ms|s|m|h|d|w)?";

/// The pattern of a duration above zero.
const POSITIVE_DURATION: &str = "0*[1-9][0-9]{0,8}(ms|s|m|h|d|w)?";

/// The schema of an agent file (JSON Schema, draft 2020-12).
pub fn schema() -> Map<String, Value> {
    let defaults: Table = toml::from_str(DEFAULTS).unwrap_or_default();
    let mut schema = Map::from_iter([
        ("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), json!("An agent of poc-memory")),
        ("description".to_owned(), json!("A query, a prompt and a permit: agents/NAME.toml")),
    ]);
    schema.extend(table("", Some(&defaults)));
    schema
}

/// The schema of a table: an object with the keys directly below it, and no others.
fn table(path: &str, defaults: Option<&Table>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys::within(path) {
        let default = defaults.and_then(|defaults| defaults.get(key.name()));
        let mut property = match key.takes {
            ValueType::Table => table(key.path, default.and_then(toml::Value::as_table)),
            ValueType::Tables => {
                let items = Value::Object(table(key.path, None));
                Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), items)])
            }
            takes => value(takes),
        };
        property.insert("description".to_owned(), json!(key.doc));
        match key.takes {
            ValueType::Table | ValueType::Tables | ValueType::Values => {}
            _ => {
                let parsed = |text: &str| toml::from_str::<Table>(&format!("it = {text}")).ok()?.remove("it");
                property.extend(default.map(|default| ("default".to_owned(), json!(default))));
                let example = key.example.and_then(parsed);
                property.extend(example.map(|example| ("examples".to_owned(), json!([example]))));
            }
        }
        properties.insert(key.name().to_owned(), Value::Object(property));
        if is_required(key) {
            required.push(key.name());
        }
    }
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if path == "tests.expect" {
        // A test that expects nothing cannot fail.
        schema.insert("minProperties".to_owned(), json!(1));
    }
    if path == "prompt" {
        let either = ["template", "inline"].map(|key| json!({"required": [key]}));
        schema.insert("oneOf".to_owned(), json!(either));
    }
    schema
}

/// Whether a key is required: it has an example, or it is a table with a required key.
fn is_required(key: &KeySpec) -> bool {
    let below = || keys::within(key.path).any(is_required);
    key.example.is_some() || (matches!(key.takes, ValueType::Table) && below())
}

/// The schema of a value.
fn value(takes: ValueType) -> Map<String, Value> {
    let schema = match takes {
        ValueType::Table | ValueType::Tables => json!({}),
        ValueType::Text => json!({"type": "string"}),
        ValueType::Template => json!({"type": "string", "minLength": 1, "examples": ["linker.md"]}),
        ValueType::Flag => json!({"type": "boolean"}),
        ValueType::Count(min, UNBOUNDED) => json!({"type": "integer", "minimum": min}),
        ValueType::Count(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        ValueType::Share => json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        ValueType::Number(min, Bound::From) => json!({"type": "number", "minimum": min}),
        ValueType::Number(min, Bound::Above) => json!({"type": "number", "exclusiveMinimum": min}),
        ValueType::Duration(min) => {
            let (pattern, seconds) = if min > 0 { (POSITIVE_DURATION, 1) } else { (DURATION, 0) };
            let pattern = format!("^{pattern}$");
            let examples = ["7d", "24h", "30m", "45s"];
            json!({"type": DURATION_TYPES, "pattern": pattern, "minimum": seconds, "examples": examples})
        }
        ValueType::DurationOr(word) => {
            let pattern = format!("^({word}|{DURATION})$");
            json!({"type": DURATION_TYPES, "pattern": pattern, "minimum": 0, "examples": [word, "7d"]})
        }
        ValueType::Durations(max) => {
            let pattern = format!("^({POSITIVE_DURATION})$");
            let item = json!({"type": DURATION_TYPES, "pattern": pattern, "minimum": 1});
            json!({"type": "array", "items": item, "maxItems": max})
        }
        ValueType::OneOf(words) => json!({"enum": words()}),
        ValueType::SomeOf(words) => {
            json!({"type": "array", "items": {"enum": words()}, "uniqueItems": true})
        }
        ValueType::Names => json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        ValueType::Texts => json!({"type": "array", "items": {"type": "string"}}),
        ValueType::Pipeline => json!({"type": "string", "minLength": 1}),
        ValueType::Filters => {
            json!({"type": "array", "items": {"type": "string"}, "examples": [["provenance:manual"]]})
        }
        ValueType::Schedule => {
            let examples: Vec<&str> = Schedule::examples().collect();
            json!({"type": "string", "pattern": Schedule::pattern(), "examples": examples})
        }
        ValueType::Zone => json!({"type": "string", "examples": ["local", "UTC", "Europe/Vienna"]}),
        ValueType::Tenants => {
            let one = json!({"type": "string", "pattern": r"^\s*(all|default|.*\S=\S.*)\s*$"});
            let pattern = json!({"type": "string", "pattern": r"^\s*(default|.*\S=\S.*)\s*$"});
            let several = json!({"type": "array", "items": pattern, "minItems": 1, "uniqueItems": true});
            let examples = json!(["all", "default", "user=*", ["default", "team=research user=*"]]);
            json!({"oneOf": [one, several], "examples": examples})
        }
        ValueType::Values => {
            let value = ["string", "number", "boolean"].map(|kind| json!({"type": kind}));
            json!({
                "type": "object",
                "propertyNames": {"pattern": r"^[\p{L}\p{N}_-]+$"},
                "additionalProperties": {"oneOf": value},
            })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}
