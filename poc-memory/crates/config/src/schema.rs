//! The JSON Schema of `config.toml`, with the type, default, bounds and description of every setting.

use super::bounds;
use super::defaults::default_table;
use super::sections::Config;
use poc_graph::error::{Error, Result};
use poc_graph::json::{join_description_lines, remove_null_type};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

/// Builds the schema. No section and no setting is required, because defaults fill in what is missing. Only a new entry
/// of a map, such as `[models.mine]`, must have its required fields.
///
/// # Errors
/// Fails if the built-in defaults cannot be read.
pub fn schema() -> Result<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let settings = settings.with_transform(RecursiveTransform(join_description_lines));
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    let defaults = serde_json::to_value(default_table()?)
        .map_err(|error| Error::internal(format!("the defaults cannot be written as JSON: {error}")))?;
    remove_null(&mut schema);
    complete(&mut schema, Some(&defaults), "");
    if let Value::Object(fields) = &mut schema {
        fields.insert("title".into(), "config.toml of poc-memory".into());
    }
    Ok(schema)
}

/// Adds defaults and bounds to the schema of a key and of everything below it.
fn complete(schema: &mut Value, default: Option<&Value>, key: &str) {
    let Value::Object(schema) = schema else { return };
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    let entries = default.and_then(Value::as_object);
    let mut is_table = false;
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        is_table = true;
        for (name, property) in properties {
            complete(property, entries.and_then(|entries| entries.get(name)), &below(name));
        }
    }
    if let Some(entry) = schema.get_mut("additionalProperties").filter(|entry| entry.is_object()) {
        is_table = true;
        let fresh = entry.clone();
        complete(entry, None, &below("*"));
        let mut properties = Map::new();
        for (name, default) in entries.into_iter().flatten() {
            let mut property = fresh.clone();
            complete(&mut property, Some(default), &below(name));
            properties.insert(name.clone(), property);
        }
        if !properties.is_empty() {
            schema.insert("properties".into(), properties.into());
        }
    }
    if !is_table {
        bound(schema, key);
    }
    match default {
        Some(_) if is_table => drop(schema.remove("required")),
        Some(default) => drop(schema.insert("default".into(), default.clone())),
        None => {}
    }
}

/// Adds the bounds of a number. The bounds of a duration cannot be expressed, because it may be a text.
fn bound(schema: &mut Map<String, Value>, key: &str) {
    let is_integer = schema.get("type").is_some_and(|name| name == "integer");
    if !is_integer && schema.get("type").is_none_or(|name| name != "number") {
        return;
    }
    let Some((min, max)) = bounds::find_bounds(key) else { return };
    let number = |bound: f64| if is_integer { Value::from(bound as u64) } else { Value::from(bound) };
    schema.insert("minimum".into(), number(min));
    if max < f64::MAX {
        schema.insert("maximum".into(), number(max));
    }
}

/// Removes `null` from the types and defaults of a schema and of all schemas in it, because TOML has no null.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            remove_null_type(fields);
            fields.values_mut().for_each(remove_null);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_type_its_default_and_a_description() {
        let schema = schema().unwrap();
        let defaults = serde_json::to_value(default_table().unwrap()).unwrap();
        let mut seen = 0;
        check(&schema, &defaults, "", &mut seen);
        assert!(seen > 200, "{seen}");
    }

    fn check(schema: &Value, default: &Value, key: &str, seen: &mut usize) {
        let properties = schema.get("properties").and_then(Value::as_object);
        match (default.as_object().filter(|entries| !entries.is_empty()), properties) {
            (Some(entries), Some(properties)) => {
                assert!(schema.get("required").is_none(), "{key}");
                for (name, default) in entries {
                    check(&properties[name], default, &format!("{key}.{name}"), seen);
                }
            }
            (Some(_), None) => panic!("{key} has no properties"),
            (None, _) if default.is_object() => {}
            (None, _) => {
                *seen += 1;
                assert_eq!(schema["default"], *default, "{key}");
                assert!(schema["description"].is_string() || key.starts_with(".pipelines."), "{key}");
                assert!(
                    ["type", "oneOf", "enum", "anyOf"].iter().any(|word| schema.get(*word).is_some()),
                    "{key}"
                );
            }
        }
    }

    #[test]
    fn an_entry_of_a_map_needs_its_fields_only_when_it_is_new() {
        let schema = schema().unwrap();
        let models = &schema["properties"]["models"];
        assert_eq!(models["additionalProperties"]["required"], serde_json::json!(["provider", "id"]));
        assert!(models["properties"]["default"].get("required").is_none());
    }

    #[test]
    fn numbers_have_bounds() {
        let schema = schema().unwrap();
        let k = &schema["properties"]["recall"]["properties"]["k"];
        assert_eq!((&k["minimum"], &k["maximum"]), (&Value::from(1), &Value::from(256)));
    }
}
