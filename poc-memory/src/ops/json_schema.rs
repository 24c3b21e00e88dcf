//! The JSON Schema of requests and answers.

use poc_graph::json::join_description_lines;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// The JSON Schema of a type with all subschemas inlined, because some clients do not follow references, and with plain
/// enums, because some do not know `const`.
pub fn schema<T: JsonSchema>() -> Schema {
    generator().into_root_schema_for::<T>()
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings
        .with_transform(RecursiveTransform(join_description_lines))
        .with_transform(RecursiveTransform(plain_enum))
        .into_generator()
}

/// Turns a `oneOf` of described `const` values into one `enum` with one description.
fn plain_enum(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let text = |choice: &Value, word: &str| choice.get(word).and_then(Value::as_str).map(str::to_owned);
    let values: Option<Vec<String>> = choices.iter().map(|choice| text(choice, "const")).collect();
    let Some(values) = values.filter(|values| !values.is_empty()) else { return };
    let meanings = values.iter().zip(choices).map(|(value, choice)| match text(choice, "description") {
        Some(meaning) => format!("`{value}`: {}", meaning.trim_end_matches('.')),
        None => format!("`{value}`"),
    });
    let meanings = meanings.collect::<Vec<_>>().join("; ");
    let about = schema
        .get("description")
        .and_then(Value::as_str)
        .map_or(meanings.clone(), |about| format!("{}. {meanings}", about.trim_end_matches('.')));
    schema.remove("oneOf");
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), values.into());
    schema.insert("description".into(), about.into());
}
