//! Room that is kept for a full disk.
//!
//! A file beside the log takes some room while the disk has it. It is deleted when the disk is full, so that a
//! checkpoint and a clean end are still possible. Writes are taken again once it could be made again and as much room is
//! left: otherwise a store would change between both states with every few bytes that become free.

use super::disk::Disk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the file.
pub(super) const RESERVE_BYTES: u64 = 4 << 20;

/// The file.
pub(super) struct Reserve {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    bytes: u64,
}

impl Reserve {
    /// The reserve of a store's directory.
    pub(super) fn new(store: &Path, disk: Arc<dyn Disk>, bytes: u64) -> Self {
        Reserve { path: store.join("reserve"), disk, bytes }
    }

    /// Makes the file, if it is not there in full length.
    pub(super) fn hold(&self) -> io::Result<()> {
        if std::fs::metadata(&self.path).is_ok_and(|found| found.len() >= self.bytes) {
            return Ok(());
        }
        self.disk.allocate(&self.path, self.bytes).inspect_err(|_| self.release())
    }

    /// Makes the file, and fails unless as much room is left. Also if it is there, an error says that the disk cannot be
    /// written.
    pub(super) fn renew(&self) -> io::Result<()> {
        let probe = self.path.with_extension("probe");
        let allocated = self.disk.allocate(&probe, self.bytes);
        let made = allocated.and_then(|()| self.disk.allocate(&self.path, self.bytes));
        let _ = std::fs::remove_file(&probe);
        made.inspect_err(|_| self.release())
    }

    /// Gives the room back.
    pub(super) fn release(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("the reserve `{}` cannot be deleted: {error}", self.path.display());
        }
    }
}
