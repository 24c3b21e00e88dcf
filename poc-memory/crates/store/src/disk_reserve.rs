//! Disk space reserved for the case of a full disk.
//!
//! A file next to the log reserves space. It is deleted when the disk is full, so that a checkpoint and a clean
//! shutdown are still possible. Writes resume once the file can be created again and the same amount of space is still
//! free. Otherwise the store would toggle between both states whenever a few bytes become free.

use super::disk::Disk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The size of the reserve, in bytes.
pub(super) const RESERVE_BYTES: u64 = 4 << 20;

/// The file that reserves disk space.
pub(super) struct Reserve {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    bytes: u64,
}

impl Reserve {
    /// The reserve in a store's directory.
    pub(super) fn new(store: &Path, disk: Arc<dyn Disk>, bytes: u64) -> Self {
        Reserve { path: store.join("reserve"), disk, bytes }
    }

    /// Whether the file exists and has its full size.
    pub(super) fn is_held(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.len() >= self.bytes)
    }

    /// The file that occupies further space while the reserve is renewed.
    fn probe(&self) -> PathBuf {
        self.path.with_extension("probe")
    }

    /// Creates the file unless it already has its full size.
    pub(super) fn hold(&self) -> io::Result<()> {
        // A process that was killed while it renewed the reserve leaves this file.
        let _ = std::fs::remove_file(self.probe());
        if self.is_held() {
            return Ok(());
        }
        self.disk.allocate(&self.path, self.bytes).inspect_err(|_| self.release())
    }

    /// Creates the file. Fails unless the same amount of space is still free afterwards. On a disk that accepts no
    /// writes, it fails even if the file exists.
    pub(super) fn renew(&self) -> io::Result<()> {
        let probe = self.probe();
        let allocated = self.disk.allocate(&probe, self.bytes);
        let made = allocated.and_then(|()| self.disk.allocate(&self.path, self.bytes));
        let _ = std::fs::remove_file(&probe);
        made.inspect_err(|_| self.release())
    }

    /// Deletes the file, which frees its space.
    pub(super) fn release(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("the reserve `{}` cannot be deleted: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;

    #[test]
    fn the_probe_of_a_killed_process_is_deleted() {
        let folder = poc_graph::testing::folder();
        let reserve = Reserve::new(folder.path(), Arc::new(SystemDisk), 64);
        for is_held in [false, true] {
            assert_eq!(reserve.is_held(), is_held);
            std::fs::write(reserve.probe(), [0; 64]).unwrap();
            reserve.hold().unwrap();
            assert!(reserve.is_held() && !reserve.probe().exists());
        }
    }
}
