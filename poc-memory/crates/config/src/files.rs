//! Writes files of the user atomically.

use poc_graph::error::{Error, Result};
use std::io::Write;
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// Writes a file unless it exists; returns whether it was written.
///
/// # Errors
/// `unavailable` when the file cannot be written.
pub fn write_new(path: &Path, text: &str) -> Result<bool> {
    match beside(path, text)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unwritten(path, &error.error)),
    }
}

/// Writes a file, or replaces it in one step, and creates its folder. A link is followed, so that the file it leads to
/// is replaced and not the link. The permissions of an existing file are kept.
///
/// # Errors
/// `unavailable` when the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let file = beside(path, text)?;
    if let Ok(there) = std::fs::metadata(path) {
        file.as_file().set_permissions(there.permissions()).map_err(|error| unwritten(path, &error))?;
    }
    file.persist(path).map(drop).map_err(|error| unwritten(path, &error.error))
}

/// Removes a file, if it is there.
///
/// # Errors
/// `unavailable` when the file cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::unavailable(format!("`{}` cannot be removed: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes a text to a temporary file next to `path`, and syncs it.
///
/// # Errors
/// `unavailable` when the file cannot be written.
pub fn beside(path: &Path, text: &str) -> Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        let mut file = Builder::new().prefix(".").suffix("~").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    written().map_err(|error| unwritten(path, &error))
}

/// The error for a file that cannot be written.
pub fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be written: {error}", path.display()))
}
