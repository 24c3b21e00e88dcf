//! The lock of a backup folder.

use super::unusable;
use poc_graph::error::{Code, Error, Result};
use poc_store::FileId;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

/// Name of the lock file of a backup folder.
pub(super) const LOCK: &str = "lock";

/// The lock of a folder: one backup at a time. It is released when it is dropped.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| unusable(&path, "written", &error))?;
    // Another backup may have deleted the lock file in the meantime, and a third one may have created a new one.
    let id = |found: fs::Metadata| FileId::of(&found);
    let is_current = || file.metadata().map(id).ok() == fs::metadata(&path).map(id).ok();
    match file.try_lock() {
        Ok(()) if is_current() => Ok(file),
        Ok(()) | Err(TryLockError::WouldBlock) => {
            let message = format!("another backup is writing to `{}`", folder.display());
            Err(Error::new(Code::Locked, message).hint("wait for it to end"))
        }
        Err(TryLockError::Error(error)) => Err(unusable(&path, "locked", &error)),
    }
}
