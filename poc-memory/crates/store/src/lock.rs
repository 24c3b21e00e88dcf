//! Limits a store to one process, with an advisory lock that the operating system releases when its holder dies.

use super::disk::{self, FileId};
use poc_graph::error::{Code, Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of attempts to take a lock that this process itself holds. A child process inherits all open files until it
/// executes its program, so it may briefly hold a lock that was already released.
const OWN_ATTEMPTS: u32 = 25;
/// Delay between these attempts.
const OWN_DELAY: Duration = Duration::from_millis(4);

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
enum LockError {
    #[error("the lock `{}` cannot be taken: {source}", path.display())]
    Take { path: PathBuf, source: std::io::Error },
    #[error("the lock `{}` cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the lock `{}` cannot be checked: {source}", path.display())]
    Probe { path: PathBuf, source: std::io::Error },
    #[error("the store is held by {0}")]
    Held(String),
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Error {
        let message = error.to_string();
        match error {
            LockError::Take { source, .. } => match source.kind() {
                // Readers take the lock too, so that no other process writes while they read.
                ErrorKind::PermissionDenied => Error::unavailable(message).hint(
                    "ask the owner of the store for access to its files, or copy it to a folder of yours",
                ),
                _ => Error::new(disk::code(&source), message),
            },
            LockError::Read { .. } | LockError::Probe { .. } => Error::unavailable(message),
            LockError::Held(_) => Error::new(Code::Locked, message)
                .hint("stop it, or use the daemon that holds it: `poc-memory daemon status`"),
        }
    }
}

/// The lock, held until it is dropped.
pub(super) struct Lock {
    path: PathBuf,
    /// `None` if the disk is full or read-only and has no lock file. No other process can write there either.
    file: Option<File>,
}

impl Lock {
    /// Whether the lock file is still at its path, or was deleted. If the folder was moved away, files of this store
    /// must not be written to its former path, where another store may be now. If the folder was deleted, the open
    /// files are the only copy.
    pub(super) fn is_current(&self) -> bool {
        let Some(Ok(own)) = self.file.as_ref().map(File::metadata) else { return self.file.is_none() };
        match std::fs::metadata(&self.path) {
            Ok(found) => FileId::of(&own) == FileId::of(&found),
            Err(error) => error.kind() != ErrorKind::NotFound || own.nlink() == 0,
        }
    }

    /// Takes the lock at `path`. The process id in the file is only used in messages.
    pub(super) fn take(path: &Path) -> Result<Lock> {
        let failed = |source| LockError::Take { path: path.to_owned(), source };
        let Some(mut file) = open(path).map_err(failed)? else {
            return Ok(Lock { path: path.to_owned(), file: None });
        };
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < OWN_ATTEMPTS && is_own(&mut file) => {
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "nothing reports when a child executes its program"
                    )]
                    std::thread::sleep(OWN_DELAY);
                }
                Err(TryLockError::WouldBlock) => return Err(held_error(&mut file).into()),
                Err(TryLockError::Error(error)) => return Err(failed(error).into()),
            }
        }
        // A process that deleted an empty store has released the lock of a file that no longer exists.
        let is_current = |found: std::fs::Metadata| {
            file.metadata().is_ok_and(|own| FileId::of(&own) == FileId::of(&found))
        };
        if !std::fs::metadata(path).is_ok_and(is_current) {
            return Err(LockError::Held("another process".to_owned()).into());
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        if let Err(error) = write(&mut file) {
            // The disk is full or read-only. Other processes then cannot tell which process holds the lock.
            tracing::debug!("the lock `{}` cannot name its holder: {error}", path.display());
        }
        Ok(Lock { path: path.to_owned(), file: Some(file) })
    }

    /// The id of the process that holds the lock at `path`; `None` if no process does, and 0 if the file does not name
    /// it.
    pub(super) fn holder(path: &Path) -> Result<Option<u32>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(LockError::Read { path: path.to_owned(), source: error }.into());
            }
        };
        // The lock is taken only for a moment; an open at this moment fails as if the store were in use.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(pid(&mut file).parse().unwrap_or(0))),
            Err(TryLockError::Error(error)) => {
                Err(LockError::Probe { path: path.to_owned(), source: error }.into())
            }
        }
    }
}

