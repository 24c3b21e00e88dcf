//! The section `[tenant-schema]`: the keys and values that tenants may have.

use super::pattern::Pattern;
use poc_graph::Tuple;
use poc_graph::error::{Code, Error, ErrorLocation, Result};
use poc_graph::similar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The keys and values that tenants may have. Without keys, every tenant is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TenantSchema {
    /// Description of a tenant, shown in the schema of every request.
    pub description: String,
    /// Alternative sets of keys. A tenant must have all keys of exactly one set.
    pub one_of: Vec<Vec<String>>,
    /// The keys a tenant may have.
    pub keys: BTreeMap<String, TenantKey>,
}

/// The rules for a key and its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TenantKey {
    /// Description of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A regular expression that matches somewhere in the value; `^` and `$` anchor it to the ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// The allowed values.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// Whether every tenant must have the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl TenantSchema {
    /// An error for each key that is wrong, or has wrong values.
    pub(super) fn invalid_keys(&self) -> Vec<Error> {
        self.keys.iter().filter_map(|(name, key)| key.check(name).err()).collect()
    }

    /// Checks the sets of keys.
    ///
    /// # Errors
    /// `invalid_config` for the first problem, with its field.
    pub(super) fn check_sets(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for set in &self.one_of {
            let wrong = |what: String, hint: &str| Err(schema_error(what, hint, "one-of"));
            if set.is_empty() {
                return wrong("one of the sets is empty".into(), "name the keys that belong together");
            }
            if let Some(unknown) = set.iter().find(|key| !self.keys.contains_key(*key)) {
                let hint = match similar::closest(unknown, self.keys.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("add a section `[tenant-schema.keys.{unknown}]`"),
                };
                return wrong(format!("a set names the key `{unknown}`, which does not exist"), &hint);
            }
            let keys: BTreeSet<&String> = set.iter().collect();
            if keys.len() < set.len() {
                return wrong("a set names a key twice".into(), "name every key once");
            }
            if !seen.insert(keys) {
                return wrong("two sets are the same".into(), "leave one of them out");
            }
        }
        Ok(())
    }

    /// Validates a tenant as it is spelled, and with composed and with decomposed characters, because settings may be
    /// written with either. The order of checks is: unknown keys, values, patterns, required keys, sets of keys.
    ///
    /// # Errors
    /// One of the codes `tenant_…`, with the field, the given value and the schema.
    pub fn validate(&self, tuple: &Tuple) -> Result<()> {
        self.validate_spelled(tuple).or_else(|error| {
            let others = [tuple.composed(), tuple.decomposed()];
            let is_valid =
                others.into_iter().any(|other| *other != *tuple && self.validate_spelled(&other).is_ok());
            if is_valid { Ok(()) } else { Err(error) }
        })
    }

    fn validate_spelled(&self, tuple: &Tuple) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        for (key, value) in tuple.pairs() {
            if !self.keys.contains_key(key) {
                let names: Vec<&str> = self.keys.keys().map(String::as_str).collect();
                let hint = match similar::closest(key, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the keys are {}", listed(names)),
                };
                let message = format!("the schema defines no key `{key}`");
                return Err(self.rejection(Code::TenantUnknownKey, message, hint, &[key], Some(value)));
            }
        }
        self.validate_values(tuple)?;
        let mut required = self.required();
        if let Some(missing) = required.find(|name| tuple.get(name).is_none()) {
            let message = format!("the tenant has no value for the key `{missing}`");
            let hint = format!("give `{missing}=VALUE`");
            return Err(self.rejection(Code::TenantMissingRequired, message, hint, &[missing], None));
        }
        self.validate_sets(tuple)
    }

    /// Checks the values, and then the patterns, of the keys of a tenant.
    fn validate_values(&self, tuple: &Tuple) -> Result<()> {
        let known = || tuple.pairs().filter_map(|(name, value)| Some((name, value, self.keys.get(name)?)));
        for (name, value, key) in known() {
            if let Some(choices) =
                key.choices.as_ref().filter(|choices| !choices.iter().any(|one| one == value))
            {
                let message = format!("`{value}` is none of the values of `{name}`");
                let hint = format!("the values are {}", listed(choices));
                return Err(self.rejection(Code::TenantEnumMismatch, message, hint, &[name], Some(value)));
            }
        }
        for (name, value, key) in known() {
            if let Some(pattern) = key.pattern.as_ref().filter(|pattern| !pattern.is_match(value)) {
                let message = format!("`{value}` does not match the pattern of `{name}`");
                let hint = format!("the pattern is `{pattern}`");
                return Err(self.rejection(Code::TenantPatternMismatch, message, hint, &[name], Some(value)));
            }
        }
        Ok(())
    }

    /// Checks that a tenant has all keys of exactly one set, if there are sets.
    fn validate_sets(&self, tuple: &Tuple) -> Result<()> {
        if self.one_of.is_empty() {
            return Ok(());
        }
        let is_complete = |set: &&Vec<String>| set.iter().all(|key| tuple.get(key).is_some());
        let sets: Vec<&Vec<String>> = self.one_of.iter().filter(is_complete).collect();
        let listed_set = |set: &Vec<String>| listed(set);
        match sets.as_slice() {
            [_] => Ok(()),
            [] => {
                let message = "the tenant has none of the required sets of keys".to_owned();
                let all: Vec<String> = self.one_of.iter().map(listed_set).collect();
                let hint = format!("give all keys of one set: {}", all.join("; "));
                Err(self.rejection(Code::TenantOneOfNoMatch, message, hint, &[], Some(&tuple.to_string())))
            }
            several => {
                let message = "the tenant has more than one of the alternative sets of keys".to_owned();
                let all: Vec<String> = several.iter().map(|set| listed_set(set)).collect();
                let hint = format!("give the keys of only one set: {}", all.join("; "));
                Err(self.rejection(
                    Code::TenantOneOfMultipleMatch,
                    message,
                    hint,
                    &[],
                    Some(&tuple.to_string()),
                ))
            }
        }
    }

    /// The error for a tenant that does not match the schema. `key` is the offending key, if there is one.
    fn rejection(&self, code: Code, message: String, hint: String, key: &[&str], got: Option<&str>) -> Error {
        let field = std::iter::once("tenant").chain(key.iter().copied()).collect::<Vec<_>>().join(".");
        let at = ErrorLocation {
            field: Some(field),
            got: got.map(str::to_owned),
            expected: Some(self.json_schema()),
            ..ErrorLocation::default()
        };
        Error::new(code, message).hint(hint).at(at)
    }

    /// The keys that every tenant must have.
    fn required(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().filter(|(_, key)| key.required == Some(true)).map(|(name, _)| name.as_str())
    }

    /// Whether every request must name a tenant.
    pub fn requires_tenant(&self) -> bool {
        self.validate(&Tuple::default()).is_err()
    }

    /// The JSON Schema of a tenant in a request.
    pub fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        let description = match self.description.trim() {
            "" => {
                "The tenant: `{\"key\": \"value\"}`. A request sees only the notes of its tenant; if omitted, those \
                 of the default tenant"
            }
            description => description,
        };
        schema.insert("description".into(), description.into());
        if self.keys.is_empty() {
            schema.insert("additionalProperties".into(), json!({ "type": "string" }));
            return schema.into();
        }
        let keys = self.keys.iter().map(|(name, key)| (name.clone(), key.json_schema()));
        schema.insert("properties".into(), Value::Object(keys.collect()));
        let required: Vec<&str> = self.required().collect();
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        schema.insert("additionalProperties".into(), false.into());
        if !self.one_of.is_empty() {
            let sets = self.one_of.iter().map(|set| json!({ "required": set }));
            schema.insert("oneOf".into(), sets.collect());
        }
        schema.into()
    }
}

