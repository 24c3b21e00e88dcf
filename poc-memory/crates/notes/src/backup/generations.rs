//! The generations of a backup folder.

use super::files::{self, BackupFile};
use super::manifest::{self, BackupManifest};
use super::{archive, unusable};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_store::FileId;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the lock file of a backup folder.
pub(super) const LOCK: &str = "lock";

/// Prefix of the names of unfinished generations and of those that are being deleted.
const PARTIAL: &str = "partial-";

/// A complete generation.
#[derive(Clone, Debug)]
pub struct BackupGeneration {
    /// The name of its folder: `SEQ-TIME`.
    pub name: String,
    /// The folder of the generation, or the archive that contains it.
    pub path: PathBuf,
    /// The last transaction, from the name.
    pub seq: u64,
    /// When the backup began, from the name.
    pub at: Timestamp,
    /// The manifest, or why it cannot be read.
    pub manifest: Result<BackupManifest, String>,
}

impl BackupGeneration {
    /// A generation with this name; `None` if it is not the name of a generation.
    pub(super) fn new(
        name: String,
        path: PathBuf,
        manifest: impl FnOnce() -> Result<BackupManifest, String>,
    ) -> Option<BackupGeneration> {
        let (seq, at) = parse(&name)?;
        let manifest = manifest().and_then(|manifest| {
            let is_own = (manifest.seq, manifest.at) == (seq, at);
            is_own.then_some(manifest).ok_or_else(|| "the manifest belongs to another generation".to_owned())
        });
        Some(BackupGeneration { name, path, seq, at, manifest })
    }

    /// The files that are missing or have another length, one line each. Reads only their lengths; empty for
    /// an archive, whose files cannot be checked in this way.
    pub fn incomplete_files(&self) -> Vec<String> {
        let Some(manifest) = self.manifest.as_ref().ok().filter(|_| !self.path.is_file()) else {
            return Vec::new();
        };
        let problem = |file: &BackupFile| match fs::symlink_metadata(self.path.join(&file.path)) {
            Ok(found) if !found.is_file() => Some("is not a file".to_owned()),
            Ok(found) => files::wrong_length(found.len(), file),
            Err(_) => Some("is missing".to_owned()),
        };
        manifest
            .all_files()
            .filter_map(|file| problem(file).map(|problem| format!("`{}` {problem}", file.path)))
            .collect()
    }

    /// The manifest.
    ///
    /// # Errors
    /// `internal` when it is damaged.
    pub(super) fn readable(&self) -> Result<&BackupManifest> {
        self.manifest.as_ref().map_err(|problem| {
            Error::internal(format!("the generation `{}` is damaged: {problem}", self.name))
        })
    }
}

/// The generations of a backup folder, newest first, or the one of an archive or of the folder of a
/// generation. Unfinished ones are ignored.
///
/// # Errors
/// `not_found` when there is no such folder or file, `invalid_argument` when the file is not a backup,
/// `unavailable` when it cannot be read.
pub fn generations(place: &Path) -> Result<Vec<BackupGeneration>> {
    if place.is_file() {
        return Ok(vec![archive::generation(place)?]);
    }
    match in_generation(place) {
        Some(generation) => Ok(vec![generation]),
        None => in_folder(place),
    }
}

/// The generation whose folder this is; `None` if it is another folder.
pub(super) fn in_generation(folder: &Path) -> Option<BackupGeneration> {
    // A path such as `.` has no name.
    let folder = folder.canonicalize().ok().filter(|folder| folder.join(manifest::FILE).is_file())?;
    of_folder(&folder)
}

/// The generation in a folder; `None` if it has none. A renamed folder gets its name from the manifest.
fn of_folder(folder: &Path) -> Option<BackupGeneration> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    if parse(&name).is_some() {
        return BackupGeneration::new(name, folder.to_owned(), || BackupManifest::read(folder));
    }
    let manifest = BackupManifest::read(folder).ok().filter(|_| !name.starts_with(PARTIAL))?;
    BackupGeneration::new(self::name(manifest.seq, manifest.at), folder.to_owned(), || Ok(manifest))
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

/// The name of a generation.
pub(super) fn name(seq: u64, at: Timestamp) -> String {
    let digits: String = at.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    format!("{seq:020}-{digits}")
}

/// The sequence number and time of a name.
fn parse(text: &str) -> Option<(u64, Timestamp)> {
    let (seq, time) = text.split_once('-')?;
    let (day, hour) = time.split_once('T')?;
    let (year, month, date) = (day.get(..4)?, day.get(4..6)?, day.get(6..)?);
    let (hours, minutes, seconds) = (hour.get(..2)?, hour.get(2..4)?, hour.get(4..)?);
    let at = Timestamp::parse(&format!("{year}-{month}-{date}T{hours}:{minutes}:{seconds}")).ok()?;
    let seq = seq.parse().ok()?;
    (name(seq, at) == text).then_some((seq, at))
}

/// The path under which a generation is written until it is complete.
pub(super) fn partial(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{PARTIAL}{name}"))
}

/// Deletes the unfinished generations of interrupted backups. The caller must hold the lock.
pub(super) fn remove_partial(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| unusable(folder, "read", &error))? {
        let path = entry.map_err(|error| unusable(folder, "read", &error))?.path();
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PARTIAL));
        if name.is_some_and(|name| parse(name).is_some()) {
            fs::remove_dir_all(&path).map_err(|error| unusable(&path, "deleted", &error))?;
        }
    }
    Ok(())
}

/// Deletes a generation. It is renamed first, so that an interruption leaves no incomplete generation behind.
pub(super) fn remove(folder: &Path, generation: &BackupGeneration) -> Result<()> {
    let doomed = partial(folder, &generation.name);
    let removed = fs::rename(&generation.path, &doomed)
        .and_then(|()| files::sync_folder(folder))
        .and_then(|()| fs::remove_dir_all(&doomed));
    removed.map_err(|error| unusable(&generation.path, "deleted", &error))
}

/// The lock of a folder: one backup at a time. It is released when it is dropped.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| unusable(&path, "written", &error))?;
    // Another backup may have deleted the lock file meanwhile, and a third one may have created a new one.
    let id = |found: fs::Metadata| FileId::of(&found);
    let is_current = || file.metadata().map(id).ok() == fs::metadata(&path).map(id).ok();
    match file.try_lock() {
        Ok(()) if is_current() => Ok(file),
        Ok(()) | Err(TryLockError::WouldBlock) => {
            let message = format!("another backup writes to `{}`", folder.display());
            Err(Error::new(Code::Locked, message).hint("wait for it to end"))
        }
        Err(TryLockError::Error(error)) => Err(unusable(&path, "locked", &error)),
    }
}
