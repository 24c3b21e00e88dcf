//! Reads files of the user, and writes them atomically.

use poc_graph::error::{Error, Result};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// Reads a text file.
///
/// # Errors
/// An error of the operating system. If the file is not UTF-8 text, the message says so in plain words.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read_to_string(path).map_err(with_readable_message)
}

/// Replaces the standard library's message `stream did not contain valid UTF-8` with plain words.
pub fn with_readable_message(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidData => io::Error::new(ErrorKind::InvalidData, "it is not UTF-8; save it as UTF-8"),
        _ => error,
    }
}

/// Writes a file unless it already exists. Returns whether it was written.
///
/// # Errors
/// `unavailable` if the file cannot be written.
pub fn write_new(path: &Path, text: &str) -> Result<bool> {
    match beside(path, text)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(write_error(path, &error.error)),
    }
}

/// Writes a file atomically and creates its folder if necessary. If `path` is a symbolic link, its target is replaced
/// and not the link. The permissions of an existing file are kept.
///
/// # Errors
/// `unavailable` if the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
    let file = beside(path, text)?;
    if let Ok(there) = std::fs::metadata(path) {
        file.as_file().set_permissions(there.permissions()).map_err(|error| write_error(path, &error))?;
    }
    file.persist(path).map(drop).map_err(|error| write_error(path, &error.error))
}

/// Removes a file if it exists.
///
/// # Errors
/// `unavailable` if the file cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::unavailable(format!("`{}` cannot be removed: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes a text to a temporary file in the same folder as `path`, and syncs it.
///
/// # Errors
/// `unavailable` if the file cannot be written.
pub fn beside(path: &Path, text: &str) -> Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        let mut file = Builder::new().prefix(".").suffix("~").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    written().map_err(|error| write_error(path, &error))
}

/// The error for a file that cannot be written.
pub fn write_error(path: &Path, error: &io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_text_is_refused_in_plain_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("latin.txt");
        std::fs::write(&file, b"caf\xe9").unwrap();
        assert_eq!(read_text(&file).unwrap_err().to_string(), "it is not UTF-8; save it as UTF-8");
        std::fs::write(&file, "café").unwrap();
        assert_eq!(read_text(&file).unwrap(), "café");
        assert_eq!(read_text(folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
