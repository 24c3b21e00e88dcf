//! Collects the schemas of a document, each under a unique name.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The prefix of references in a schema of schemars.
const DEFINITIONS: &str = "#/$defs/";
/// The prefix of references in an OpenAPI document.
const COMPONENTS: &str = "#/components/schemas/";

/// The collected schemas.
#[derive(Default)]
pub(super) struct Schemas {
    /// The schemas as they appear in the document.
    components: BTreeMap<String, Value>,
    /// Shared definitions in their original form, to detect a different one of the same name.
    shared: BTreeMap<String, Value>,
}

impl Schemas {
    /// Adds a schema under a name.
    pub(super) fn add(&mut self, name: &str, schema: Value) {
        let schema = match schema {
            schema @ Value::Object(_) => Value::Object(self.hoist(name, schema)),
            schema => schema,
        };
        self.components.insert(name.to_owned(), schema);
    }

    /// Moves the definitions of a schema to the document and returns the rest of the schema. When two
    /// different types have the same name, the second one gets `owner` as a prefix.
    pub(super) fn hoist(&mut self, owner: &str, schema: Value) -> Map<String, Value> {
        let Value::Object(mut schema) = schema else { return Map::new() };
        for word in ["$schema", "title"] {
            schema.remove(word);
        }
        let Some(Value::Object(definitions)) = schema.remove("$defs") else { return schema };
        let conflicts = self.conflicts(&definitions);
        let name =
            |name: &str| if conflicts.contains(name) { format!("{owner}{name}") } else { name.to_owned() };
        for (own, definition) in &definitions {
            let mut component = definition.clone();
            rewrite_references(&mut component, &name);
            self.components.insert(name(own), component);
            if !conflicts.contains(own) {
                self.shared.insert(own.clone(), definition.clone());
            }
        }
        let mut schema = Value::Object(schema);
        rewrite_references(&mut schema, &name);
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }

    /// The definitions whose names are already used by different definitions, and those that refer to them.
    fn conflicts(&self, definitions: &Map<String, Value>) -> BTreeSet<String> {
        let taken = |name: &String, definition: &Value| match self.shared.get(name) {
            Some(known) => known != definition,
            None => self.components.contains_key(name),
        };
        let mut conflicts: BTreeSet<String> = definitions
            .iter()
            .filter(|(name, schema)| taken(name, schema))
            .map(|(name, _)| name.clone())
            .collect();
        loop {
            let refers = |schema: &Value| {
                let text = schema.to_string();
                conflicts.iter().any(|other| text.contains(&format!("\"{DEFINITIONS}{other}\"")))
            };
            let more: Vec<String> = definitions
                .iter()
                .filter(|(name, schema)| !conflicts.contains(*name) && refers(schema))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return conflicts;
            }
            conflicts.extend(more);
        }
    }

    /// All collected schemas.
    pub(super) fn all(self) -> Map<String, Value> {
        self.components.into_iter().collect()
    }
}

/// Rewrites references so that they point into the document.
fn rewrite_references(schema: &mut Value, name: &impl Fn(&str) -> String) {
    match schema {
        Value::Object(fields) => {
            for (word, value) in fields.iter_mut() {
                match value {
                    Value::String(target) if word == "$ref" => {
                        if let Some(own) = target.strip_prefix(DEFINITIONS) {
                            *target = format!("{COMPONENTS}{}", name(own));
                        }
                    }
                    value => rewrite_references(value, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_references(item, name)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn different_types_with_the_same_name_get_different_names() {
        let mut schemas = Schemas::default();
        let one = |inner: &str| {
            json!({
                "properties": {"a": {"$ref": "#/$defs/Outer"}, "b": {"$ref": "#/$defs/Same"}},
                "$defs": {
                    "Outer": {"items": {"$ref": "#/$defs/Inner"}},
                    "Inner": {"type": inner},
                    "Same": {"type": "null"},
                },
            })
        };
        schemas.hoist("First", one("string"));
        schemas.hoist("Again", one("string"));
        let other = schemas.hoist("Other", one("integer"));
        assert_eq!(other["properties"]["a"]["$ref"], "#/components/schemas/OtherOuter");
        assert_eq!(other["properties"]["b"]["$ref"], "#/components/schemas/Same");
        let all = schemas.all();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["Inner", "OtherInner", "OtherOuter", "Outer", "Same"]);
        assert_eq!(all["OtherOuter"]["items"]["$ref"], "#/components/schemas/OtherInner");
    }
}
