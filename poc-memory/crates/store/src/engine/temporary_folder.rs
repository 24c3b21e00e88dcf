//! Folders for records that are needed for a moment, such as copies of those of a damaged store, whose files must not
//! change: opening an engine changes its files.

use super::EngineError;
use std::path::Path;
use std::{fs, io};
use tempfile::TempDir;

/// An empty folder that is deleted when it is dropped.
pub(crate) fn create() -> Result<TempDir, EngineError> {
    let created = tempfile::Builder::new().prefix("poc-memory-records-").tempdir();
    created.map_err(|source| EngineError::Directory { directory: std::env::temp_dir(), source })
}

/// A copy of the files of a folder and of the folders in it, which is deleted when it is dropped.
pub(crate) fn copy_of(folder: &Path) -> Result<TempDir, EngineError> {
    let copy = create()?;
    match copy_files(folder, copy.path()) {
        Ok(()) => Ok(copy),
        Err(source) => Err(EngineError::Copy { directory: copy.path().to_owned(), source }),
    }
}

/// Copies the files of a folder and of the folders in it.
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
