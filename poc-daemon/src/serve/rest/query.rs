//! Converts the text of a path or a query to the JSON types that the schema of a request expects. Text that
//! cannot be converted stays text, and the op rejects it as on every surface.

use percent_encoding::percent_decode_str;
use poc_graph::error::{Error, Result};
use poc_memory::ops::{FormerText, tenancy};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The hint for a path or a query that is not UTF-8.
pub(super) const NOT_UTF_8: &str = "percent-encode it as UTF-8";

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FieldKind {
    Text,
    Integer,
    Number,
    Boolean,
}

/// The fields of a request, by name.
pub(super) struct Fields(BTreeMap<String, Field>);

struct Field {
    kind: FieldKind,
    /// Whether the field is a list and may be given more than once.
    repeats: bool,
}

impl Fields {
    /// Reads the fields from a JSON Schema.
    pub(super) fn of(schema: &Value) -> Fields {
        let properties = schema.get("properties").and_then(Value::as_object);
        let field = |property: &Value| {
            let property = resolve(property, schema);
            let items = property.get("items").filter(|_| names_type(property, "array"));
            Field {
                kind: kind(items.map_or(property, |items| resolve(items, schema))),
                repeats: items.is_some(),
            }
        };
        Fields(
            properties
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), field(property)))
                .collect(),
        )
    }

    /// Adds the former name of the field with the text, which requests may still use.
    pub(super) fn with_former_text(mut self, former: Option<FormerText>) -> Fields {
        if let Some(FormerText { name, repeats }) = former {
            self.0.insert(name.to_owned(), Field { kind: FieldKind::Text, repeats });
        }
        self
    }

    /// Whether the schema has a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Converts a field and adds it to a request.
    ///
    /// # Errors
    /// `invalid_argument` at the field when it is given twice and is not a list.
    pub(super) fn put(&self, request: &mut Map<String, Value>, name: &str, text: &str) -> Result<()> {
        let field = self.0.get(name);
        let value = value(field.map_or(FieldKind::Text, |field| field.kind), text);
        match (request.get_mut(name), field.is_some_and(|field| field.repeats)) {
            (Some(Value::Array(list)), true) => list.push(value),
            (None, true) => drop(request.insert(name.to_owned(), Value::Array(vec![value]))),
            (None, false) => drop(request.insert(name.to_owned(), value)),
            (Some(_), _) => {
                return Err(Error::invalid("the field is given more than once")
                    .hint("give it once")
                    .field(name));
            }
        }
        Ok(())
    }

    /// Adds the fields of a query string, which is encoded as a form.
    pub(super) fn put_query(&self, request: &mut Map<String, Value>, query: &str) -> Result<()> {
        let mut tenant = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            let not_utf_8 = |what: &str| Error::invalid(format!("{what} is not UTF-8")).hint(NOT_UTF_8);
            let name = decode(name).ok_or_else(|| not_utf_8("a name in the query"))?;
            let text = decode(text).ok_or_else(|| not_utf_8("the value").field(name.as_str()))?;
            if name == tenancy::FIELD {
                tenant.push(text);
            } else if let Some(key) = tenant_key(&name) {
                tenant.push(format!("{key}={text}"));
            } else {
                self.put(request, &name, &text)?;
            }
        }
        if !tenant.is_empty() {
            request.insert(tenancy::FIELD.into(), tenancy::parse_pairs(&tenant)?);
        }
        Ok(())
    }
}

/// The key in `tenant[KEY]`. This is how OpenAPI writes an object in a query (`deepObject`).
fn tenant_key(name: &str) -> Option<&str> {
    name.strip_prefix(tenancy::FIELD)?.strip_prefix('[')?.strip_suffix(']').filter(|key| !key.contains('='))
}

/// The schema of a property, with references resolved and the alternative `null` left out.
fn resolve<'a>(property: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(name) = property.get("$ref").and_then(Value::as_str) {
        let target = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(property, |target| resolve(target, root));
    }
    let choices = ["anyOf", "oneOf"].into_iter().find_map(|word| property.get(word)?.as_array());
    let choice = choices.and_then(|choices| choices.iter().find(|choice| !names_type(choice, "null")));
    choice.map_or(property, |choice| resolve(choice, root))
}

/// Whether a schema names a type as one that it allows.
fn names_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(any)) => any.iter().any(|one| one == name),
        _ => false,
    }
}

/// The type that a schema allows; text if it is none of the others.
fn kind(schema: &Value) -> FieldKind {
    let kinds =
        [("integer", FieldKind::Integer), ("number", FieldKind::Number), ("boolean", FieldKind::Boolean)];
    kinds.into_iter().find(|(name, _)| names_type(schema, name)).map_or(FieldKind::Text, |(_, kind)| kind)
}

