//! The record of the changes by `setup`, with copies of the original files, which `setup remove` restores.

use super::copies;
use super::edit::Edit;
use super::plan::FileChange;
use super::settings_file::{self, SettingsFile};
use poc_config::files;
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The changes that `setup` made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    pub(super) files: Vec<WrittenFile>,
    /// Whether it registered the daemon with the service manager.
    #[serde(default)]
    pub(super) service: bool,
}

/// A file that `setup` changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    pub(super) settings: SettingsFile,
    /// The copy of the original file; `None` if there was no file.
    pub(super) copy: Option<PathBuf>,
    /// BLAKE3 of the text that was written.
    pub(super) hash: String,
}

impl WrittenFile {
    /// Whether the file got hooks.
    pub(super) fn has_hooks(&self) -> bool {
        self.settings.edits.iter().any(|edit| matches!(edit, Edit::HookEntry { .. }))
    }

    /// Whether a text is the one that was written.
    pub(super) fn is(&self, text: &str) -> bool {
        self.hash == hash(text)
    }

    /// The change that undoes those of `setup`: restores the original file, or removes the additions with `without` if
    /// somebody else has changed the file since. `None` if there is nothing to undo.
    pub(super) fn undone(
        &self,
        without: impl Fn(&SettingsFile, &str) -> Result<String>,
    ) -> Result<Option<FileChange>> {
        // If the file is gone, there is nothing to remove.
        let Some(current) = settings_file::read(&self.settings.path)? else { return Ok(None) };
        let before = self.copy.as_deref().map(settings_file::read).transpose()?.flatten();
        let is_whole = self.is(&current) && before.is_some() == self.copy.is_some();
        let after = match is_whole {
            true => before,
            false => {
                let text = without(&self.settings, &current)?;
                let is_empty = matches!(text.split_whitespace().collect::<String>().as_str(), "" | "{}");
                (self.copy.is_some() || !is_empty).then_some(text)
            }
        };
        Ok(FileChange::of(self.settings.clone(), Some(current), after))
    }
}

impl SetupRecord {
    /// Whether a file got hooks.
    pub(super) fn has_hooks(&self) -> bool {
        self.files.iter().any(WrittenFile::has_hooks)
    }

    /// Reads the record; an empty one if `setup` has never written anything.
    ///
    /// # Errors
    /// `corrupted` when it cannot be read.
    pub(super) fn load(paths: &Paths) -> Result<SetupRecord> {
        let path = paths.setup_record();
        let Some(text) = settings_file::read(&path)? else { return Ok(SetupRecord::default()) };
        serde_json::from_str(&text).map_err(|error| {
            Error::config(format!("`{}` cannot be read: {error}", path.display()))
                .hint("it lists what `setup` wrote; delete it to discard that list")
        })
    }

    /// Writes the record, or removes it when it is empty.
    pub(super) fn save(&self, paths: &Paths) -> Result<()> {
        let path = paths.setup_record();
        if self.files.is_empty() && !self.service {
            files::remove(&path)?;
            let _ = std::fs::remove_dir(copies(paths));
            return Ok(());
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::internal(format!("the record cannot be encoded: {error}")))?;
        files::write(&path, &text)
    }

    /// Writes a changed file, after its copy and the record have been written.
    pub(super) fn apply(&mut self, paths: &Paths, change: &FileChange) -> Result<()> {
        let Some(after) = &change.after else { return Ok(()) };
        let there = self.files.iter().position(|file| file.settings.path == change.path);
        let earlier = there.map(|at| self.files.swap_remove(at));
        let is_ours =
            earlier.as_ref().is_some_and(|file| change.before.as_deref().is_some_and(|text| file.is(text)));
        let copy = match (&change.before, earlier) {
            // Nobody else has changed the file since, so the first copy is still valid.
            (Some(_), Some(earlier)) if is_ours => earlier.copy,
            (Some(before), _) => Some(keep(paths, &change.path, &change.settings.without_edits(before)?)?),
            (None, _) => None,
        };
        self.files.push(WrittenFile { settings: change.settings.clone(), copy, hash: hash(after) });
        self.save(paths)?;
        change.write()
    }

    /// Writes a change that undoes those to a file, and removes the file from the record, with its copy.
    pub(super) fn undo(&mut self, paths: &Paths, change: &FileChange) -> Result<()> {
        change.write()?;
        let is_undone = |file: &WrittenFile| file.settings.path == change.path;
        for copy in self.files.iter().filter(|file| is_undone(file)).filter_map(|file| file.copy.as_ref()) {
            files::remove(copy)?;
        }
        self.files.retain(|file| !is_undone(file));
        self.save(paths)
    }

    /// Records that the daemon was registered with the service manager.
    pub(super) fn service_installed(&mut self, paths: &Paths) -> Result<()> {
        self.service = true;
        self.save(paths)
    }
}

/// Copies a text, readable only by its owner: settings may contain keys.
fn keep(paths: &Paths, path: &Path, text: &str) -> Result<PathBuf> {
    let folder = copies(paths);
    create_private(&folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_path = hash(&path.to_string_lossy());
    let copy = folder.join(format!("{}-{name}", of_path.get(..8).unwrap_or(&of_path)));
    files::write(&copy, text)?;
    Ok(copy)
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
