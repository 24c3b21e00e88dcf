//! One process per store: an advisory lock the system drops when its holder dies, however it dies.

use poc_graph::error::{Code, Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

/// The lock, held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`. The pid inside is only for the message: what holds is the lock.
    pub(super) fn take(path: &Path) -> Result<Lock> {
        let failed = |error: std::io::Error| {
            let wrong = format!("the lock `{}` cannot be taken: {error}", path.display());
            match error.kind() {
                // Also who only reads takes the lock, so that nobody writes meanwhile.
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::unavailable(wrong)
                    .hint(
                        "a store must be writable, also to be read: copy it to where you may write, or ask \
                     whoever owns it",
                    ),
                _ => Error::internal(wrong),
            }
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(failed)?;
        Ok(Lock { _file: file })
    }

    /// The process that holds the lock at `path`, if any does; 0 when the file does not say which.
    pub(super) fn holder(path: &Path) -> Result<Option<u32>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Error::unavailable(format!("`{}` cannot be read: {error}", path.display())));
            }
        };
        // Shared, and for this moment only: an open meanwhile is told that the store is held.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(pid(&mut file).parse().unwrap_or(0))),
            Err(TryLockError::Error(error)) => {
                Err(Error::unavailable(format!("`{}` cannot be looked at: {error}", path.display())))
            }
        }
    }
}

/// What the holder has written.
fn pid(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    read.map_or_else(|_| String::new(), |_| text.trim().to_owned())
}

fn held(file: &mut File) -> Error {
    let holder = match pid(file).as_str() {
        "" => "another process".to_owned(),
        pid => format!("process {pid}"),
    };
    Error::new(Code::Locked, format!("the store is held by {holder}"))
        .hint("stop it, or use the daemon that holds it: `poc-memory daemon status`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_taker_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let error = Lock::take(&path).err().unwrap();
        assert_eq!(error.code, Code::Locked);
        assert_eq!(error.message, format!("the store is held by process {}", std::process::id()));
        assert_eq!(Lock::holder(&path).unwrap(), Some(std::process::id()));
        drop(first);
        assert_eq!(Lock::holder(&path).unwrap(), None);
        Lock::take(&path).unwrap();
        assert_eq!(Lock::holder(&folder.path().join("none")).unwrap(), None);
    }

    #[test]
    fn a_file_left_behind_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "4294967295 and a longer text than any pid").unwrap();
        let _lock = Lock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    }
}