/// Opens the lock file at `path`, which is created if it is missing; `None` if it is missing and no process can create
/// it.
fn open(path: &Path) -> std::io::Result<Option<File>> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let error = match opened {
        Err(error) if may_be_readable(&error) => error,
        opened => return opened.map(Some),
    };
    // The store can still be opened for reading, and an existing lock file can still be locked.
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        // If only this user may not write to the folder, another user could create the file and write while this
        // process reads.
        Err(missing)
            if missing.kind() == ErrorKind::NotFound && error.kind() != ErrorKind::PermissionDenied =>
        {
            Ok(None)
        }
        Err(_) => Err(error),
    }
}

/// Whether a file that cannot be opened for writing may be readable.
fn may_be_readable(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
        || disk::is_full(error)
}

/// The process id that the holder has written, as text.
fn pid(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(32).read_to_string(&mut text));
    read.map_or_else(|_| String::new(), |_| text.trim().to_owned())
}

fn is_own(file: &mut File) -> bool {
    pid(file) == std::process::id().to_string()
}

fn held_error(file: &mut File) -> LockError {
    LockError::Held(holder_name(pid(file).parse().unwrap_or(0)))
}

/// The name, for messages, of a process with an id that [`Lock::holder`] returned.
pub(super) fn holder_name(pid: u32) -> String {
    match pid {
        0 => "another process".to_owned(),
        // The first process of every container has the id 1, and containers can share the folder of a store.
        pid if pid == std::process::id() => {
            format!("process {pid}: this process, or one in another container")
        }
        pid => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let error = Lock::take(&path).err().unwrap();
        assert_eq!(error.code, Code::Locked);
        let own = std::process::id();
        let expected =
            format!("the store is held by process {own}: this process, or one in another container");
        assert_eq!(error.message, expected);
        std::fs::write(&path, "4294967295\n").unwrap();
        assert_eq!(Lock::take(&path).err().unwrap().message, "the store is held by process 4294967295");
        std::fs::write(&path, format!("{own}\n")).unwrap();
        assert_eq!(Lock::holder(&path).unwrap(), Some(own));
        drop(first);
        assert_eq!(Lock::holder(&path).unwrap(), None);
        Lock::take(&path).unwrap();
        assert_eq!(Lock::holder(&folder.path().join("none")).unwrap(), None);
    }

    #[test]
    fn a_lock_that_was_moved_or_replaced_is_not_current() {
        let folder = poc_graph::testing::folder();
        let (path, away) = (folder.path().join("lock"), folder.path().join("away"));
        let lock = Lock::take(&path).unwrap();
        assert!(lock.is_current());
        std::fs::rename(&path, &away).unwrap();
        assert!(!lock.is_current());
        std::fs::write(&path, "").unwrap();
        assert!(!lock.is_current());
        std::fs::rename(&away, &path).unwrap();
        assert!(lock.is_current());
        // The deleted file is the only copy.
        std::fs::remove_file(&path).unwrap();
        assert!(lock.is_current());
    }

    #[test]
    fn a_lock_file_that_may_only_be_read_is_locked() {
        use std::os::unix::fs::PermissionsExt;
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("lock");
        let allow = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        std::fs::write(&path, "").unwrap();
        allow(&path, 0o400);
        if OpenOptions::new().write(true).open(&path).is_ok() {
            eprintln!("not run: this user may write to every file");
            return;
        }
        let lock = Lock::take(&path).unwrap();
        assert_eq!(Lock::holder(&path).unwrap(), Some(0));
        assert_eq!(Lock::take(&path).err().unwrap().code, Code::Locked);
        drop(lock);
        // The owner of the folder may create the file at any time.
        std::fs::remove_file(&path).unwrap();
        allow(folder.path(), 0o500);
        assert_eq!(Lock::take(&path).err().unwrap().code, Code::Unavailable);
        allow(folder.path(), 0o700);
    }

    #[test]
    fn a_lock_file_without_a_holder_is_free() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("lock");
        std::fs::write(&path, "4294967295 and a longer text than any pid").unwrap();
        let _lock = Lock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    }
}
