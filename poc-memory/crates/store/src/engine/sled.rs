//! The sled database, which stores the newest records.
//!
//! A value in sled is a block of consecutive records, stored under the smallest key that belongs to the block: with
//! single records, sled needs several times the space and time. All tables share one sled tree.
//!
//! sled's batches and transactions are not used. They take a lock that all databases of the process share. A database
//! whose disk has failed can hold that lock forever, and every later read of any database would hang.

pub(in crate::engine) mod boot_marker;
#[cfg(test)]
mod tests;
mod write_blocks;

use super::block::Block;
use super::block_cache::{BlockCache, CachedBlock};
use super::{Engine, EngineError, Put, Visitor, Watermark, damage_marker, put_length};
use crate::disk;
use crate::watchdog;
use boot_marker::BootMarker;
use poc_graph::error::Result;
use std::borrow::Cow;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The key of the watermark. It cannot be the key of a block, because those begin with [`BLOCK`].
const WATERMARK_KEY: &[u8] = b"\0mark of blocks";
/// While changes are being written, the key of the watermark that applies after them.
const UNFINISHED_KEY: &[u8] = b"\0unfinished";
/// The first byte of the keys of blocks. No key began with it in the layout before blocks.
const BLOCK: u8 = 0xFF;
/// The key of the watermark in the layout before blocks.
const EARLIER_WATERMARK_KEY: &[u8] = b"\0mark";

/// The size of sled's cache in bytes. It holds compressed blocks and its limit is soft, so it is as small as possible.
const CACHE_BYTES: u64 = 1 << 20;
/// The size of the cache of uncompressed blocks, in bytes.
const BLOCK_CACHE_BYTES: usize = 4 << 20;

/// Disk space in bytes that a write needs in addition to the records. sled writes in segments of 512 KiB.
pub(super) const SPARE_BYTES: u64 = 2 << 20;

/// The name of sled's file in a directory.
pub(crate) const FILE: &str = "db";

/// The name of the file with sled's settings, which are the same in every directory.
const SETTINGS: &str = "conf";

/// The beginning of the names of sled's snapshots.
const SNAPSHOT: &str = "snap.";

/// Maximum time to wait for sled's own lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Called with each key and value of a scan; it breaks to end the scan.
type StoppingVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'a;

/// An open sled directory.
pub(crate) struct SledEngine {
    db: sled::Db,
    cache: BlockCache,
    directory: PathBuf,
    /// Whether a write has failed or damage was found. After a failed write, sled no longer writes and cannot read the
    /// data that was not written.
    has_failed: AtomicBool,
    // `None` for a copy. This must be the last field, so that it drops after sled is closed.
    _boot_marker: Option<BootMarker>,
}

impl SledEngine {
    /// Opens a directory, creating it if it is missing. If its files are damaged, sled may panic or hang; see
    /// [`watchdog`].
    pub(crate) fn open(directory: &Path) -> Result<SledEngine> {
        if damage_marker::exists(directory) {
            return Err(EngineError::FoundDamaged.into());
        }
        let boot_marker = BootMarker::start(directory).map_err(EngineError::io("changed", directory))?;
        SledEngine::open_in(directory, Some(boot_marker))
    }

