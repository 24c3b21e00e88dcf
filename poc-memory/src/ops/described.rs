//! The schema of a request as programs read it: what help says in brackets at the end of a sentence is
//! the default of the field.

use schemars::Schema;
use serde_json::Value;

/// What stands in front of a default.
const MARK: &str = " [default: ";

/// The schema with every `[default: X]` of its fields as `default`.
pub(super) fn request(mut schema: Schema) -> Schema {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.values_mut().for_each(described);
    }
    schema
}

/// A field, and those of what a list of objects holds.
fn described(field: &mut Value) {
    with_default(field);
    if let Some(Value::Object(fields)) = field.pointer_mut("/items/properties") {
        fields.values_mut().for_each(described);
    }
}

fn with_default(field: &mut Value) {
    let Some(field) = field.as_object_mut() else { return };
    let Some(Value::String(said)) = field.get("description") else { return };
    let Some((sentence, default)) = said.strip_suffix(']').and_then(|said| said.split_once(MARK)) else {
        return;
    };
    // A number where it is one; all else is a text.
    let default = serde_json::from_str(default).unwrap_or_else(|_| Value::from(default));
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
    fn a_default_is_data() {
        let check = |mut field: Value, expected: Value| {
            with_default(&mut field);
            assert_eq!(field, expected);
        };
        check(
            json!({"type": "integer", "description": "Hops, 1 to 8 [default: 3]"}),
            json!({"type": "integer", "description": "Hops, 1 to 8", "default": 3}),
        );
        check(
            json!({"type": "string", "description": "Type [default: semantic]", "default": null}),
            json!({"type": "string", "description": "Type", "default": "semantic"}),
        );
        check(json!({"description": "Why [of all things]"}), json!({"description": "Why [of all things]"}));
    }

    #[test]
    fn schemas_speak_to_programs_and_not_to_a_shell() {
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
