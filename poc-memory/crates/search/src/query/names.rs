//! The names that a pipeline may use in addition to the words of the language.

use super::diagnostic::{SourceDiagnostic, short};
use poc_config::{Config, SavedPipeline};
use poc_graph::similar;
use std::collections::BTreeMap;

/// The names that a pipeline may use: node types, and saved pipelines with an `@`.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    types: Vec<String>,
    saved: BTreeMap<String, SavedPipeline>,
}

impl Names {
    /// The names defined in the settings.
    pub fn of(config: &Config) -> Names {
        Names { types: config.node_types().map(str::to_owned).collect(), saved: config.pipelines.clone() }
    }

    /// Replaces the saved pipelines.
    #[must_use]
    pub fn with_saved(self, saved: BTreeMap<String, SavedPipeline>) -> Names {
        Names { saved, ..self }
    }

    /// All saved pipelines by name.
    pub fn all_saved(&self) -> &BTreeMap<String, SavedPipeline> {
        &self.saved
    }

    /// Whether `name` is a node type.
    pub(super) fn has_type(&self, name: &str) -> bool {
        self.types().any(|known| known == name)
    }

    /// The node types.
    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(String::as_str)
    }

    /// The name and text of a saved pipeline; `None` if it does not exist or its name is invalid.
    pub(super) fn saved(&self, name: &str) -> Option<(&str, &str)> {
        let (name, saved) = self.saved.get_key_value(name).filter(|(name, _)| is_name(name))?;
        Some((name, &saved.text))
    }

    /// The diagnostic for a name that no saved pipeline has.
    pub(super) fn unknown(
        &self,
        name: &str,
        diagnostic: impl Fn(String) -> SourceDiagnostic,
    ) -> SourceDiagnostic {
        if name.is_empty() {
            return diagnostic("a name is missing after this `@`".into())
                .hint("`@NAME` is the pipeline saved as NAME");
        }
        if self.saved.contains_key(name) {
            return diagnostic(invalid_name(name)).hint(NAMING_HINT);
        }
        let diagnostic = diagnostic(format!("there is no saved pipeline `@{}`", short(name)));
        let names = || self.saved.keys().map(String::as_str).filter(|name| is_name(name));
        if let Some(near) = similar::closest(name, names()) {
            return diagnostic.hint(format!("did you mean `@{near}`?"));
        }
        let known: Vec<String> = names().take(10).map(|name| format!("`@{name}`")).collect();
        let known =
            if known.is_empty() { String::new() } else { format!("saved are {}; ", known.join(", ")) };
        diagnostic.hint(format!(
            "{known}save one in config.toml under `[pipelines]`: `recent = \"age:<7d | limit:20\"`"
        ))
    }
}

/// The hint for an invalid name of a saved pipeline.
pub(super) const NAMING_HINT: &str = "write lower-case words with `-` between them: `recent-sessions`";

/// The message for an invalid name of a saved pipeline.
pub(super) fn invalid_name(name: &str) -> String {
    format!("`{}` is not a valid name for a saved pipeline", short(name))
}

/// Whether `name` is valid for a saved pipeline: kebab-case in lower case.
pub(super) fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit())
    };
    name.starts_with(|char: char| char.is_ascii_lowercase()) && name.split('-').all(part)
}
