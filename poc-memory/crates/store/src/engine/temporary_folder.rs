//! Temporary folders for records, such as copies of a damaged store's records: opening an engine changes its files, and
//! those of a damaged store must not change.
//!
//! A folder contains texts of notes, so the folders of killed processes are deleted when the next folder is created. A
//! process holds a lock on a file in its folder, and the lock ends with the process.

use super::{EngineError, sled};
use crate::disk::{self, remove_folder};
use std::cell::Cell;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "poc-memory-records-";
/// The name of the locked file.
const LOCK: &str = "lock";
/// The name of this file before it is locked.
const NEW_LOCK: &str = "lock.new";
/// The folder of the records.
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
        created().map_err(|source| EngineError::TemporaryFolder { directory: directory.to_owned(), source })
    }

    /// Creates a copy of the files in a folder and in its sub-folders.
    ///
    /// # Errors
    /// [`EngineError::TemporaryFolder`] if there is no space for it, [`EngineError::Copy`] if the files cannot be read.
    pub(crate) fn copy_of(folder: &Path) -> Result<TemporaryFolder, EngineError> {
        TemporaryFolder::copy_with_links(folder, |_| false)
    }

    /// Like [`TemporaryFolder::copy_of`], but with links to the files that `is_immutable` names. The engine may delete
    /// the links. The folder must not change while the copy is in use.
    pub(crate) fn copy_with_links(
        folder: &Path,
        is_immutable: fn(&Path) -> bool,
    ) -> Result<TemporaryFolder, EngineError> {
        let copy = TemporaryFolder::create()?;
        let has_database = Cell::new(false);
        let copied = copy_each(folder, copy.path(), &|from, to| {
            has_database.set(has_database.get() || from.file_name().is_some_and(|name| name == sled::FILE));
            // Not every file system has links.
            match is_immutable(from) && symlink(std::path::absolute(from)?, to).is_ok() {
                true => Ok(()),
                false => fs::copy(from, to).map(drop),
            }
        });
        let directory = || copy.folder.path().parent().unwrap_or(copy.path()).to_owned();
        match copied {
            // sled writes when it opens, and does not recover from a failed write.
            Ok(()) if has_database.get() => disk::check_space(copy.path(), sled::SPARE_BYTES, 0)
                .map_err(|source| EngineError::TemporaryFolder { directory: directory(), source })?,
            Ok(()) => {}
            Err(source) if disk::is_full(&source) => {
                return Err(EngineError::TemporaryFolder { directory: directory(), source });
            }
            Err(source) => return Err(EngineError::Copy { directory: copy.path().to_owned(), source }),
        }
        Ok(copy)
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
    let has_prefix = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
    let user = rustix::process::geteuid().as_raw();
    has_prefix && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
}

/// Deletes the records before the lock file, so that an interrupted deletion is completed later.
fn delete(folder: &Path) -> io::Result<()> {
    remove_folder(&folder.join(RECORDS))?;
    remove_folder(folder)
}

/// Calls `copy` with each file in a folder and in its sub-folders, and with the path of its copy. Creates the folders.
fn copy_each(from: &Path, to: &Path, copy: &dyn Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_each(&entry.path(), &target, copy)?;
        } else {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Copies the files in a folder and in its sub-folders.
#[cfg(test)]
pub(super) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    copy_each(from, to, &|from, to| fs::copy(from, to).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lsm::{self, FlushLimits, LsmEngine};
    use crate::engine::{Engine as _, Watermark};
    use crate::tests::bytes_of_files;

    #[test]
    fn a_folder_is_deleted_with_its_value() {
        let directory = poc_graph::testing::folder();
        let folder = TemporaryFolder::create_in(directory.path()).unwrap();
        fs::write(folder.path().join("table"), "text").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    /// An engine that deletes or replaces its tables does so in its own folder only.
    #[test]
    fn a_copy_with_links_takes_no_space_for_immutable_files() {
        let records = poc_graph::testing::folder();
        fs::create_dir(records.path().join("recent.1")).unwrap();
        for name in ["1.table", "last", "recent.1/db"] {
            fs::write(records.path().join(name), name).unwrap();
        }
        let is_table = |path: &Path| path.extension().is_some_and(|own| own == "table");
        let copy = TemporaryFolder::copy_with_links(records.path(), is_table).unwrap();
        for (name, is_link) in [("1.table", true), ("last", false), ("recent.1/db", false)] {
            let path = copy.path().join(name);
            assert_eq!(fs::symlink_metadata(&path).unwrap().is_symlink(), is_link, "{name}");
            assert_eq!(fs::read_to_string(&path).unwrap(), name);
            fs::remove_file(&path).unwrap();
        }
        drop(copy);
        assert_eq!(fs::read_to_string(records.path().join("1.table")).unwrap(), "1.table");
    }

    #[test]
    fn an_engine_that_merges_linked_tables_changes_only_its_copy() {
        let records = poc_graph::testing::folder();
        let put = |engine: &LsmEngine, seq: u64| {
            let put = |number: u8| (vec![number], Some(vec![seq as u8; 100]));
            let changes: Vec<_> = (0..20).map(put).collect();
            engine.apply(changes.into(), Watermark { seq, checksum: 1 }).unwrap();
        };
        let limits = FlushLimits { table: 1000, recent: 1000 };
        let engine = LsmEngine::open_with(records.path(), limits).unwrap();
        put(&engine, 1);
        drop(engine);
        let before = bytes_of_files(records.path());
        assert!(before.keys().any(|path| lsm::is_table(path)), "{:?}", before.keys());
        let copy = TemporaryFolder::copy_with_links(records.path(), lsm::is_table).unwrap();
        let engine = LsmEngine::open_with(copy.path(), limits).unwrap();
        (2..9).for_each(|seq| put(&engine, seq));
        engine.rewrite(&|| Ok(())).unwrap();
        assert_eq!(engine.get(&[7]).unwrap(), Some(vec![8; 100]));
        drop(engine);
        let is_link = |path: &PathBuf| fs::symlink_metadata(path).unwrap().is_symlink();
        assert!(!bytes_of_files(copy.path()).keys().any(is_link), "the links were replaced");
        assert!(bytes_of_files(records.path()) == before);
    }

    #[test]
    fn only_the_leftovers_of_killed_processes_are_deleted() {
        let directory = poc_graph::testing::folder();
        let used = TemporaryFolder::create_in(directory.path()).unwrap();
        let outside = poc_graph::testing::folder();
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
