//! The newest records, which are stored in sled.

use crate::engine::bloom_filter::BloomFilter;
use crate::engine::sled::SledEngine;
use crate::engine::{Engine as _, Put, Watermark};
use parking_lot::RwLock;
use poc_graph::error::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of keys for which the filter of a folder is made. With more keys, it passes more of those that are not in
/// the folder.
const FILTERED_KEYS: u64 = 1 << 16;

/// The records in a folder of sled. After a table has taken over the records, the folder is deleted when its last
/// reader ends.
pub(super) struct RecentRecords {
    pub(super) engine: SledEngine,
    /// The keys in sled. Most keys that are read are in a table, and sled would read a block for each of them.
    keys: RwLock<BloomFilter>,
    /// The number of bytes written to sled.
    pub(super) bytes: AtomicUsize,
    // This must be the last field: fields drop in order, and sled must be closed before its folder is deleted.
    pub(super) folder: RecentFolder,
}

impl RecentRecords {
    /// The stored value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.keys.read().may_contain(key) { self.engine.get(key) } else { Ok(None) }
    }

    /// Applies changes, whose values are in the form in which sled stores them, and then the watermark.
    pub(super) fn apply(&self, changes: Vec<Put>, watermark: Watermark) -> Result<()> {
        // Before they are written, so that no reader misses one that is.
        let mut keys = self.keys.write();
        changes.iter().for_each(|(key, _)| keys.insert(key));
        drop(keys);
        self.engine.apply(changes.into(), watermark)
    }
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
    let (mut bytes, mut keys) = (0, BloomFilter::new(FILTERED_KEYS));
    engine.scan(&[], &mut |key, value| {
        bytes += key.len() + value.len();
        keys.insert(key);
        Ok(())
    })?;
    let folder = RecentFolder { path, is_obsolete: AtomicBool::new(false) };
    Ok(RecentRecords { engine, keys: RwLock::new(keys), bytes: AtomicUsize::new(bytes), folder })
}