/// The error for a problem of the schema itself. `field` is the path within the section.
fn schema_error(what: String, hint: &str, field: &str) -> Error {
    Error::config(what).hint(hint).field(format!("tenant-schema.{field}"))
}

impl TenantKey {
    /// Checks the name of the key and its values.
    fn check(&self, name: &str) -> Result<()> {
        let field = format!("keys.{name}");
        if let Err(error) = Tuple::new([(name, "x")]) {
            return Err(schema_error(error.message, error.hint.as_deref().unwrap_or_default(), &field));
        }
        if name.trim() != name {
            let what = format!("`{name}` is not a valid key name");
            return Err(schema_error(what, "leave the space out", &field));
        }
        let Some(choices) = &self.choices else { return Ok(()) };
        let wrong = |what: String, hint: &str| Err(schema_error(what, hint, &format!("{field}.enum")));
        if choices.is_empty() {
            let hint = "list the allowed values, or leave `enum` out";
            return wrong(format!("`{name}` has no allowed values"), hint);
        }
        let mut seen = BTreeSet::new();
        for choice in choices {
            if let Err(error) = Tuple::new([(name, choice.as_str())]) {
                return wrong(error.message, error.hint.as_deref().unwrap_or_default());
            }
            if choice.trim() != choice {
                return wrong(format!("`{choice}` is not a valid value"), "leave the space out");
            }
            if !seen.insert(choice) {
                return wrong(format!("`{choice}` is listed twice"), "list every value once");
            }
            if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(choice)) {
                let hint = "leave it out, or change `pattern`";
                return wrong(format!("`{choice}` does not match the `pattern` of its key"), hint);
            }
        }
        Ok(())
    }

    fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".into(), "string".into());
        if let Some(description) = &self.description {
            schema.insert("description".into(), description.as_str().into());
        }
        if let Some(pattern) = &self.pattern {
            schema.insert("pattern".into(), pattern.to_string().into());
        }
        if let Some(choices) = &self.choices {
            schema.insert("enum".into(), json!(choices));
        }
        schema.into()
    }
}

/// Names in backticks, separated by commas.
fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests;
