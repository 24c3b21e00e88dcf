//! The changes of settings files that `setup` has to make.

use super::assistant::{Assistant, SettingsFolders};
use super::edit::Edit;
use super::settings_file::{self, SettingsFile, Syntax};
use crate::cli::command_context::CommandContext;
use poc_config::files;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};
use similar::TextDiff;
use std::path::PathBuf;

/// Number of context lines around each change in a diff.
const CONTEXT: usize = 3;

/// A change of a file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    /// The change as a unified diff.
    pub(super) diff: String,
    #[serde(skip)]
    pub(super) before: Option<String>,
    /// The text from now on; `None` if the file is removed.
    #[serde(skip)]
    pub(super) after: Option<String>,
    #[serde(skip)]
    pub(super) settings: SettingsFile,
}

impl FileChange {
    /// The change of a file; `None` if it stays the same.
    pub(super) fn of(
        settings: SettingsFile,
        before: Option<String>,
        after: Option<String>,
    ) -> Option<FileChange> {
        if before == after {
            return None;
        }
        let name = settings.path.display().to_string();
        let absent = "/dev/null";
        let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let header = (
            if before.is_some() { name.as_str() } else { absent },
            if after.is_some() { name.as_str() } else { absent },
        );
        let diff = TextDiff::from_lines(old, new);
        let diff = diff.unified_diff().context_radius(CONTEXT).header(header.0, header.1).to_string();
        Some(FileChange { path: settings.path.clone(), diff, before, after, settings })
    }

    /// Makes the change. If the path is a link, its target is written or removed, and the link stays.
    ///
    /// # Errors
    /// `conflict` when another program has changed the file since it was read; then its change is kept.
    pub(super) fn write(&self) -> Result<()> {
        let is_written = match &self.after {
            Some(after) => files::write_expected(&self.path, self.before.as_deref(), after)?,
            None => {
                let is_same = settings_file::read(&self.path)? == self.before;
                if is_same {
                    files::remove(&self.path.canonicalize().unwrap_or_else(|_| self.path.clone()))?;
                }
                is_same
            }
        };
        if is_written {
            return Ok(());
        }
        let message = format!("`{}` has changed since it was read", self.path.display());
        Err(Error::conflict(message).hint("repeat the command"))
    }
}

/// All changes.
pub(super) struct SetupPlan {
    pub(super) changes: Vec<FileChange>,
}

impl SetupPlan {
    /// The changes for assistants, with or without hooks.
    ///
    /// # Errors
    /// `invalid_config` when a file cannot be changed; then no file is changed.
    pub(super) fn of(context: &CommandContext, assistants: &[Assistant], hooks: bool) -> Result<SetupPlan> {
        let folders = SettingsFolders::of_user()?;
        let mut files = Vec::new();
        for assistant in assistants {
            files.extend(assistant.settings(context, &folders, hooks)?);
        }
        if hooks && assistants.iter().any(|assistant| assistant.has_hooks()) {
            files.push(own_settings(context, &folders)?);
        }
        let mut changes = Vec::new();
        for file in files {
            let before = settings_file::read(&file.path)?;
            let after = file.with_edits(before.as_deref().unwrap_or_default())?;
            changes.extend(FileChange::of(file, before, Some(after)));
        }
        Ok(SetupPlan { changes })
    }
}

/// The settings of this memory: the daemon follows the transcripts of the assistants.
fn own_settings(context: &CommandContext, folders: &SettingsFolders) -> Result<SettingsFile> {
    let member =
        |name: &str, value: Value| Edit::Member { path: vec!["transcripts".into(), name.into()], value };
    let mut edits = vec![member("follow", json!(true))];
    let transcripts = folders.transcripts();
    if context.config()?.transcripts.folders != transcripts {
        edits.push(member("folders", json!(transcripts)));
    }
    Ok(SettingsFile { path: context.paths.config_file(), syntax: Syntax::Toml, edits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::error::Code;

    #[test]
    fn a_change_by_another_program_since_a_file_was_read_is_never_overwritten() {
        let folder = poc_graph::testing::folder();
        let check = |before: Option<&str>, found: Option<&str>, after: Option<&str>| {
            let path = folder.path().join("settings.json");
            files::remove(&path).unwrap();
            if let Some(found) = found {
                files::write(&path, found).unwrap();
            }
            let settings = SettingsFile { path: path.clone(), syntax: Syntax::Json, edits: Vec::new() };
            let change = FileChange::of(settings, before.map(str::to_owned), after.map(str::to_owned));
            let written = change.unwrap().write();
            let is_unchanged = before == found;
            assert_eq!(written.is_ok(), is_unchanged, "{before:?} {found:?} {after:?}");
            assert!(written.is_ok() || written.unwrap_err().code == Code::Conflict);
            let expected = if is_unchanged { after } else { found };
            assert_eq!(settings_file::read(&path).unwrap().as_deref(), expected);
        };
        for found in [None, Some("{}"), Some("{\"starts\": 8}")] {
            check(Some("{}"), found, Some("{\"own\": 1}"));
            check(Some("{}"), found, None);
            check(None, found, Some("{\"own\": 1}"));
        }
    }

    #[test]
    fn a_link_stays_when_its_target_is_created_and_removed() {
        let folder = poc_graph::testing::folder();
        let (link, target) = (folder.path().join("settings.json"), folder.path().join("target.json"));
        std::os::unix::fs::symlink("target.json", &link).unwrap();
        let change = |before: Option<&str>, after: Option<&str>| {
            let settings = SettingsFile { path: link.clone(), syntax: Syntax::Json, edits: Vec::new() };
            let change = FileChange::of(settings, before.map(str::to_owned), after.map(str::to_owned));
            change.unwrap().write().unwrap();
        };
        change(None, Some("{}"));
        assert_eq!(settings_file::read(&target).unwrap().as_deref(), Some("{}"));
        change(Some("{}"), None);
        assert!(link.is_symlink() && !target.exists());
    }
}
