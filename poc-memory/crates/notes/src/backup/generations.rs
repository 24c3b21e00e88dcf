//! The generations of a backup folder.

use super::generation::{self, BackupGeneration};
use super::manifest::{self, BackupManifest};
use super::{archive, folder_lock, unusable};
use poc_config::atomic_write::sync_folder;
use poc_graph::error::{Error, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Prefix of the names of unfinished generations and of those that are being deleted.
const PARTIAL: &str = "partial-";

/// The generations of a backup folder, newest first, or the one of an archive or of the folder of a
/// generation. Unfinished ones are ignored.
///
/// # Errors
/// `not_found` when there is no such folder or file, `invalid_argument` when the file is not a backup,
/// `unavailable` when it cannot be read.
pub fn generations(path: &Path) -> Result<Vec<BackupGeneration>> {
    if path.is_file() {
        return Ok(vec![archive::generation(path)?]);
    }
    match in_generation(path) {
        Some(generation) => Ok(vec![generation]),
        None => in_folder(path),
    }
}

/// The generation whose folder this is; `None` if it is another folder.
pub(super) fn in_generation(folder: &Path) -> Option<BackupGeneration> {
    // A path such as `.` has no name.
    let folder = folder.canonicalize().ok().filter(|folder| folder.join(manifest::FILE).is_file())?;
    of_folder(&folder)
}

/// Whether a folder is a generation, or contains one that has not been renamed.
pub(super) fn has_generation(folder: &Path) -> bool {
    if in_generation(folder).is_some() {
        return true;
    }
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| is_named_generation(&entry.path()))
}

/// Whether a folder is a generation, complete or not, that has not been renamed. Its prompts are files of Markdown, but
/// not notes.
pub(crate) fn is_generation(folder: &Path) -> bool {
    let name = folder.file_name().and_then(OsStr::to_str);
    is_named_generation(folder) || name.is_some_and(is_partial)
}

/// Whether a folder is a complete generation that has not been renamed.
fn is_named_generation(folder: &Path) -> bool {
    let name = folder.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| generation::parse(name).is_some()) && folder.join(manifest::FILE).is_file()
}

/// Whether a name is that of an unfinished generation.
fn is_partial(name: &str) -> bool {
    name.strip_prefix(PARTIAL).is_some_and(|name| generation::parse(name).is_some())
}

/// The generation in a folder; `None` if it has none. A renamed folder gets its name from the manifest.
fn of_folder(folder: &Path) -> Option<BackupGeneration> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    if generation::parse(&name).is_some() {
        return BackupGeneration::new(name, folder.to_owned(), || BackupManifest::read(folder));
    }
    let manifest = BackupManifest::read(folder).ok().filter(|_| !name.starts_with(PARTIAL))?;
    BackupGeneration::new(generation::name(manifest.seq, manifest.at), folder.to_owned(), || Ok(manifest))
}

/// The generations of a folder, newest first.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<BackupGeneration>> {
    let entries = fs::read_dir(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::not_found(format!("there is no folder or file `{}`", folder.display()))
            .hint("name the folder or file that `poc-memory backup` was given")
            .field("path"),
        _ => unusable(folder, "read", &error),
    })?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unusable(folder, "read", &error))?.path();
        found.extend(of_folder(&path));
    }
    sort(&mut found);
    Ok(found)
}

/// Sorts generations, newest first. A generation with a damaged manifest is sorted by its sequence number.
fn sort(generations: &mut [BackupGeneration]) {
    let numbers: Vec<(u64, u64)> = generations
        .iter()
        .filter_map(|generation| Some((generation.seq, generation.manifest.as_ref().ok()?.number)))
        .collect();
    let number = |generation: &BackupGeneration| match &generation.manifest {
        Ok(manifest) => manifest.number,
        Err(_) => {
            let before = numbers.iter().filter(|(seq, _)| *seq <= generation.seq);
            before.map(|(_, number)| *number).max().unwrap_or(0)
        }
    };
    generations.sort_by_cached_key(|generation| {
        std::cmp::Reverse((number(generation), generation.at, generation.seq))
    });
}

/// The path under which a generation is written until it is complete.
pub(super) fn partial(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{PARTIAL}{name}"))
}

/// Names of folders that systems create on new disks, besides hidden ones.
const FOLDERS_OF_SYSTEMS: [&str; 3] = ["lost+found", "System Volume Information", "$RECYCLE.BIN"];

/// Whether a folder still counts as empty if it contains a file or folder of this name: one that a system or an
/// interrupted first backup has left there.
pub(super) fn may_be_in_empty_folder(name: &str) -> bool {
    name == folder_lock::LOCK || is_of_system(name) || is_partial(name)
}

/// Whether a file or folder of this name may be of the system, as on a new disk.
pub(super) fn is_of_system(name: &str) -> bool {
    name.starts_with('.') || FOLDERS_OF_SYSTEMS.contains(&name)
}

/// Deletes the unfinished generations of interrupted backups. The caller must hold the lock.
pub(super) fn remove_partial(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| unusable(folder, "read", &error))? {
        let path = entry.map_err(|error| unusable(folder, "read", &error))?.path();
        if path.file_name().and_then(OsStr::to_str).is_some_and(is_partial) {
            fs::remove_dir_all(&path).map_err(|error| unusable(&path, "deleted", &error))?;
        }
    }
    Ok(())
}

/// Deletes a generation. It is renamed first, so that an interruption leaves no incomplete generation behind.
pub(super) fn remove(folder: &Path, generation: &BackupGeneration) -> Result<()> {
    let doomed = partial(folder, &generation.name);
    let removed = fs::rename(&generation.path, &doomed)
        .and_then(|()| sync_folder(folder))
        .and_then(|()| fs::remove_dir_all(&doomed));
    removed.map_err(|error| unusable(&generation.path, "deleted", &error))
}
