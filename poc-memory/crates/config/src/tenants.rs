//! The section `[tenant-schema]`: which keys and values tenants may have.

use poc_graph::Tuple;
use poc_graph::error::{Code, Error, ErrorLocation, Result};
use poc_graph::similar;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Which keys and values tenants may have. Without keys, every tenant is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TenantSchema {
    /// What a tenant stands for here; shown where requests are described.
    pub description: String,
    /// Sets of keys of which a tenant has exactly one, wholly.
    pub one_of: Vec<Vec<String>>,
    /// The keys a tenant may have.
    pub keys: BTreeMap<String, TenantKey>,
}

/// What the value of a key may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TenantKey {
    /// What it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A regular expression that matches somewhere in the value; `^` and `$` tie it to the ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// The values there are.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// Whether every tenant has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// A valid regular expression.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "regex"})
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Pattern).map_err(|error| {
            // Only the last line: regex also prints the expression with a marker below it.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            serde::de::Error::custom(format!("is no regular expression: {why}"))
        })
    }
}

impl TenantSchema {
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String, hint: &str, field: String| {
            Err(Error::config(what).hint(hint).field(format!("tenant-schema.{field}")))
        };
        for (name, key) in &self.keys {
            if let Err(error) = Tuple::new([(name.as_str(), "x")]) {
                return wrong(
                    error.message,
                    error.hint.as_deref().unwrap_or_default(),
                    format!("keys.{name}"),
                );
            }
            if name.trim() != name {
                let hint = "leave the space out";
                return wrong(format!("no tenant has a key `{name}`"), hint, format!("keys.{name}"));
            }
            let Some(choices) = &key.choices else { continue };
            let field = format!("keys.{name}.enum");
            if choices.is_empty() {
                let hint = "list the values there are, or leave `enum` out";
                return wrong(format!("`{name}` could have no value"), hint, field);
            }
            let mut seen = BTreeSet::new();
            for choice in choices {
                if let Err(error) = Tuple::new([(name.as_str(), choice.as_str())]) {
                    return wrong(error.message, error.hint.as_deref().unwrap_or_default(), field);
                }
                if choice.trim() != choice {
                    return wrong(
                        format!("no tenant has the value `{choice}`"),
                        "leave the space out",
                        field,
                    );
                }
                if !seen.insert(choice) {
                    return wrong(format!("`{choice}` is there twice"), "name every value once", field);
                }
                if key.pattern.as_ref().is_some_and(|pattern| !pattern.0.is_match(choice)) {
                    let hint = "leave it out, or change `pattern`";
                    return wrong(format!("`{choice}` does not match the `pattern` of its key"), hint, field);
                }
            }
        }
        let mut seen = BTreeSet::new();
        for set in &self.one_of {
            let field = || "one-of".to_owned();
            if set.is_empty() {
                return wrong(
                    "one of the sets is empty".into(),
                    "name the keys that belong together",
                    field(),
                );
            }
            if let Some(unknown) = set.iter().find(|key| !self.keys.contains_key(*key)) {
                let hint = match similar::closest(unknown, self.keys.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("add a section `[tenant-schema.keys.{unknown}]`"),
                };
                return wrong(format!("a set names the key `{unknown}`, which there is not"), &hint, field());
            }
            let keys: BTreeSet<&String> = set.iter().collect();
            if keys.len() < set.len() {
                return wrong("a set names a key twice".into(), "name every key once", field());
            }
            if !seen.insert(keys) {
                return wrong("two sets are the same".into(), "leave one of them out", field());
            }
        }
        Ok(())
    }

    /// Validates a tenant: first unknown keys, then values, patterns, required keys, and exactly one of the sets.
    ///
    /// # Errors
    /// One of the codes `tenant_…`, with the field, what was given, and the schema.
    pub fn validate(&self, tuple: &Tuple) -> Result<()> {
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
                let message = format!("a tenant has no key `{key}` here");
                return Err(self.refused(Code::TenantUnknownKey, message, hint, &[key], Some(value)));
            }
        }
        let known = || tuple.pairs().filter_map(|(name, value)| Some((name, value, self.keys.get(name)?)));
        for (name, value, key) in known() {
            if let Some(choices) =
                key.choices.as_ref().filter(|choices| !choices.iter().any(|one| one == value))
            {
                let message = format!("`{value}` is none of the values of `{name}`");
                let hint = format!("the values are {}", listed(choices));
                return Err(self.refused(Code::TenantEnumMismatch, message, hint, &[name], Some(value)));
            }
        }
        for (name, value, key) in known() {
            if let Some(pattern) = key.pattern.as_ref().filter(|pattern| !pattern.0.is_match(value)) {
                let message = format!("`{value}` does not match the pattern of `{name}`");
                let hint = format!("the pattern is `{pattern}`");
                return Err(self.refused(Code::TenantPatternMismatch, message, hint, &[name], Some(value)));
            }
        }
        let mut required = self.required();
        if let Some(missing) = required.find(|name| tuple.get(name).is_none()) {
            let message = format!("the tenant lacks the key `{missing}`");
            let hint = format!("give `{missing}=VALUE`");
            return Err(self.refused(Code::TenantMissingRequired, message, hint, &[missing], None));
        }
        if self.one_of.is_empty() {
            return Ok(());
        }
        let whole = |set: &&Vec<String>| set.iter().all(|key| tuple.get(key).is_some());
        let sets: Vec<&Vec<String>> = self.one_of.iter().filter(whole).collect();
        let shown = |set: &Vec<String>| listed(set);
        match sets.as_slice() {
            [_] => Ok(()),
            [] => {
                let message = "the tenant has none of the sets of keys it needs one of".to_owned();
                let all: Vec<String> = self.one_of.iter().map(shown).collect();
                let hint = format!("give all keys of one: {}", all.join("; "));
                Err(self.refused(Code::TenantOneOfNoMatch, message, hint, &[], Some(&tuple.to_string())))
            }
            several => {
                let message = "the tenant has more than one of the sets of keys it needs one of".to_owned();
                let all: Vec<String> = several.iter().map(|set| shown(set)).collect();
                let hint = format!("give the keys of one only: {}", all.join("; "));
                Err(self.refused(
                    Code::TenantOneOfMultipleMatch,
                    message,
                    hint,
                    &[],
                    Some(&tuple.to_string()),
                ))
            }
        }
    }

    fn refused(&self, code: Code, message: String, hint: String, key: &[&str], got: Option<&str>) -> Error {
        let field = std::iter::once("tenant").chain(key.iter().copied()).collect::<Vec<_>>().join(".");
        let at = ErrorLocation {
            field: Some(field),
            got: got.map(str::to_owned),
            expected: Some(self.json_schema()),
            ..ErrorLocation::default()
        };
        Error::new(code, message).hint(hint).at(at)
    }

    fn required(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().filter(|(_, key)| key.required == Some(true)).map(|(name, _)| name.as_str())
    }

    /// Whether every request must name a tenant.
    pub fn demands(&self) -> bool {
        self.validate(&Tuple::default()).is_err()
    }

    /// The JSON Schema of a tenant as requests give it.
    pub fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        let said = self.description.trim();
        let description = if said.is_empty() {
            "Whose memory this is about: `{\"key\": \"value\"}`. Each tenant sees its own notes alone; without \
             one it is the default tenant's"
        } else {
            said
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

impl TenantKey {
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

fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn load(text: &str) -> Result<TenantSchema> {
        Config::layered(Some(("config.toml", text)), std::iter::empty()).map(|config| config.tenant_schema)
    }

    const SCHEMA: &str = r#"
        [tenant-schema]
        description = "A user, or a team and its project"
        one-of = [["user"], ["team", "project"]]
        keys.app = { description = "The application", enum = ["chat", "mail"], required = true }
        keys.user = { pattern = "^[a-z]+$" }
        keys.team = { pattern = "^t", enum = ["t1", "t2"] }
        keys.project = {}
    "#;

    /// The first problem is reported, in the order unknown key, value, pattern, required key, sets.
    #[test]
    fn the_first_problem_is_reported() {
        let schema = load(SCHEMA).unwrap();
        let told = |pairs: &str| -> String {
            let pairs = pairs.split_whitespace().map(|pair| pair.split_once('=').unwrap());
            let tuple = Tuple::new(pairs).unwrap();
            let before = tuple.clone();
            let result = schema.validate(&tuple);
            assert_eq!(tuple, before);
            match result {
                Ok(()) => format!("{tuple}: ok"),
                Err(error) => {
                    let at = error.at.clone().unwrap();
                    assert_eq!(at.expected.as_ref(), Some(&schema.json_schema()));
                    let (code, hint) = (error.code.name(), error.hint.clone().unwrap());
                    format!("{tuple}: {code} {at} {:?}: {}; {hint}", at.got, error.message)
                }
            }
        };
        let cases = [
            "app=chat user=ann",
            "app=mail team=t1 project=x",
            "colour=red app=no user=UPPER",
            "usr=ann",
            "app=no user=UPPER",
            "app=chat team=x1",
            "user=UPPER",
            "app=chat user=UPPER",
            "user=ann",
            "user=ann team=t1 project=x",
            "",
            "app=chat",
            "app=chat team=t1",
            "app=chat user=ann team=t2 project=x",
            "app=chat user=ann team=t2",
        ];
        let all: Vec<String> = cases.iter().map(|case| told(case)).collect();
        insta::assert_snapshot!(all.join("\n"), @r#"
        app=chat user=ann: ok
        app=mail project=x team=t1: ok
        app=no colour=red user=UPPER: tenant_unknown_key `tenant.colour` Some("red"): a tenant has no key `colour` here; the keys are `app`, `project`, `team`, `user`
        usr=ann: tenant_unknown_key `tenant.usr` Some("ann"): a tenant has no key `usr` here; did you mean `user`?
        app=no user=UPPER: tenant_enum_mismatch `tenant.app` Some("no"): `no` is none of the values of `app`; the values are `chat`, `mail`
        app=chat team=x1: tenant_enum_mismatch `tenant.team` Some("x1"): `x1` is none of the values of `team`; the values are `t1`, `t2`
        user=UPPER: tenant_pattern_mismatch `tenant.user` Some("UPPER"): `UPPER` does not match the pattern of `user`; the pattern is `^[a-z]+$`
        app=chat user=UPPER: tenant_pattern_mismatch `tenant.user` Some("UPPER"): `UPPER` does not match the pattern of `user`; the pattern is `^[a-z]+$`
        user=ann: tenant_missing_required `tenant.app` None: the tenant lacks the key `app`; give `app=VALUE`
        project=x team=t1 user=ann: tenant_missing_required `tenant.app` None: the tenant lacks the key `app`; give `app=VALUE`
        default: tenant_missing_required `tenant.app` None: the tenant lacks the key `app`; give `app=VALUE`
        app=chat: tenant_one_of_no_match `tenant` Some("app=chat"): the tenant has none of the sets of keys it needs one of; give all keys of one: `user`; `team`, `project`
        app=chat team=t1: tenant_one_of_no_match `tenant` Some("app=chat team=t1"): the tenant has none of the sets of keys it needs one of; give all keys of one: `user`; `team`, `project`
        app=chat project=x team=t2 user=ann: tenant_one_of_multiple_match `tenant` Some("app=chat project=x team=t2 user=ann"): the tenant has more than one of the sets of keys it needs one of; give the keys of one only: `user`; `team`, `project`
        app=chat team=t2 user=ann: ok
        "#);
    }

    #[test]
    fn a_schema_without_keys_accepts_every_tenant() {
        let schema = Config::defaults().unwrap().tenant_schema;
        schema.validate(&Tuple::default()).unwrap();
        schema.validate(&Tuple::new([("any", "thing")]).unwrap()).unwrap();
        assert!(!schema.demands() && load(SCHEMA).unwrap().demands());
        assert!(!load("[tenant-schema.keys.user]").unwrap().demands());
    }

    #[test]
    fn the_schema_is_converted_to_json_schema() {
        insta::assert_snapshot!(format!("{:#}", load(SCHEMA).unwrap().json_schema()), @r#"
        {
          "type": "object",
          "description": "A user, or a team and its project",
          "properties": {
            "app": {
              "type": "string",
              "description": "The application",
              "enum": [
                "chat",
                "mail"
              ]
            },
            "project": {
              "type": "string"
            },
            "team": {
              "type": "string",
              "pattern": "^t",
              "enum": [
                "t1",
                "t2"
              ]
            },
            "user": {
              "type": "string",
              "pattern": "^[a-z]+$"
            }
          },
          "required": [
            "app"
          ],
          "additionalProperties": false,
          "oneOf": [
            {
              "required": [
                "user"
              ]
            },
            {
              "required": [
                "team",
                "project"
              ]
            }
          ]
        }
        "#);
    }

    #[test]
    fn an_invalid_schema_is_refused_with_its_location() {
        let texts = [
            "keys.user.pattern = \"[\"",
            "keys.user.enum = []",
            "keys.user.enum = [\"a\", \"a\"]",
            "keys.user.enum = [\" a\"]",
            "keys.user = { enum = [\"A\"], pattern = \"^[a-z]$\" }",
            "keys.\"a=b\" = {}",
            "keys.\" a\" = {}",
            "keys.user.requird = true",
            "keys.user.required = \"yes\"",
            "keys.user = {}\none-of = [[\"usr\"]]",
            "keys.user = {}\none-of = [[]]",
            "keys.user = {}\none-of = [[\"user\", \"user\"]]",
            "keys.user = {}\none-of = [[\"user\"], [\"user\"]]",
            "one-of = [[\"user\"]]",
        ];
        let told = |text: &&str| {
            let error = load(&format!("[tenant-schema]\n{text}")).unwrap_err();
            assert_eq!(error.code, Code::InvalidConfig);
            format!("{error}\n  {}", error.hint.as_deref().unwrap_or_default())
        };
        insta::assert_snapshot!(texts.iter().map(told).collect::<Vec<_>>().join("\n"), @r#"
        config.toml:2:11: `tenant-schema.keys.user.pattern`: is no regular expression: unclosed character class
          
        config.toml:2:11: `tenant-schema.keys.user.enum`: `user` could have no value
          list the values there are, or leave `enum` out
        config.toml:2:11: `tenant-schema.keys.user.enum`: `a` is there twice
          name every value once
        config.toml:2:11: `tenant-schema.keys.user.enum`: no tenant has the value ` a`
          leave the space out
        config.toml:2:15: `tenant-schema.keys.user.enum`: `A` does not match the `pattern` of its key
          leave it out, or change `pattern`
        config.toml:2:6: `tenant-schema.keys.a=b`: the tenant's key `a=b` has a character that no key may have
          a key has neither `=` nor control characters
        config.toml:2:6: `tenant-schema.keys. a`: no tenant has a key ` a`
          leave the space out
        config.toml:2:11: `tenant-schema.keys.user.requird`: unknown key `requird`
          did you mean `required`?
        config.toml:2:11: `tenant-schema.keys.user.required`: cannot be the text "yes"
          give `true` or `false`
        config.toml:3:1: `tenant-schema.one-of`: a set names the key `usr`, which there is not
          did you mean `user`?
        config.toml:3:1: `tenant-schema.one-of`: one of the sets is empty
          name the keys that belong together
        config.toml:3:1: `tenant-schema.one-of`: a set names a key twice
          name every key once
        config.toml:3:1: `tenant-schema.one-of`: two sets are the same
          leave one of them out
        config.toml:2:1: `tenant-schema.one-of`: a set names the key `user`, which there is not
          add a section `[tenant-schema.keys.user]`
        "#);
    }
}
