//! Snapshots of a shared log: states that new stores begin with.
//!
//! A snapshot is a compacted segment whose base is the transaction before its last one. The last transaction stays as it
//! is, because a copy is compared with the shared log by its last record.

use super::Store;
use super::compact::{CompactionCallbacks, SNAPSHOT_FOLDER, Work, remove, state};
use super::disk::Disk;
use super::log::{CompactedSegment, PartialSegment, compaction_unwritten};
use super::logged_transaction::LogBase;
use super::shared_log::{SharedSnapshot, SnapshotStore};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// What the copy of a shared log in an empty folder begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyBeginning {
    /// The newest snapshot. History before it cannot be read, as after a compaction.
    #[default]
    Snapshot,
    /// The first record of the log.
    FirstRecord,
}

/// Bytes of a part.
const PART: usize = 1 << 20;
/// How long a writer that makes no progress keeps others from making a snapshot. Until the first part is written, the log
/// is read.
const CLAIM: Duration = Duration::from_secs(600);
/// How often a snapshot is read that is deleted meanwhile, because newer ones were made.
const ATTEMPTS: usize = 3;

impl Store {
    /// Makes a snapshot of the shared log if it has at least `every` transactions more than the newest one. Returns it;
    /// `None` if none is due, another writer makes one, or there is no shared log.
    ///
    /// # Errors
    /// `locked` while the store is being compacted, those of the shared log and of the disk, and what the callbacks return.
    pub fn make_snapshot(
        &self,
        every: u64,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Option<SharedSnapshot>> {
        let shared = self.shared.as_ref();
        let (Some(copy), Some(compactor)) = (&shared.shared_log, &shared.compactor) else { return Ok(None) };
        let snapshots = copy.snapshots();
        let newest = snapshots.newest()?.map_or(0, |newest| newest.seq);
        // The base is at least the first transaction.
        if shared.log.last() < (newest + every).max(2) {
            return Ok(None);
        }
        let Some(_running) = compactor.running.try_lock() else {
            return Err(Error::new(Code::Locked, "the memory is being compacted"));
        };
        if !snapshots.claim(CLAIM)? {
            return Ok(None);
        }
        let folder = shared.directory.join(SNAPSHOT_FOLDER);
        remove(&folder).map_err(|error| compaction_unwritten(&error))?;
        let made = Work { shared, compactor, callbacks }.make_snapshot(&folder, snapshots);
        let _ = remove(&folder);
        made
    }

    /// The newest snapshot of the shared log; `None` if there is none.
    pub fn newest_snapshot(&self) -> Result<Option<SharedSnapshot>> {
        self.shared.shared_log.as_ref().map_or(Ok(None), |copy| copy.snapshots().newest())
    }
}

impl Work<'_> {
    fn make_snapshot(&self, folder: &Path, snapshots: &dyn SnapshotStore) -> Result<Option<SharedSnapshot>> {
        let log = self.shared.log.as_ref();
        let last = log.last();
        let before = log.last_before(Timestamp::LATEST, last - 1, self.callbacks.check_cancelled)?;
        let (Some((seq, at)), Some(origin)) = (before, log.origin()?) else { return Ok(None) };
        let base = LogBase { seq, at, origin };
        let engine = self.prepare(folder, base.seq)?;
        state::prune(&engine, base.seq)?;
        let Some(first) = state::first(&engine, base)? else { return Ok(None) };
        let (segment, _) = self.write_segment(&engine, base, first, last)?;
        drop(engine);
        self.upload(&segment, last, snapshots)
    }

    fn upload(
        &self,
        segment: &CompactedSegment,
        seq: u64,
        snapshots: &dyn SnapshotStore,
    ) -> Result<Option<SharedSnapshot>> {
        let unread = |error: io::Error| {
            Error::internal(format!("`{}` cannot be read: {error}", segment.path().display()))
        };
        let mut file = File::open(segment.path()).map_err(unread)?;
        let mut snapshot = SharedSnapshot { seq, parts: 0, bytes: 0 };
        loop {
            (self.callbacks.check_cancelled)()?;
            let mut part = Vec::with_capacity(PART);
            file.by_ref().take(PART as u64).read_to_end(&mut part).map_err(unread)?;
            if part.is_empty() {
                break;
            }
            if !snapshots.write_part(seq, snapshot.parts, &part, CLAIM)? {
                return Ok(None);
            }
            snapshot.parts += 1;
            snapshot.bytes += part.len() as u64;
        }
        Ok(snapshots.complete(snapshot)?.then_some(snapshot))
    }
}

/// Puts the newest snapshot into the folder of a log that has no records. Returns whether there is one that is intact.
///
/// # Errors
/// Those of the shared log, and those of a disk that fails.
pub(super) fn fetch(directory: &Path, disk: &dyn Disk, snapshots: &dyn SnapshotStore) -> Result<bool> {
    for _ in 0..ATTEMPTS {
        let Some(snapshot) = snapshots.newest()? else { return Ok(false) };
        let Some(segment) = download(directory, disk, snapshots, snapshot)? else { continue };
        let is_intact = segment.publish(snapshot.seq, disk)?;
        if !is_intact {
            tracing::warn!("the snapshot at change {} is damaged: the whole log is read", snapshot.seq);
        }
        return Ok(is_intact);
    }
    Ok(false)
}

/// A snapshot as a file in the folder; `None` if it was deleted meanwhile.
fn download(
    directory: &Path,
    disk: &dyn Disk,
    snapshots: &dyn SnapshotStore,
    snapshot: SharedSnapshot,
) -> Result<Option<PartialSegment>> {
    let unwritten = |error: io::Error| compaction_unwritten(&error);
    let mut segment = PartialSegment::create(directory, disk).map_err(unwritten)?;
    for part in 0..snapshot.parts {
        let Some(bytes) = snapshots.read_part(snapshot.seq, part)? else { return Ok(None) };
        segment.write(&bytes).map_err(unwritten)?;
    }
    segment.sync().map_err(unwritten)?;
    Ok(Some(segment))
}