    /// Opens a directory that may be deleted afterwards, such as a copy. Nothing is synced when it is closed.
    pub(crate) fn open_copy(directory: &Path) -> Result<SledEngine> {
        // sled writes this file again. If it were damaged, sled would not open, although all records are intact.
        match std::fs::remove_file(directory.join(SETTINGS)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(EngineError::io("changed", directory)(source).into());
            }
            _ => {}
        }
        SledEngine::open_in(directory, None)
    }

    /// Like [`SledEngine::open_copy`], also if a snapshot is damaged. The intact parts of sled's file are then read
    /// without the snapshot, so records may be older than they were.
    pub(crate) fn open_damaged_copy(directory: &Path) -> Result<SledEngine> {
        SledEngine::open_copy(directory).or_else(|error| {
            let is_removed = remove_snapshots(directory).map_err(EngineError::io("changed", directory))?;
            if is_removed { SledEngine::open_copy(directory) } else { Err(error) }
        })
    }

    fn open_in(directory: &Path, boot_marker: Option<BootMarker>) -> Result<SledEngine> {
        // The thread that flushes twice a second is disabled: data that a killed process had not flushed is in the log.
        let config = sled::Config::new().path(directory).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let db = open_when_unlocked(|| config.open())?;
        let cache = BlockCache::new(BLOCK_CACHE_BYTES);
        let has_failed = AtomicBool::new(false);
        Ok(SledEngine { db, cache, directory: directory.to_owned(), has_failed, _boot_marker: boot_marker })
    }

    /// The highest number of a transaction whose changes the directory may contain, in any layout.
    pub(crate) fn newest_seq(&self) -> Result<u64> {
        let watermarks =
            [WATERMARK_KEY, UNFINISHED_KEY, EARLIER_WATERMARK_KEY].map(|key| self.read_watermark(key));
        watermarks
            .into_iter()
            .try_fold(0, |newest, watermark| Ok(newest.max(watermark?.map_or(0, |watermark| watermark.seq))))
    }

    /// Runs an operation of sled. Damage may only show when a record is read, as an error or a panic. The directory is
    /// then marked as damaged, and the next open rebuilds the records.
    fn run<T>(&self, work: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        let error = match watchdog::catch_panic(|| Ok(work(&self.db))) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => EngineError::of_sled(error),
            Err(panic) => EngineError::Damaged(panic.message),
        };
        match &error {
            EngineError::Damaged(_) => self.note_damage(),
            EngineError::Failed(sled::Error::Io(source)) if disk::is_failure(source) => {
                self.has_failed.store(true, Ordering::SeqCst);
            }
            _ => {}
        }
        Err(error.into())
    }

    /// Marks the directory as damaged, so that the next open rebuilds the records.
    fn note_damage(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
        damage_marker::write(&self.directory);
    }

    /// Records the outcome of reading a block. A block that cannot be read counts as damage.
    fn record_damage<T>(&self, read: Result<T, EngineError>) -> Result<T> {
        if matches!(&read, Err(EngineError::Damaged(_))) {
            self.note_damage();
        }
        Ok(read?)
    }

    fn value(&self, key: &[u8]) -> Result<Option<sled::IVec>> {
        self.run(|db| db.get(key))
    }

    fn read_watermark(&self, key: &[u8]) -> Result<Option<Watermark>> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        let decode = || {
            let (seq, checksum) = value.split_first_chunk()?;
            let checksum = u32::from_be_bytes(checksum.try_into().ok()?);
            Some(Watermark { seq: u64::from_be_bytes(*seq), checksum })
        };
        Ok(Some(decode().ok_or(EngineError::DamagedWatermark)?))
    }

    /// The block that a key belongs to; `None` if there is no such block yet. If the block had to be read, `keep`
    /// decides whether it is added to the cache.
    fn block(&self, key: &[u8], keep: bool) -> Result<Option<CachedBlock>> {
        let changes = match self.cache.get(key) {
            Ok(found) => return Ok(Some(found)),
            Err(changes) => changes,
        };
        let found = self.stored_block(key)?;
        if let Some(found) = found.as_ref().filter(|_| keep) {
            self.cache.put(changes, found);
        }
        Ok(found)
    }

    /// Calls `each` with the keys from `from` on that start with `prefix`, and their values, until a call breaks or
    /// fails. `from` starts with `prefix`, too.
    fn scan_from(&self, prefix: &[u8], mut from: Vec<u8>, each: &mut StoppingVisitor<'_>) -> Result<()> {
        let mut is_first = true;
        loop {
            // A scan of a whole table must not evict everything else from the cache.
            let Some(found) = self.block(&from, is_first)? else {
                // There is no block before the first one.
                match self.lower_bound_after(block_key(&from))? {
                    Some(lower) if lower.starts_with(prefix) => from = lower,
                    _ => return Ok(()),
                }
                continue;
            };
            is_first = false;
            let mut records = found.block.records();
            while self.record_damage(records.advance())? {
                if records.key() < from.as_slice() {
                    continue;
                }
                // The block was split between reading it and reading the start of the next block.
                if found.upper.as_deref().is_some_and(|upper| records.key() >= upper) {
                    break;
                }
                if !records.key().starts_with(prefix) {
                    return Ok(());
                }
                if each(records.key(), records.value())?.is_break() {
                    return Ok(());
                }
            }
            match found.upper {
                Some(upper) if upper.starts_with(prefix) => from = upper,
                _ => return Ok(()),
            }
        }
    }

    /// Like [`SledEngine::block`], without the cache.
    fn stored_block(&self, key: &[u8]) -> Result<Option<CachedBlock>> {
        let own = block_key(key);
        loop {
            let Some((lower, block)) = self.last_block(Bound::Included(own.as_slice()))? else {
                return Ok(None);
            };
            let upper = self.lower_bound_after(block_key(&lower))?;
            // If the block was split in the meantime, the key may now belong to a new block.
            if upper.as_deref().is_none_or(|upper| key < upper) {
                return Ok(Some(CachedBlock { lower, upper, block }));
            }
        }
    }

    /// The last block whose key in sled is within a bound, with the block's smallest key.
    fn last_block(&self, bound: Bound<&[u8]>) -> Result<Option<(Vec<u8>, Arc<Block>)>> {
        let range = (Bound::Included([BLOCK].as_slice()), bound);
        let found = self.run(|db| db.range::<&[u8], _>(range).next_back().transpose())?;
        let Some((key, value)) = found else { return Ok(None) };
        let block = self.record_damage(Block::decode(&value))?;
        Ok(Some((key.get(1..).unwrap_or_default().to_vec(), Arc::new(block))))
    }

    /// The smallest key of the first block after a key of sled.
    fn lower_bound_after(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let after = (Bound::Excluded(key), Bound::Unbounded);
        let next = self.run(|db| db.range::<Vec<u8>, _>(after).keys().next().transpose())?;
        Ok(next.map(|key| key.get(1..).unwrap_or_default().to_vec()))
    }

    /// Applies changes and calls `write` for each write to sled, in order. If a write fails, the changes are left as
    /// after a crash.
    pub(crate) fn apply_with(
        &self,
        changes: &[Put],
        watermark: Watermark,
        write: &mut dyn FnMut(Put) -> Result<()>,
    ) -> Result<()> {
        self.check_space(changes)?;
        self.cache.clear();
        let written = self.write_changes(changes, watermark, write);
        self.cache.clear();
        written?;
        // Data that stays in sled's memory could be lost to a full disk later.
        self.flush()
    }

    /// Performs one write to sled.
    pub(crate) fn write(&self, (key, value): Put) -> Result<()> {
        self.run(|db| match value {
            Some(value) => db.insert(key, value).map(drop),
            None => db.remove(key).map(drop),
        })
    }

    /// Fails if the disk has no space for changes, because sled does not recover from a failed write.
    fn check_space(&self, changes: &[Put]) -> Result<()> {
        let bytes = changes.iter().map(put_length).sum::<usize>() as u64 + SPARE_BYTES;
        let file_length = std::fs::metadata(self.directory.join(FILE)).map_or(0, |found| found.len());
        Ok(disk::check_space(&self.directory, bytes, file_length).map_err(EngineError::NoSpace)?)
    }
}

