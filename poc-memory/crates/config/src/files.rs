//! Reads files of the user, and writes them atomically.

use super::atomic_write;
use poc_graph::error::{Error, Result};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::NamedTempFile;

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

/// A clause for the hint of an error: a path cannot be used because the file, or the folder that contains it, belongs to
/// another user. `None` for other errors.
pub fn foreign_owner(path: &Path, error: &io::Error) -> Option<String> {
    if error.kind() != ErrorKind::PermissionDenied {
        return None;
    }
    // A path in a folder that cannot be searched has no metadata.
    let examine = |part: &Path| Some((part.to_owned(), std::fs::metadata(part).ok()?.uid()));
    let (part, owner) = path.ancestors().find_map(examine)?;
    let own = rustix::process::geteuid().as_raw();
    (owner != own).then(|| {
        format!("`{}` belongs to the user {owner}, and this process runs as the user {own}", part.display())
    })
}

/// Writes a file unless it already exists. Returns whether it was written.
///
/// # Errors
/// `unavailable` if the file cannot be written.
pub fn write_new(path: &Path, text: &str) -> Result<bool> {
    match synced_temporary(path, text)?.persist_noclobber(path) {
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
    let file = synced_temporary(path, text)?;
    if let Ok(existing) = std::fs::metadata(path) {
        file.as_file().set_permissions(existing.permissions()).map_err(|error| write_error(path, &error))?;
    }
    file.persist(path).map(drop).map_err(|error| write_error(path, &error.error))
}

/// Writes a file like [`write`] if it still has the text `before`, or still does not exist if that is `None`. Returns
/// whether it was written. A change that another program has made is kept. If `path` is a symbolic link whose target
/// does not exist, the target is created.
///
/// # Errors
/// `unavailable` if the file cannot be written.
pub fn write_expected(path: &Path, before: Option<&str>, text: &str) -> Result<bool> {
    let missing_target = || Some(path.parent()?.join(std::fs::read_link(path).ok()?));
    let path = &path.canonicalize().ok().or_else(missing_target).unwrap_or_else(|| path.to_owned());
    let Some(before) = before else {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
        return write_new(path, text);
    };
    let is_expected = |bytes: &[u8]| bytes == before.as_bytes();
    match atomic_write::replace_expected(path, synced_temporary(path, text)?, is_expected) {
        Ok(written) => Ok(written.is_some()),
        Err(error) => Err(write_error(path, &error)),
    }
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

fn synced_temporary(path: &Path, text: &str) -> Result<NamedTempFile> {
    atomic_write::synced_temporary(path, text.as_bytes()).map_err(|error| write_error(path, &error))
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
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("latin.txt");
        std::fs::write(&file, b"caf\xe9").unwrap();
        assert_eq!(read_text(&file).unwrap_err().to_string(), "it is not UTF-8; save it as UTF-8");
        std::fs::write(&file, "café").unwrap();
        assert_eq!(read_text(&file).unwrap(), "café");
        assert_eq!(read_text(folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_refused_path_of_another_user_is_explained() {
        const OTHER: u32 = 65534;
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("a/b");
        let refused = io::Error::from(ErrorKind::PermissionDenied);
        assert_eq!(foreign_owner(&path, &refused), None, "the user's own folder");
        if std::os::unix::fs::chown(folder.path(), Some(OTHER), None).is_err() {
            eprintln!("not run to the end: only root can give a folder to another user");
            return;
        }
        let own = rustix::process::geteuid().as_raw();
        let expected = format!("belongs to the user {OTHER}, and this process runs as the user {own}");
        let named = format!("`{}` {expected}", folder.path().display());
        assert_eq!(foreign_owner(&path, &refused), Some(named));
        assert_eq!(foreign_owner(&path, &io::Error::from(ErrorKind::NotFound)), None);
    }

    #[test]
    fn a_link_to_a_file_that_does_not_exist_stays_when_the_file_is_created() {
        let folder = poc_graph::testing::folder();
        let (link, target) = (folder.path().join("link"), folder.path().join("inside/target"));
        std::os::unix::fs::symlink("inside/target", &link).unwrap();
        assert!(write_expected(&link, None, "ours").unwrap());
        assert!(!write_expected(&link, None, "again").unwrap(), "it exists now");
        assert!(link.is_symlink());
        assert_eq!(read_text(&target).unwrap(), "ours");
    }
}
