//! The settings files of other programs. A change keeps everything else, including comments and order.

use super::edit::Edit;
use super::{json_file, toml_file};
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The syntax of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Syntax {
    /// JSON, also with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// A settings file, with the changes that it must contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) syntax: Syntax,
    pub(super) edits: Vec<Edit>,
}

impl SettingsFile {
    /// The text with all changes made.
    ///
    /// # Errors
    /// `invalid_config` when the file is not valid JSON or TOML, or has a value of another type where a
    /// change belongs.
    pub(super) fn with_edits(&self, text: &str) -> Result<String> {
        self.edit(text, |text, edit| match self.syntax {
            Syntax::Json => json_file::set(text, edit),
            Syntax::Toml => toml_file::set(text, edit),
        })
    }

    /// The text without the additions of the changes.
    ///
    /// # Errors
    /// `invalid_config` when the file cannot be read as its syntax.
    pub(super) fn without_edits(&self, text: &str) -> Result<String> {
        self.edit(text, |text, edit| match self.syntax {
            Syntax::Json => json_file::remove(text, edit),
            Syntax::Toml => toml_file::remove(text, edit),
        })
    }

    /// The text without the additions of the changes that nobody has changed since: members with the same value, and
    /// hooks with the same command.
    ///
    /// # Errors
    /// `invalid_config` when the file cannot be read as its syntax.
    pub(super) fn without_same_edits(&self, text: &str) -> Result<String> {
        self.edit(text, |text, edit| match self.syntax {
            Syntax::Json => json_file::remove_same(text, edit),
            Syntax::Toml => toml_file::remove_same(text, edit),
        })
    }

    fn edit(
        &self,
        text: &str,
        change: impl Fn(&str, &Edit) -> std::result::Result<String, String>,
    ) -> Result<String> {
        self.edits.iter().try_fold(text.to_owned(), |text, edit| {
            change(&text, edit).map_err(|why| {
                Error::config(format!("`{}` cannot be changed: {why}", self.path.display()))
                    .hint("fix the file, or register the memory manually: `poc-memory mcp config`")
            })
        })
    }
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match poc_config::files::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable(format!("`{}` cannot be read: {error}", path.display()))),
    }
}
