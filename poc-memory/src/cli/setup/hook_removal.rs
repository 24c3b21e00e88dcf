//! Removes the hooks that an earlier `setup` registered, for `setup --no-hooks`.

use super::assistant::{Assistant, SettingsFolders};
use super::plan::FileChange;
use super::record::SetupRecord;
use super::settings_file::SettingsFile;
use crate::cli::command_context::CommandContext;
use poc_graph::error::Result;
use std::path::PathBuf;

/// The changes that remove the recorded hooks of assistants. If no recorded hooks of other assistants are left, the
/// daemon also stops following transcripts, unless that was set by somebody else.
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
    let mut changes = Vec::new();
    let mut others_remain = false;
    for file in record.files.iter().filter(|file| file.has_hooks()) {
        let removal = file.undone(SettingsFile::without_same_edits);
        if named.contains(&file.settings.path) {
            changes.extend(removal?);
        } else {
            // The hooks of an assistant that was uninstalled are gone. A file that cannot be read may have hooks.
            others_remain |= !matches!(removal, Ok(None));
        }
    }
    if !others_remain {
        let own_settings = context.paths.config_file();
        for file in record.files.iter().filter(|file| file.settings.path == own_settings) {
            changes.extend(file.undone(SettingsFile::without_same_edits)?);
        }
    }
    Ok(changes)
}