/// A text as a value of a type; text if it cannot be converted.
fn value(kind: FieldKind, text: &str) -> Value {
    let converted = match kind {
        FieldKind::Text => None,
        FieldKind::Boolean => text.parse().ok().map(Value::Bool),
        FieldKind::Integer => integer(text),
        FieldKind::Number => {
            integer(text).or_else(|| Number::from_f64(text.parse().ok()?).map(Value::Number))
        }
    };
    converted.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn integer(text: &str) -> Option<Value> {
    text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from)).ok()
}

/// Decodes the encoding of forms. `None` when the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().map(Cow::into_owned).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use poc_memory::ops;
    use proptest::prelude::*;
    use serde_json::json;

    fn fields() -> Fields {
        Fields::of(&json!({
            "properties": {
                "text": {"type": "string"},
                "maybe": {"type": ["string", "null"]},
                "count": {"type": "integer", "minimum": 0},
                "some": {"type": ["integer", "null"]},
                "share": {"type": "number"},
                "flag": {"type": "boolean"},
                "words": {"type": "array", "items": {"type": "string"}},
                "numbers": {"type": "array", "items": {"$ref": "#/$defs/Count"}},
                "named": {"$ref": "#/$defs/Name"},
                "either": {"anyOf": [{"$ref": "#/$defs/Count"}, {"type": "null"}]},
            },
            "$defs": {
                "Count": {"type": "integer"},
                "Name": {"oneOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]},
            },
        }))
    }

    fn read(query: &str) -> Result<Value> {
        let mut request = Map::new();
        fields().put_query(&mut request, query)?;
        Ok(Value::Object(request))
    }

    #[test]
    fn text_is_converted_to_the_type_in_the_schema() {
        let check = |query: &str, expected: Value| assert_eq!(read(query).unwrap(), expected, "{query}");
        check("", json!({}));
        check("&&", json!({}));
        check("text=5", json!({"text": "5"}));
        check("text=", json!({"text": ""}));
        check("text", json!({"text": ""}));
        check("text=a+b%20c%2Bd%26=%3D", json!({"text": "a b c+d&=="}));
        check("t%65xt=x", json!({"text": "x"}));
        check("maybe=null", json!({"maybe": "null"}));
        check("count=5&some=-7", json!({"count": 5, "some": -7}));
        check("count=18446744073709551615", json!({"count": u64::MAX}));
        check("share=0.25", json!({"share": 0.25}));
        check("share=3", json!({"share": 3}));
        check("flag=true", json!({"flag": true}));
        check("words=a&words=b", json!({"words": ["a", "b"]}));
        check("words=a", json!({"words": ["a"]}));
        check("numbers=1&numbers=x", json!({"numbers": [1, "x"]}));
        check("named=a&either=4", json!({"named": "a", "either": 4}));
    }

    #[test]
    fn text_that_does_not_fit_stays_text() {
        let check = |query: &str, expected: Value| assert_eq!(read(query).unwrap(), expected, "{query}");
        check("count=five", json!({"count": "five"}));
        check("count=1.5", json!({"count": "1.5"}));
        check("count=", json!({"count": ""}));
        check("share=nan", json!({"share": "nan"}));
        check("share=1e999", json!({"share": "1e999"}));
        check("flag=yes", json!({"flag": "yes"}));
        check("colour=blue", json!({"colour": "blue"}));
    }

    #[test]
    fn errors_name_the_field() {
        let check = |query: &str, expected: &str| assert_eq!(read(query).unwrap_err().to_string(), expected);
        check("text=a&text=b", "`text`: the field is given more than once");
        check("text=%ff", "`text`: the value is not UTF-8");
        check("%ff=a", "a name in the query is not UTF-8");
    }

    poc_laws::laws! {
        #[test]
        fn any_text_survives_the_encoding(text in any::<String>(), number in any::<i64>(), share in -1e300..1e300_f64) {
            let encoded = utf8_percent_encode(&text, NON_ALPHANUMERIC);
            let query = format!("text={encoded}&some={number}&share={share}&words={encoded}");
            let expected = json!({"text": text, "some": number, "share": share, "words": [text]});
            let read = read(&query).unwrap();
            prop_assert_eq!(read["share"].as_f64(), expected["share"].as_f64());
            for field in ["text", "some", "words"] {
                prop_assert_eq!(&read[field], &expected[field]);
            }
        }

        #[test]
        fn no_query_panics(query in any::<String>()) {
            let _ = read(&query);
        }
    }

    #[test]
    fn every_field_of_a_query_has_a_scalar_type_or_is_a_list_of_scalars() {
        for op in ops::OPS.iter().filter(|op| op.route.is_some_and(|route| route.method == ops::Method::Get))
        {
            let schema = (op.request_schema)().to_value();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let property = resolve(property, &schema);
                let single = property.get("items").map_or(property, |items| resolve(items, &schema));
                assert!(
                    !names_type(single, "object") && !names_type(single, "array"),
                    "`{name}` of `{}`",
                    op.name
                );
            }
        }
    }
}
