//! Atomic writes: a file is written under a temporary name in its folder and renamed when it is complete. A reader, or
//! the next start after an interruption, finds the old file or the new one, never a part of one.
//!
//! A killed process may leave a temporary file behind. Only its owner can read it, [`is_temporary`] recognises its
//! name, and [`delete_leftovers`] deletes it.

use poc_graph::time::Timestamp;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::{Builder, NamedTempFile};

/// The start of the name of a temporary file.
const PREFIX: &str = ".poc-memory-";
/// The end of the name of a temporary file.
const SUFFIX: &str = "~";

/// Which file is there after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The old file, the new one, or a damaged one. The write does not wait for the disk.
    Unsynced,
    /// The old file or the new one.
    Atomic,
    /// The new file.
    Durable,
}

/// Writes a file that only its owner can read. If `path` is a symbolic link, the link is replaced and not its target.
///
/// # Errors
/// Those of the operating system.
pub fn write_private(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let temporary = filled_temporary(path, bytes)?;
    if durability != Durability::Unsynced {
        temporary.as_file().sync_all()?;
    }
    temporary.persist(path).map_err(|error| error.error)?;
    if durability == Durability::Durable {
        sync_folder(folder_of(path))?;
    }
    Ok(())
}

/// Creates an empty temporary file in the same folder as `path`. It is deleted when it is dropped, unless it was given
/// a name.
///
/// # Errors
/// Those of the operating system.
pub fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder_of(path))
}

/// Whether the name of a file is that of a temporary one.
pub fn is_temporary(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

/// Deletes the temporary files in a folder that were last written before a time, so that their processes must have been
/// killed. Subfolders are not searched, and a missing folder has none.
///
/// # Errors
/// Those of the operating system.
pub fn delete_leftovers(folder: &Path, before: Timestamp) -> io::Result<()> {
    let before = UNIX_EPOCH + Duration::from_millis(before.0.try_into().unwrap_or_default());
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if is_temporary(&entry.file_name()) && entry.metadata()?.modified()? < before {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes bytes to a temporary file in the same folder as `path`, and syncs it.
///
/// # Errors
/// Those of the operating system.
pub fn synced_temporary(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let temporary = filled_temporary(path, bytes)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

fn filled_temporary(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut temporary = temporary(path)?;
    temporary.write_all(bytes)?;
    Ok(temporary)
}

/// Makes the names in a folder durable.
///
/// # Errors
/// Those of the operating system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Replaces a file by a temporary one from the same folder, which gets its permissions, if `is_expected` accepts its
/// bytes. Returns the new file, or `None` if the file was not replaced. The two are exchanged atomically before the
/// comparison and exchanged again if it fails, so a change that another program makes meanwhile is kept.
///
/// # Errors
/// Those of the operating system.
pub fn replace_expected(
    path: &Path,
    temporary: NamedTempFile,
    is_expected: impl Fn(&[u8]) -> bool,
) -> io::Result<Option<File>> {
    match std::fs::metadata(path) {
        Ok(existing) => temporary.as_file().set_permissions(existing.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut placed = std::fs::read(temporary.path())?;
    let exchange = || renameat_with(CWD, temporary.path(), CWD, path, RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        // Not every file system can exchange files.
        Err(_) if is_expected(&std::fs::read(path)?) => {
            return temporary.persist(path).map(Some).map_err(|error| error.error);
        }
        Err(_) => return Ok(None),
    }
    let mut replaced = std::fs::read(temporary.path())?;
    if is_expected(&replaced) {
        return Ok(Some(temporary.into_file()));
    }
    loop {
        match exchange() {
            Ok(()) => {}
            // The file was deleted in between.
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let found = std::fs::read(temporary.path())?;
        if found == placed {
            return Ok(None);
        }
        // Another program has replaced the file once more, and its newer version is put back next.
        placed = std::mem::replace(&mut replaced, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, read_to_string};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_private_file_is_complete_and_only_its_owner_can_read_it() {
        let folder = poc_graph::testing::folder();
        let (file, link) = (folder.path().join("a"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for durability in [Durability::Unsynced, Durability::Atomic, Durability::Durable] {
            let text = format!("{durability:?}");
            write_private(&file, text.as_bytes(), durability).unwrap();
            assert_eq!(read_to_string(&file).unwrap(), text);
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        write_private(&link, b"other", Durability::Atomic).unwrap();
        assert!(!link.is_symlink());
        assert_eq!(read_to_string(&file).unwrap(), "Durable");
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(write_private(&folder.path().join("sub"), b"", Durability::Durable).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
    }

    #[test]
    fn only_old_temporary_files_are_deleted() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("a");
        let age = |path: &Path, seconds: u64| {
            let at = UNIX_EPOCH + Duration::from_secs(seconds);
            File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
        };
        std::fs::write(&file, "").unwrap();
        let (old, young) = (temporary(&file).unwrap(), temporary(&file).unwrap());
        age(&file, 10);
        age(old.path(), 10);
        age(young.path(), 20);
        delete_leftovers(folder.path(), Timestamp(20_000)).unwrap();
        assert!(file.exists() && !old.path().exists() && young.path().exists());
        delete_leftovers(&folder.path().join("missing"), Timestamp(20_000)).unwrap();
    }

    /// Replaces a file that has the text `expected`. Returns whether it did.
    fn replace(path: &Path, expected: &str, text: &str) -> bool {
        let mut temporary = temporary(path).unwrap();
        temporary.write_all(text.as_bytes()).unwrap();
        replace_expected(path, temporary, |bytes| bytes == expected.as_bytes()).unwrap().is_some()
    }

    #[test]
    fn only_the_expected_version_of_a_file_is_replaced() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("a.md");
        assert!(!replace(&file, "", "ours"), "a missing file is not created");
        std::fs::write(&file, "theirs").unwrap();
        assert!(!replace(&file, "another", "ours"));
        assert_eq!(read_to_string(&file).unwrap(), "theirs");
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(replace(&file, "theirs", "ours"));
        assert_eq!(read_to_string(&file).unwrap(), "ours");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["a.md"]);
    }

    #[test]
    fn no_version_that_another_program_saves_is_lost() {
        let folder = poc_graph::testing::folder();
        let (file, theirs) = (folder.path().join("a.md"), folder.path().join("theirs"));
        std::fs::write(&file, "0").unwrap();
        std::thread::scope(|scope| {
            // The other program saves again as soon as its last version was replaced.
            let other = scope.spawn(|| {
                for number in 1..=500 {
                    std::fs::write(&theirs, number.to_string()).unwrap();
                    std::fs::rename(&theirs, &file).unwrap();
                    let is_replaced = || read_to_string(&file).unwrap() == format!("{number}+");
                    assert!((0..2_000_000).any(|_| is_replaced()), "version {number} is lost");
                }
            });
            while !other.is_finished() {
                let text = read_to_string(&file).unwrap();
                replace(&file, &text, &format!("{}+", text.trim_end_matches('+')));
            }
        });
    }
}
