//! The newest records, which are in sled.

use crate::engine::Engine as _;
use crate::engine::sled::SledEngine;
use poc_graph::error::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// sled's records. The folder is deleted when the last reader is done with it, if a table has the records.
pub(super) struct RecentRecords {
    pub(super) engine: SledEngine,
    /// Bytes written to sled.
    pub(super) bytes: AtomicUsize,
    // The last field: fields drop in order, and sled must be closed before its folder is deleted.
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
            // The next open deletes it.
            tracing::debug!("`{}` cannot be deleted: {error}", self.path.display());
        }
    }
}

/// sled's folder for the changes after a generation.
pub(super) fn recent_folder(directory: &Path, generation: u64) -> PathBuf {
    directory.join(format!("recent.{generation}"))
}

/// Opens a folder of sled.
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
