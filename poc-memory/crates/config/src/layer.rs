//! Layers of TOML settings: merges them, and locates errors in them.

use super::files;
use super::sections::Config;
use super::serde_message::{rewrite, suggested_name};
use super::toml_document::TomlDocument;
use poc_graph::error::{Error, ErrorLocation, Result};
use serde_path_to_error::Segment;
use std::path::Path;
use toml::{Table, Value};

/// Prefix of environment variables that are settings: `POC_MEMORY__SECTION__KEY=value`.
const ENVIRONMENT: &str = "POC_MEMORY__";

/// An error with the path of the key it is about.
#[derive(PartialEq)]
pub(super) struct SettingDiagnostic {
    /// The path as errors name it, with indexes in lists.
    path: String,
    /// The keys that lead to the value, or to the list that contains it.
    pub(super) keys: Vec<String>,
    message: String,
}

impl SettingDiagnostic {
    /// Converts to an error with the position of the key in the file.
    pub(super) fn locate(self, name: &str, text: &str) -> Error {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let at = location_of(name, text, &keys);
        self.error().at(ErrorLocation { field: Some(self.path), ..at })
    }

    /// Converts to an error with the name of the environment variable that sets the key.
    pub(super) fn in_variable(self, variable: &str) -> Error {
        self.error().field(variable)
    }

    /// The key that is missing in the table with these keys; `None` for another mistake.
    pub(super) fn missing_key(&self) -> Option<&str> {
        self.message.strip_prefix("missing field ").map(|name| name.trim().trim_matches('`'))
    }

    /// The path of the known key that the error about an unknown one suggests; `None` for another mistake, or if no key
    /// is similar.
    pub(super) fn suggested_key(&self) -> Option<Vec<String>> {
        let name = suggested_name(&self.message)?;
        let (_, table) = self.keys.split_last()?;
        Some([table, &[name]].concat())
    }

    fn error(&self) -> Error {
        let (message, hint) = rewrite(&self.message, &self.path);
        Error { hint, ..Error::config(message) }
    }
}

/// The text of the file; `None` if it does not exist.
///
/// # Errors
/// `invalid_config` if the file cannot be read.
pub(super) fn read(file: &Path) -> Result<Option<String>> {
    match files::read_text(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let unread = Error::config(format!("cannot be read: {error}")).file(file.display().to_string());
            Err(match files::foreign_owner(file, &error) {
                Some(owner) => {
                    unread.hint(format!("{owner}: run the command as the owner, or change the owner"))
                }
                None => unread,
            })
        }
    }
}

/// The environment variables that are valid Unicode.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    let variables: Vec<_> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    variables.into_iter()
}

/// The path of the key that an environment variable sets; `None` for other variables.
pub(super) fn variable_path(variable: &str) -> Option<Vec<String>> {
    let path = variable.strip_prefix(ENVIRONMENT)?;
    Some(path.split("__").map(|part| part.to_lowercase().replace('_', "-")).collect())
}

/// Decodes the merged settings.
pub(super) fn deserialize(table: Table) -> std::result::Result<Config, SettingDiagnostic> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let mut path = error.path().to_string();
        let mut keys: Vec<String> = error
            .path()
            .iter()
            .map_while(|segment| match segment {
                Segment::Map { key } => Some(key.clone()),
                Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
            })
            .collect();
        let message = error.into_inner().message().to_owned();
        // Serde names the unknown key only in its message; the path stops at the table.
        if let Some(key) = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next())
            && path.rsplit('.').next() != Some(key)
        {
            path = if path == "." { key.to_owned() } else { format!("{path}.{key}") };
            keys.push(key.to_owned());
        }
        SettingDiagnostic { path, keys, message }
    })
}

/// The position of a key in the text of a file; only the name of the file if the key does not occur in it.
pub(super) fn location_of(name: &str, text: &str, path: &[&str]) -> ErrorLocation {
    match TomlDocument::parse_or_first_error(name, text) {
        Ok(document) => document.key_location(path.iter().copied()),
        Err(_) => ErrorLocation { file: Some(name.into()), ..ErrorLocation::default() },
    }
}

/// Merges a layer into a table. Values of the layer replace those of the table; tables are merged key by key.
pub(super) fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(layer)) => merge(inner, layer),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Sets the value of a key, given by its path. Missing tables are created; a plain value in place of a table stays.
pub(super) fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Parses an environment variable as a TOML value; a text that is not valid TOML becomes a string.
pub(super) fn scalar(text: &str) -> Value {
    toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}
