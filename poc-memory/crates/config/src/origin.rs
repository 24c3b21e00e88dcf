//! Every effective setting and the layer that its value comes from.

use super::defaults::default_table;
use super::layer::{read, scalar, variable_path, variables};
use super::sections::Config;
use super::toml_document::TomlDocument;
use poc_graph::error::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// The origin reported for a default value.
pub const DEFAULT_ORIGIN: &str = "default";

/// An effective setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The dotted path of the setting, such as `text.k1`.
    pub key: String,
    /// The value as JSON.
    pub value: Value,
    /// `default`, the name of the file, or the name of the environment variable.
    pub origin: String,
}

/// All effective settings, sorted by key. Fails if the settings cannot be loaded.
pub fn settings(file: &Path) -> Result<Vec<Setting>> {
    Config::load(file)?;
    settings_with_mistakes(file)
}

/// Like [`settings`], for settings that may have mistakes other than syntax errors. Wrong values are those that are
/// written.
pub fn settings_with_mistakes(file: &Path) -> Result<Vec<Setting>> {
    let text = read(file)?;
    let name = file.display().to_string();
    layered(text.as_deref().map(|text| (name.as_str(), text)), variables())
}

fn layered(
    file: Option<(&str, &str)>,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Vec<Setting>> {
    let mut settings = Settings::default();
    settings.layer("", Value::Table(default_table()?.clone()), DEFAULT_ORIGIN);
    if let Some((name, text)) = file {
        settings.layer("", Value::Table(TomlDocument::parse_or_first_error(name, text)?.into_table()?), name);
    }
    for (variable, value) in variables {
        if let Some(path) = variable_path(&variable) {
            settings.layer(&path.join("."), scalar(&value), &variable);
        }
    }
    Ok(settings.0.into_values().collect())
}

#[derive(Default)]
struct Settings(BTreeMap<String, Setting>);

impl Settings {
    fn layer(&mut self, key: &str, value: Value, origin: &str) {
        if let Value::Table(table) = value {
            for (name, value) in table {
                let key = if key.is_empty() { name } else { format!("{key}.{name}") };
                self.layer(&key, value, origin);
            }
        } else {
            let setting = Setting { key: key.to_owned(), value, origin: origin.to_owned() };
            self.0.insert(key.to_owned(), setting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_shown_with_its_last_origin() {
        let variables = [("POC_MEMORY__TEXT__B".to_owned(), "0.75".to_owned())];
        let file = Some(("config.toml", "[text]\nk1 = 1.2\nb = 0.5\n"));
        let settings = layered(file, variables.into_iter()).unwrap();
        let shown: String = settings
            .iter()
            .filter(|setting| setting.key.starts_with("text."))
            .map(|Setting { key, value, origin }| format!("{key} = {value} ({origin})\n"))
            .collect();
        insta::assert_snapshot!(shown, @r#"
        text.b = 0.75 (POC_MEMORY__TEXT__B)
        text.k1 = 1.2 (config.toml)
        text.language = "english" (default)
        text.title-weight = 3.0 (default)
        "#);
    }
}
