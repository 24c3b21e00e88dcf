//! Temporary folders for records, such as copies of a damaged store's records: opening an engine changes its files, and
//! those of a damaged store must not change.
//!
//! A folder contains texts of notes, so the folders of killed processes are deleted when the next folder is created. A
//! process holds a lock on a file in its folder, and the lock ends with the process.

use super::EngineError;
use crate::disk::remove_folder;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "poc-memory-records-";
/// The name of the locked file. Next come its name before it is locked, and the folder of the records beside it.
const LOCK: &str = "lock";
const NEW_LOCK: &str = "lock.new";
const RECORDS: &str = "records";

/// A folder that is deleted when it is dropped.
pub(crate) struct TemporaryFolder {
    records: PathBuf,
    // The folder is deleted before the lock is released, so that no other process deletes it at the same time.
    folder: TempDir,
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// Creates an empty folder.
    pub(crate) fn create() -> Result<TemporaryFolder, EngineError> {
        TemporaryFolder::create_in(&std::env::temp_dir())
    }

    fn create_in(directory: &Path) -> Result<TemporaryFolder, EngineError> {
        delete_abandoned(directory);
        let created = || {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(directory)?;
            let records = folder.path().join(RECORDS);
            fs::create_dir(&records)?;
            let lock = lock(folder.path())?;
            Ok(TemporaryFolder { records, folder, _lock: lock })
        };
        created().map_err(|source| EngineError::Io { path: directory.to_owned(), source })
    }

    /// Creates a copy of the files in a folder and in its sub-folders.
    pub(crate) fn copy_of(folder: &Path) -> Result<TemporaryFolder, EngineError> {
        let copy = TemporaryFolder::create()?;
        match copy_files(folder, copy.path()) {
            Ok(()) => Ok(copy),
            Err(source) => Err(EngineError::Copy { directory: copy.path().to_owned(), source }),
        }
    }

    /// The folder of the records.
    pub(crate) fn path(&self) -> &Path {
        &self.records
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = delete(self.folder.path()) {
            tracing::warn!("`{}` cannot be deleted: {error}", self.folder.path().display());
        }
    }
}

/// Creates a locked file in a folder; `None` if the file system has no locks. The file gets its name after it is
/// locked, so no other process finds it unlocked while its owner is running.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let new = folder.join(NEW_LOCK);
    let file = File::create(&new)?;
    if let Err(error) = file.try_lock() {
        tracing::debug!("`{}` cannot be locked: {error}", new.display());
        return Ok(None);
    }
    fs::rename(new, folder.join(LOCK))?;
    Ok(Some(file))
}

/// Deletes the folders of this user in a directory whose processes have ended.
fn delete_abandoned(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !is_own_folder(&entry) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok()
            && let Err(error) = delete(&entry.path())
        {
            tracing::warn!("`{}` cannot be deleted: {error}", entry.path().display());
        }
    }
}

/// Whether an entry is a folder, and not a link, that this user created with this module.
fn is_own_folder(entry: &DirEntry) -> bool {
    let is_named_so = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
    let user = rustix::process::geteuid().as_raw();
    is_named_so && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
}

/// Deletes the records before the lock file, so that an interrupted deletion is completed later.
fn delete(folder: &Path) -> io::Result<()> {
    remove_folder(&folder.join(RECORDS))?;
    remove_folder(folder)
}

/// Copies the files in a folder and in its sub-folders.
pub(super) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_deleted_with_its_value() {
        let directory = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::create_in(directory.path()).unwrap();
        fs::write(folder.path().join("table"), "text").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_the_leftovers_of_killed_processes_are_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let used = TemporaryFolder::create_in(directory.path()).unwrap();
        let outside = tempfile::tempdir().unwrap();
        for folder in [
            directory.path().join(format!("{PREFIX}killed")),
            directory.path().join("another-program"),
            outside.path().to_owned(),
        ] {
            fs::create_dir_all(folder.join(RECORDS)).unwrap();
            fs::write(folder.join(RECORDS).join("table"), "text").unwrap();
            fs::write(folder.join(LOCK), "").unwrap();
        }
        std::os::unix::fs::symlink(outside.path(), directory.path().join(format!("{PREFIX}link"))).unwrap();
        fs::create_dir(directory.path().join(format!("{PREFIX}without-lock"))).unwrap();

        let own = TemporaryFolder::create_in(directory.path()).unwrap();
        let mut names: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| ![&used, &own].iter().any(|folder| folder.folder.path().ends_with(name)))
            .collect();
        names.sort();
        let link = format!("{PREFIX}link");
        assert_eq!(names, ["another-program", &link, &format!("{PREFIX}without-lock")]);
        assert!(used.path().exists() && own.path().exists());
        assert!(outside.path().join(RECORDS).join("table").exists());
    }
}
