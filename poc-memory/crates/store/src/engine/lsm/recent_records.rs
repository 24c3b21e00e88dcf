//! The newest records, which are stored in sled.

use crate::engine::Engine as _;
use crate::engine::sled::SledEngine;
use poc_graph::error::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The records in a folder of sled. After a table has taken over the records, the folder is deleted when its last
/// reader ends.
pub(super) struct RecentRecords {
    pub(super) engine: SledEngine,
    /// The number of bytes written to sled.
    pub(super) bytes: AtomicUsize,
    // This must be the last field: fields drop in order, and sled must be closed before its folder is deleted.
    pub(super) folder: RecentFolder,
}

pub(super) struct RecentFolder {
    pub(super) path: PathBuf,
    pub(super) is_obsolete: AtomicBool,
}

impl Drop for RecentFolder {
    fn drop(&mut self) {
        if self.is_obsolete.load(Ordering::SeqCst)
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            // The next open deletes the folder.
            tracing::debug!("`{}` cannot be deleted: {error}", self.path.display());
        }
    }
}

/// The path of sled's folder for the changes after a generation.
pub(super) fn recent_folder(directory: &Path, generation: u64) -> PathBuf {
    directory.join(format!("recent.{generation}"))
}

/// Opens one of sled's folders.
pub(super) fn open_recent(path: PathBuf, is_copy: bool) -> Result<RecentRecords> {
    let engine = if is_copy { SledEngine::open_copy(&path)? } else { SledEngine::open(&path)? };
    let mut bytes = 0;
    engine.scan(&[], &mut |key, value| {
        bytes += key.len() + value.len();
        Ok(())
    })?;
    let folder = RecentFolder { path, is_obsolete: AtomicBool::new(false) };
    Ok(RecentRecords { engine, bytes: AtomicUsize::new(bytes), folder })
}