/// Deletes sled's snapshots, from which it starts to read its file. Returns whether there were any.
fn remove_snapshots(directory: &Path) -> io::Result<bool> {
    let mut is_removed = false;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SNAPSHOT) {
            std::fs::remove_file(entry.path())?;
            is_removed = true;
        }
    }
    Ok(is_removed)
}

/// sled's key for the block whose smallest key is `lower`.
fn block_key(lower: &[u8]) -> Vec<u8> {
    [&[BLOCK], lower].concat()
}

fn encode_watermark(watermark: Watermark) -> Vec<u8> {
    [watermark.seq.to_be_bytes().as_slice(), &watermark.checksum.to_be_bytes()].concat()
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(found) = self.block(key, true)? else { return Ok(None) };
        self.record_damage(found.block.get(key))
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.scan_from(prefix, prefix.to_vec(), &mut |key, value| {
            each(key, value).map(|()| ControlFlow::Continue(()))
        })
    }

    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut first = None;
        self.scan_from(prefix, from.to_vec(), &mut |key, _| {
            first = Some(key.to_vec());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.apply_with(&changes, watermark, &mut |put| self.write(put))
    }

    fn watermark(&self) -> Result<Watermark> {
        Ok(self.read_watermark(WATERMARK_KEY)?.unwrap_or_default())
    }

    fn unfinished(&self) -> Result<Option<Watermark>> {
        self.read_watermark(UNFINISHED_KEY)
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    fn size(&self) -> Result<u64> {
        self.run(sled::Db::size_on_disk)
    }

    fn flush(&self) -> Result<()> {
        self.run(|db| db.flush().map(drop))
    }
}

/// Opens sled as soon as its own lock is free. The store's lock excludes every other process, so a holder of sled's
/// lock is about to end: either a child process between fork and exec, or sled's threads after a close.
#[expect(clippy::disallowed_methods, reason = "nothing reports when a lock becomes free")]
fn open_when_unlocked(open: impl Fn() -> sled::Result<sled::Db>) -> Result<sled::Db> {
    let start = Instant::now();
    loop {
        match open() {
            Err(sled::Error::Io(error)) if is_locked(&error) && start.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return Ok(opened.map_err(EngineError::of_sled)?),
        }
    }
}

/// Whether opening failed because of sled's lock. sled replaces the kind of the system's error, so only the message
/// identifies it.
fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}
