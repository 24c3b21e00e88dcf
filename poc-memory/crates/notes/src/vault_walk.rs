//! Walks the files of a vault, for its sync and for an import of the folder.
//!
//! Hidden files and folders, folders of templates, backups of memories, and paths that match ignore files are left out.
//! Symbolic links are not followed.

use crate::{backup, regular_file};
use ignore::{DirEntry, Walk, WalkBuilder};
use parking_lot::Mutex;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ignore file of this program, in the form of `.gitignore`.
const IGNORE_FILE: &str = ".poc-memory-ignore";

/// The names of the ignore files that may be in every folder.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", IGNORE_FILE];

/// The folder with the settings of Obsidian, which is in every vault of it.
const OBSIDIAN: &str = ".obsidian";

/// Lower-case names of folders of templates, which count only at the top of a vault.
const TEMPLATES: [&str; 3] = ["templates", "_templates", "template"];

/// Where plugins of Obsidian record their folder of templates: the file, and the field.
const TEMPLATE_SETTINGS: [(&str, &str); 2] = [
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
];

/// Whether a folder is a vault of Obsidian.
pub(crate) fn is_obsidian_vault(folder: &Path) -> bool {
    folder.join(OBSIDIAN).is_dir()
}

/// The files and folders of a vault, in no particular order.
pub(crate) struct VaultWalk {
    walk: Walk,
    special_files: Arc<Mutex<Vec<PathBuf>>>,
}

impl VaultWalk {
    /// Walks a folder.
    ///
    /// # Errors
    /// The pipe or device that the folder itself has in place of an ignore file.
    pub(crate) fn of(root: &Path) -> Result<VaultWalk, PathBuf> {
        if let Some(file) = special_ignore_file(root) {
            return Err(file);
        }
        let templates = template_folders(root);
        let owned_root = root.to_owned();
        let special_files = Arc::new(Mutex::new(Vec::<PathBuf>::new()));
        let found = special_files.clone();
        let walk = WalkBuilder::new(root)
            .hidden(true)
            .parents(false)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .follow_links(false)
            .add_custom_ignore_filename(IGNORE_FILE)
            .filter_entry(move |entry| {
                let special = if is_dir(entry) { special_ignore_file(entry.path()) } else { None };
                let is_left_out = special.is_some()
                    || is_template(entry, &owned_root, &templates)
                    || is_dir(entry) && backup::is_generation(entry.path());
                found.lock().extend(special);
                !is_left_out
            })
            .build();
        Ok(VaultWalk { walk, special_files })
    }

    /// The pipes and devices that subfolders have in place of an ignore file, as far as the walk has come. It does not
    /// enter these folders.
    pub(crate) fn special_ignore_files(&self) -> Vec<PathBuf> {
        self.special_files.lock().clone()
    }
}

impl Iterator for VaultWalk {
    type Item = Result<DirEntry, ignore::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.next()
    }
}

/// The path that an error of the walk is about.
pub(crate) fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

/// The ignore file of a folder that is a pipe or a device. The walk would open it and wait for a writer, or read it
/// without end.
fn special_ignore_file(folder: &Path) -> Option<PathBuf> {
    let is_special = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    };
    IGNORE_FILES.iter().map(|name| folder.join(name)).find(is_special)
}

/// The folders of templates that the settings of an editor name.
fn template_folders(root: &Path) -> Vec<PathBuf> {
    let named = |(file, field): &(&str, &str)| -> Option<PathBuf> {
        let settings: Value = serde_json::from_slice(&regular_file::read(&root.join(file)).ok()?).ok()?;
        let folder = settings.get(*field)?.as_str()?.trim_matches('/');
        (!folder.is_empty()).then(|| root.join(folder))
    };
    TEMPLATE_SETTINGS.iter().filter_map(named).collect()
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn is_template(entry: &DirEntry, root: &Path, templates: &[PathBuf]) -> bool {
    let name = entry.file_name().to_string_lossy().to_lowercase();
    let is_named = entry.path().parent() == Some(root) && TEMPLATES.contains(&name.as_str());
    is_dir(entry) && (is_named || templates.iter().any(|folder| folder == entry.path()))
}
