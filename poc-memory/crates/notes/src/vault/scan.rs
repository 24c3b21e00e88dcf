//! Scans the files of a vault.
//!
//! Symbolic links to folders are not followed, and links to files are followed only within the vault.

use crate::import::references::NOTE_EXTENSIONS;
use crate::vault_walk::{VaultWalk, path_of};
use ignore::DirEntry;
use poc_graph::error::{Error, Result};
use poc_graph::escape_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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

    /// What stays the same if a file is moved. Only the time of the change of its entry differs.
    pub(super) fn moved_identity(&self) -> (u64, u64, i64) {
        (self.inode, self.size, self.modified)
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
        let mut walk = VaultWalk::of(root).map_err(|file| special_file_error(&file))?;
        let mut scan = VaultScan::default();
        for entry in &mut walk {
            match entry {
                Ok(entry) => scan.take(root, &entry),
                Err(error) => {
                    let path = path_of(&error).and_then(|path| relative(root, path)).unwrap_or_default();
                    scan.unreadable.push((path, Error::invalid(format!("cannot be read: {error}"))));
                }
            }
        }
        for file in walk.special_ignore_files() {
            let folder = file.parent().and_then(|folder| relative(root, folder)).unwrap_or_default();
            scan.unreadable.push((folder, special_file_error(&file)));
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

fn special_file_error(file: &Path) -> Error {
    Error::unavailable(format!("`{}` is not a regular file", escape_line(&file.to_string_lossy())))
        .hint("nothing in its folder was changed; delete it")
}
