//! Scans the files of a vault.
//!
//! Hidden files and folders, folders of templates, and paths that match ignore files are left out. Symbolic
//! links to folders are not followed, and links to files are followed only within the vault.

use crate::import::references::NOTE_EXTENSIONS;
use crate::regular_file;
use ignore::{DirEntry, WalkBuilder};
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ignore file of this program, in the form of `.gitignore`.
const IGNORE_FILE: &str = ".poc-memory-ignore";

/// The names of the ignore files that may be in every folder.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", IGNORE_FILE];

/// Lower-case names of folders of templates, which count only at the top of a vault.
const TEMPLATES: [&str; 3] = ["templates", "_templates", "template"];

/// Where plugins of Obsidian record their folder of templates: the file, and the field.
const TEMPLATE_SETTINGS: [(&str, &str); 2] = [
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
];

/// Identifies an unchanged file without reading it. Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStat {
    pub(super) size: u64,
    pub(super) modified: i64,
    /// The inode change time (ctime), which programs cannot set.
    changed: i64,
    inode: u64,
}

impl FileStat {
    pub(super) fn of(metadata: &Metadata) -> FileStat {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        FileStat {
            size: metadata.len(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// The time of the last change.
    pub(super) fn last_change(&self) -> i64 {
        self.modified.max(self.changed)
    }
}

/// Whether a folder can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderState {
    /// The folder exists.
    Present,
    /// The folder is missing: it was deleted or moved, or its disk is not mounted.
    Missing,
}

/// The files of a vault.
#[derive(Default)]
pub(super) struct VaultScan {
    /// The files that may be notes, by their path with `/` between folders.
    pub(super) files: BTreeMap<String, FileStat>,
    /// The folders that were entered.
    pub(super) folders: Vec<PathBuf>,
    /// Number of symbolic links that lead out of the folder or are broken.
    pub(super) outside: u64,
    /// Paths that could not be read, with the errors.
    pub(super) unreadable: Vec<(String, Error)>,
}

impl VaultScan {
    /// Scans a folder.
    ///
    /// # Errors
    /// `unavailable` if the folder itself is not there, or has a pipe or device in place of an ignore file.
    pub(super) fn of(root: &Path) -> Result<VaultScan> {
        if !root.is_dir() {
            return Err(Error::unavailable(format!("the folder `{}` does not exist", root.display())).hint(
                "nothing was changed; mount or restore the folder, or unbind it with `poc-memory vault remove`",
            ));
        }
        if let Some(file) = special_ignore_file(root) {
            return Err(special_file_error(&file));
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
                let is_left_out = special.is_some() || is_template(entry, &owned_root, &templates);
                found.lock().extend(special);
                !is_left_out
            })
            .build();
        let mut scan = VaultScan::default();
        for entry in walk {
            match entry {
                Ok(entry) => scan.take(root, &entry),
                Err(error) => {
                    let path = path_of(&error).and_then(|path| relative(root, path)).unwrap_or_default();
                    scan.unreadable.push((path, Error::invalid(format!("cannot be read: {error}"))));
                }
            }
        }
        for file in special_files.lock().iter() {
            let folder = file.parent().and_then(|folder| relative(root, folder)).unwrap_or_default();
            scan.unreadable.push((folder, special_file_error(file)));
        }
        Ok(scan)
    }

    /// Whether a file that was not found may still exist, because a folder above it could not be read.
    pub(super) fn is_unknown(&self, path: &str) -> bool {
        let is_above = |folder: &str| {
            folder.is_empty()
                || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        };
        self.unreadable.iter().any(|(folder, _)| is_above(folder))
    }

    fn take(&mut self, root: &Path, entry: &DirEntry) {
        let Some(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            self.folders.push(entry.path().to_owned());
            return;
        }
        let extension = entry.path().extension().map(|extension| extension.to_string_lossy().to_lowercase());
        if !extension.is_some_and(|extension| NOTE_EXTENSIONS.contains(&extension.as_str())) {
            return;
        }
        let Some(path) = relative(root, entry.path()) else {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_string_lossy().into_owned();
            self.unreadable.push((path, Error::invalid("its name is not UTF-8").hint("rename it")));
            return;
        };
        if kind.is_symlink() {
            let target = entry.path().canonicalize().ok();
            if !target.is_some_and(|target| target.starts_with(root)) {
                self.outside += 1;
                return;
            }
        }
        match std::fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_file() => drop(self.files.insert(path, FileStat::of(&metadata))),
            Ok(_) => {}
            // It was deleted in between.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.unreadable.push((path, Error::invalid(format!("cannot be read: {error}")))),
        }
    }
}

/// The folders of a vault that may contain notes, and the vault itself; none if the vault does not exist.
pub fn folders(root: &Path) -> Vec<PathBuf> {
    VaultScan::of(root).map(|scan| scan.folders).unwrap_or_default()
}

/// A path below a folder, with `/` between its parts; `None` if it is not UTF-8.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?;
    Some(parts.join("/"))
}

/// The path that an error of the scan is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
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

/// The ignore file of a folder that is a pipe or a device. The walk would open it and wait for a writer, or read it
/// without end.
fn special_ignore_file(folder: &Path) -> Option<PathBuf> {
    let is_special = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    };
    IGNORE_FILES.iter().map(|name| folder.join(name)).find(is_special)
}

fn special_file_error(file: &Path) -> Error {
    Error::unavailable(format!("`{}` is not a regular file", file.display()))
        .hint("nothing in its folder was changed; delete it")
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn is_template(entry: &DirEntry, root: &Path, templates: &[PathBuf]) -> bool {
    let name = entry.file_name().to_string_lossy().to_lowercase();
    let is_named = entry.path().parent() == Some(root) && TEMPLATES.contains(&name.as_str());
    is_dir(entry) && (is_named || templates.iter().any(|folder| folder == entry.path()))
}
