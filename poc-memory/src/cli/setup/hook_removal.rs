//! Removes the hooks that an earlier `setup` registered, for `setup --no-hooks`.

use super::assistant::{Assistant, SettingsFolders};
use super::edit::Edit;
use super::plan::FileChange;
use super::record::{SetupRecord, WrittenFile};
use super::settings_file::SettingsFile;
use crate::cli::command_context::CommandContext;
use poc_graph::error::Result;
use std::path::PathBuf;

/// The changes that remove the recorded hooks of assistants. When no recorded hooks are left, the daemon also stops
/// following transcripts, unless that was set by somebody else.
///
/// # Errors
/// `invalid_config` when a file cannot be read as its syntax; then no file is changed.
pub(super) fn changes(
    context: &CommandContext,
    assistants: &[Assistant],
    record: &SetupRecord,
) -> Result<Vec<FileChange>> {
    let folders = SettingsFolders::of_user()?;
    let named: Vec<PathBuf> =
        assistants.iter().filter_map(|assistant| assistant.hooks_file(&folders)).collect();
    let is_named = |file: &WrittenFile| named.contains(&file.settings.path);
    let others_remain = record.files.iter().any(|file| has_hooks(file) && !is_named(file));
    let own_settings = context.paths.config_file();
    let is_removed = |file: &WrittenFile| match has_hooks(file) {
        true => is_named(file),
        false => !others_remain && file.settings.path == own_settings,
    };
    let removed = record.files.iter().filter(|file| is_removed(file));
    let changes: Vec<Option<FileChange>> =
        removed.map(|file| file.undone(SettingsFile::without_same_edits)).collect::<Result<_>>()?;
    Ok(changes.into_iter().flatten().collect())
}

/// Whether a recorded file got hooks.
fn has_hooks(file: &WrittenFile) -> bool {
    file.settings.edits.iter().any(|edit| matches!(edit, Edit::HookEntry { .. }))
}
