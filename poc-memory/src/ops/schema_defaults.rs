//! Moves defaults of request fields from the help texts into the JSON Schema: help ends with
//! `[default: X]`, the schema has the keyword `default`.

use schemars::Schema;
use serde_json::Value;

/// The text in front of a default.
const MARKER: &str = " [default: ";

/// Turns every `[default: X]` at the end of a field's description into the keyword `default`.
pub(super) fn extract(mut schema: Schema) -> Schema {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.values_mut().for_each(extract_field);
    }
    schema
}

/// A field and, for a list of objects, the fields of its items.
fn extract_field(field: &mut Value) {
    extract_default(field);
    if let Some(Value::Object(fields)) = field.pointer_mut("/items/properties") {
        fields.values_mut().for_each(extract_field);
    }
}

fn extract_default(field: &mut Value) {
    let Some(field) = field.as_object_mut() else { return };
    let Some(Value::String(description)) = field.get("description") else { return };
    let Some((sentence, default)) = description.strip_suffix(']').and_then(|text| text.split_once(MARKER))
    else {
        return;
    };
    // JSON where it parses as JSON, also with commas between thousands, otherwise a string.
    let number: Option<Value> = serde_json::from_str(&default.replace(',', "")).ok();
    let parsed = || serde_json::from_str(default).ok();
    let default = number.filter(Value::is_number).or_else(parsed).unwrap_or_else(|| Value::from(default));
    let sentence = Value::from(sentence);
    field.insert("description".into(), sentence);
    field.insert("default".into(), default);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OPS;
    use serde_json::json;

    #[test]
    fn a_default_moves_into_the_schema() {
        let check = |mut field: Value, expected: Value| {
            extract_default(&mut field);
            assert_eq!(field, expected);
        };
        check(
            json!({"type": "integer", "description": "Hops, 1 to 8 [default: 3]"}),
            json!({"type": "integer", "description": "Hops, 1 to 8", "default": 3}),
        );
        check(
            json!({"type": "integer", "description": "Notes [default: 2,000]"}),
            json!({"type": "integer", "description": "Notes", "default": 2000}),
        );
        check(
            json!({"type": "string", "description": "Type [default: semantic]", "default": null}),
            json!({"type": "string", "description": "Type", "default": "semantic"}),
        );
        check(json!({"description": "Why [of all things]"}), json!({"description": "Why [of all things]"}));
    }

    #[test]
    fn schemas_do_not_mention_the_command_line() {
        let words = ["standard input", "repeat it", "[default", "`--", " -p ", "`-`"];
        for op in OPS {
            for schema in [(op.request_schema)(), (op.answer_schema)()] {
                let text = schema.to_value().to_string();
                for word in words {
                    assert!(!text.contains(word), "`{}` says `{word}` in {text}", op.name);
                }
            }
        }
    }
}
