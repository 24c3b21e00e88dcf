//! Snapshots of a shared log, from which new stores can start.
//!
//! A snapshot is a compacted segment whose base is the transaction before its last one. The last transaction is kept
//! unchanged, because a copy is compared with the shared log by its last record. The files that are derived from the
//! log are stored with it, so that a new store need not build them.

mod claim;
mod files;

use super::Store;
use super::compact::state::BaseState;
use super::compact::{CompactionCallbacks, CompactionJob, FOLDER, OLD_RECORDS, SNAPSHOT_FOLDER};
use super::disk::{self, Disk, remove_folder};
use super::engine::buffered::BufferedEngine;
use super::engine::{Engine, Watermark};
use super::log::{self, CompactedSegment, PartialSegment, frame};
use super::logged_transaction::LogBase;
use super::shared_log::{SharedLog, SharedSnapshot, SnapshotStore};
use super::shared_log_copy::SharedLogCopy;
use super::{derived_files, tenant_view_files, view_file};
use claim::SnapshotClaim;
use files::RECORDS;
pub(super) use files::SnapshotFiles;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a snapshot cannot be made or fetched.
#[derive(Debug, thiserror::Error)]
enum SharedSnapshotError {
    #[error("the memory is being compacted")]
    Compacting,
    /// Another writer has taken over the claim.
    #[error("the snapshot was abandoned: another daemon is writing one, or the shared log was replaced")]
    Abandoned,
    #[error("`{}` cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the snapshot cannot be written into `{}`: {source}", directory.display())]
    Write { directory: PathBuf, source: io::Error },
    /// `deleted` is the number of the last deleted record, and `tried` are the snapshots that cannot be used.
    #[error(
        "the shared log `{address}` cannot be copied: its changes up to {deleted} were deleted, and {}",
        unusable(tried)
    )]
    NoUsableSnapshot { address: String, deleted: u64, tried: BTreeSet<u64> },
}

/// Says that these snapshots, which end with these records, cannot be used.
fn unusable(tried: &BTreeSet<u64>) -> String {
    let numbers: Vec<String> = tried.iter().map(u64::to_string).collect();
    match numbers.as_slice() {
        [] => "it has no snapshot of the state after them".to_owned(),
        [one] => format!("the snapshot at change {one} is damaged or belongs to another log"),
        several => {
            format!("the snapshots at changes {} are damaged or belong to another log", several.join(" and "))
        }
    }
}

/// Makes the error for a file of a snapshot in this directory.
fn write_error(directory: &Path) -> impl Fn(io::Error) -> SharedSnapshotError {
    move |source| SharedSnapshotError::Write { directory: directory.to_owned(), source }
}

impl From<SharedSnapshotError> for Error {
    fn from(error: SharedSnapshotError) -> Error {
        let message = error.to_string();
        match error {
            SharedSnapshotError::Compacting => Error::new(Code::Locked, message),
            SharedSnapshotError::Abandoned => Error::conflict(message),
            SharedSnapshotError::Read { .. } => Error::unavailable(message),
            SharedSnapshotError::Write { source, .. } => Error::new(disk::code(&source), message),
            SharedSnapshotError::NoUsableSnapshot { .. } => Error::damaged(message).hint(
                "a daemon whose copy is complete can store a new snapshot: restart it with a lower `[store] snapshot-every`, \
                 for example 1, after a further change; or copy the folder of such a daemon into a new `[store] name` \
                 with `poc-memory store copy`",
            ),
        }
    }
}

/// Where the copy of a shared log in an empty folder starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStart {
    /// At the newest snapshot. Earlier history cannot be read, as after a compaction.
    Snapshot,
    /// At the first record of the log, or at the state before it if earlier records were deleted.
    History,
}

impl CopyStart {
    /// The start that is tried if the snapshot of this start is damaged.
    fn other(self) -> CopyStart {
        match self {
            CopyStart::Snapshot => CopyStart::History,
            CopyStart::History => CopyStart::Snapshot,
        }
    }
}

/// The size of a part, in bytes.
pub(super) const PART: usize = 1 << 20;
/// The number of snapshots that a new copy tries to read. A snapshot may be deleted in the meantime if two newer
/// ones were made.
const ATTEMPTS: usize = 3;

impl Store {
    /// Writes a snapshot of the shared log if the log has at least `every` transactions more than the newest snapshot.
    /// Returns the snapshot; `None` if none is due, another writer is writing one, or there is no shared log. The derived
    /// files of this store are stored with it, so it first waits until every index has caught up or failed. They are
    /// not while this store still has texts that another daemon has erased.
    ///
    /// # Errors
    /// `locked` while the store is being compacted, `conflict` if the copy differs from the shared log or another
    /// writer has taken over, errors of the shared log and of the disk, and errors that a callback returns.
    pub fn make_snapshot(
        &self,
        every: u64,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Option<SharedSnapshot>> {
        let shared = self.shared.as_ref();
        let Some(copy) = &shared.shared_log else { return Ok(None) };
        let is_due = || -> Result<bool> {
            let newest = self.newest_snapshot()?.map_or(0, |newest| newest.seq);
            // At least two transactions are needed, because the base must be one before the last.
            Ok(shared.log.last() >= newest.saturating_add(every).max(2))
        };
        if !is_due()? {
            return Ok(None);
        }
        // Only indexes that are up to date are stored.
        shared.index_workers.settle();
        self.with_claim(callbacks, &|work, folder| {
            // Another writer may have written a snapshot before the claim.
            if !is_due()? {
                return Ok(None);
            }
            // An index may still have what it derived from texts that another daemon has erased.
            let has_files = self.erased_elsewhere()?.is_none();
            let Some(prepared) = work.prepare_snapshot(folder, shared.log.last(), has_files)? else {
                return Ok(None);
            };
            let made = upload(&prepared, copy, callbacks)?;
            if let Err(error) = delete_unneeded(copy) {
                tracing::debug!("older snapshots cannot be deleted: {error}");
            }
            Ok(Some(made))
        })
    }

    /// Runs `work`, with an empty folder in which it can prepare a segment, while this writer has the claim to write a
    /// snapshot. `None` if another writer has it, or if there is no shared log.
    ///
    /// # Errors
    /// Like [`Store::make_snapshot`].
    pub(super) fn with_claim<T>(
        &self,
        callbacks: &CompactionCallbacks<'_>,
        work: &dyn Fn(&CompactionJob<'_>, &Path) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let shared = self.shared.as_ref();
        let (Some(copy), Some(compactor)) = (&shared.shared_log, &shared.compactor) else { return Ok(None) };
        shared.commits.check_writable()?;
        let Some(_running) = compactor.running.try_lock() else {
            return Err(SharedSnapshotError::Compacting.into());
        };
        copy.check_again()?;
        let Some(claim) = SnapshotClaim::take(copy, claim::RENEWAL)? else { return Ok(None) };
        let folder = shared.directory.join(SNAPSHOT_FOLDER);
        let make = || {
            remove_folder(&folder).map_err(write_error(&folder))?;
            let check_cancelled = || -> Result<()> {
                (callbacks.check_cancelled)()?;
                Ok((!claim.is_lost()).then_some(()).ok_or(SharedSnapshotError::Abandoned)?)
            };
            let checking_callbacks = CompactionCallbacks { check_cancelled: &check_cancelled, ..*callbacks };
            work(&CompactionJob { shared, compactor, callbacks: &checking_callbacks }, &folder)
        };
        let made = make();
        let _ = remove_folder(&folder);
        made
    }

    /// The newest snapshot of the shared log; `None` if there is none.
    pub fn newest_snapshot(&self) -> Result<Option<SharedSnapshot>> {
        self.shared
            .shared_log
            .as_ref()
            .map_or(Ok(None), |copy| copy.snapshots(|snapshots| snapshots.newest()))
    }
}

/// A snapshot that is ready to be stored.
pub(super) struct PreparedSnapshot {
    segment: CompactedSegment,
    /// The last record of the segment.
    seq: u64,
    files: Option<SnapshotFiles>,
}

impl CompactionJob<'_> {
    /// A segment with a state and the transaction `last` after it, and if `has_files`, the derived files, which it
    /// prepares in the empty `folder`. `None` if the log has too few transactions.
    pub(super) fn prepare_snapshot(
        &self,
        folder: &Path,
        last: u64,
        has_files: bool,
    ) -> Result<Option<PreparedSnapshot>> {
        let log = self.shared.log.as_ref();
        let before = log.last_before(Timestamp::LATEST, last - 1, self.callbacks.check_cancelled)?;
        let (Some((seq, at)), Some(origin)) = (before, log.origin()?) else { return Ok(None) };
        let base = LogBase { seq, at, origin };
        let engine = self.prepare(&folder.join(RECORDS), base.seq)?;
        let state = BaseState::new(&engine, base, self.callbacks.check_cancelled);
        let Some(first) = state.first()? else { return Ok(None) };
        let (segment, checksum) = self.write_segment(&state, first, last)?;
        if !has_files {
            return Ok(Some(PreparedSnapshot { segment, seq: last, files: None }));
        }
        // A store that begins with the segment would build the same records.
        let pruned = state.prune(Watermark { seq: base.seq, checksum });
        let files = match pruned.and_then(|()| self.prepare_files(engine, folder, last)) {
            Ok(files) => files,
            Err(error) => {
                (self.callbacks.check_cancelled)()?;
                // The disk may be full, for example. The segment is a complete snapshot.
                tracing::warn!("the snapshot is stored without derived files: {error}");
                let _ = remove_folder(folder);
                None
            }
        };
        Ok(Some(PreparedSnapshot { segment, seq: last, files }))
    }

    /// Brings the records of an engine in a folder of its own below `folder` up to transaction `last`, and adds the
    /// other derived files.
    fn prepare_files(
        &self,
        engine: BufferedEngine,
        folder: &Path,
        last: u64,
    ) -> Result<Option<SnapshotFiles>> {
        self.catch_up(&engine, last)?;
        // Otherwise the records would have deleted and overwritten texts.
        engine.rewrite(self.callbacks.check_cancelled)?;
        engine.flush()?;
        drop(engine);
        self.snapshot_files(folder, last)
    }
}

/// Uploads a snapshot part by part.
pub(super) fn upload(
    prepared: &PreparedSnapshot,
    copy: &SharedLogCopy,
    callbacks: &CompactionCallbacks<'_>,
) -> Result<SharedSnapshot> {
    let PreparedSnapshot { segment, seq, files } = prepared;
    let read_error = |source| SharedSnapshotError::Read { path: segment.path().to_owned(), source };
    let mut file = File::open(segment.path()).map_err(read_error)?;
    let mut snapshot = SharedSnapshot { seq: *seq, parts: 0, bytes: 0 };
    loop {
        let mut part = Vec::with_capacity(PART);
        file.by_ref().take(PART as u64).read_to_end(&mut part).map_err(read_error)?;
        if part.is_empty() {
            break;
        }
        write_part(copy, callbacks, *seq, snapshot.parts, &part)?;
        snapshot.parts += 1;
        snapshot.bytes += part.len() as u64;
    }
    if let Some(files) = files {
        files.upload(*seq, copy, callbacks)?;
    }
    // The shared log may have been replaced with one that lacks the record.
    copy.check_again()?;
    let completed = copy.snapshots(|snapshots| snapshots.complete(snapshot))?;
    Ok(completed.then_some(snapshot).ok_or(SharedSnapshotError::Abandoned)?)
}

/// Stores a part of the snapshot that ends with record `seq`.
fn write_part(
    copy: &SharedLogCopy,
    callbacks: &CompactionCallbacks<'_>,
    seq: u64,
    number: u64,
    part: &[u8],
) -> Result<()> {
    (callbacks.check_cancelled)()?;
    let written = copy.snapshots(|snapshots| snapshots.write_part(seq, number, part, claim::DURATION))?;
    Ok(written.then_some(()).ok_or(SharedSnapshotError::Abandoned)?)
}

/// Deletes the snapshots that are not needed. Those that cannot be deleted now are deleted with the next one.
pub(super) fn delete_unneeded(copy: &SharedLogCopy) -> Result<()> {
    let first = copy.deleted()?.last + 1;
    copy.snapshots(|snapshots| snapshots.delete_unneeded(first))
}

/// The snapshot with which a copy starts; `None` if it starts with the first record of the log.
fn snapshot_to_start(shared: &dyn SharedLog, start: CopyStart) -> Result<Option<SharedSnapshot>> {
    let snapshots = shared.snapshots();
    if start == CopyStart::Snapshot {
        return snapshots.newest();
    }
    match shared.deleted()?.last {
        0 => Ok(None),
        last => Ok(snapshots.find(last + 1)?.or(snapshots.newest()?)),
    }
}

/// What the log of a store begins with.
pub(super) enum CopyBeginning {
    /// A snapshot, and its derived files, which are not in use yet.
    Snapshot(Option<SnapshotFiles>),
    /// The first record of the shared log. The message for people says why no snapshot is used; `None` if there is none.
    FirstRecord(Option<String>),
}

/// Downloads a snapshot into the folder of a store whose log is empty or is replaced by it. If there is no snapshot that
/// is intact and belongs to the shared log, and that can be read from its beginning, nothing has changed. `put_aside` is
/// called when the snapshot is on disk, before what it replaces is deleted.
///
/// # Errors
/// `damaged` if there is no such snapshot and the beginning of the shared log was deleted, and errors of the shared log
/// and of the disk.
pub(super) fn fetch(
    directory: &Path,
    disk: &dyn Disk,
    shared: &dyn SharedLog,
    start: CopyStart,
    put_aside: &dyn Fn() -> Result<()>,
) -> Result<CopyBeginning> {
    let folder = directory.join("log");
    let (mut start, mut last_tried, mut tried) = (start, None, BTreeSet::new());
    for _ in 0..ATTEMPTS {
        let Some(snapshot) = snapshot_to_start(shared, start)? else { break };
        tried.insert(snapshot.seq);
        if last_tried.replace(snapshot) == Some(snapshot) {
            start = start.other();
            continue;
        }
        let Some(segment) = download(&folder, disk, shared.snapshots(), snapshot)? else { continue };
        let record = shared.read(snapshot.seq - 1, 1)?.into_iter().next();
        if record.as_ref().is_some_and(|record| record.seq > snapshot.seq) {
            // It was deleted together with its snapshot, after the download.
            continue;
        }
        let checksum = record.map(|record| frame(snapshot.seq, &record.payload).1);
        if let Some(checksum) = checksum
            && let Some(first) = segment.first_if_intact(snapshot.seq, checksum)?
        {
            let staged = directory.join(SNAPSHOT_FOLDER);
            let files = SnapshotFiles::download(&staged, shared.snapshots(), snapshot.seq)?;
            // Files derived from the replaced copy do not match the new one. They are deleted first, so that the copy
            // is empty after an interruption.
            put_aside()?;
            remove_derived(directory, &mut disk::remove).map_err(write_error(directory))?;
            view_file::remove(directory)?;
            log::remove_segments(&folder).map_err(write_error(&folder))?;
            segment.publish(first, disk).map_err(write_error(&folder))?;
            return Ok(CopyBeginning::Snapshot(files));
        }
        // A log whose beginning was deleted also has a snapshot of the other kind.
        start = start.other();
    }
    let deleted = shared.deleted()?.last;
    if deleted > 0 {
        let address = shared.address();
        return Err(SharedSnapshotError::NoUsableSnapshot { address, deleted, tried }.into());
    }
    let message = last_tried.map(|SharedSnapshot { seq, .. }| {
        format!(
            "the snapshot at change {seq} was not used, because it is damaged or belongs to another log; the log was read \
             from its beginning"
        )
    });
    Ok(CopyBeginning::FirstRecord(message))
}

/// Deletes the records, the saved views of tenants, the derived files and what an interrupted compaction has prepared.
/// `remove` deletes a folder if it exists.
fn remove_derived(directory: &Path, remove: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let old = directory.join(OLD_RECORDS);
    remove(&old)?;
    // If the deletion of the records were interrupted, the next open would move the rest to the quarantine.
    match fs::rename(directory.join(RECORDS), &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let folders = [OLD_RECORDS, FOLDER, tenant_view_files::FOLDER, derived_files::FOLDER];
    folders.map(|name| directory.join(name)).iter().try_for_each(|folder| remove(folder))
}

/// Downloads a snapshot to a file in the folder; `None` if parts of it are missing.
fn download(
    directory: &Path,
    disk: &dyn Disk,
    snapshots: &dyn SnapshotStore,
    snapshot: SharedSnapshot,
) -> Result<Option<PartialSegment>> {
    let mut segment = PartialSegment::create(directory, disk).map_err(write_error(directory))?;
    let mut bytes = 0;
    for number in 0..snapshot.parts {
        let Some(part) = snapshots.read_part(snapshot.seq, number)? else { return Ok(None) };
        segment.write(&part).map_err(write_error(directory))?;
        bytes += part.len() as u64;
    }
    segment.sync().map_err(write_error(directory))?;
    Ok((bytes == snapshot.bytes).then_some(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_deletion_leaves_all_records_or_none() {
        for steps in 0.. {
            let folder = poc_graph::testing::folder();
            let records = folder.path().join(RECORDS);
            fs::create_dir(&records).unwrap();
            let tables = ["1.table", "2.table"].map(|name| records.join(name));
            tables.iter().for_each(|table| fs::write(table, "records").unwrap());
            let mut left = steps;
            let removed = remove_derived(folder.path(), &mut |path| {
                if left > 0 {
                    left -= 1;
                    return disk::remove(path);
                }
                if let Some(first) = fs::read_dir(path).into_iter().flatten().flatten().next() {
                    fs::remove_file(first.path())?;
                }
                Err(io::ErrorKind::Interrupted.into())
            });
            let kept = tables.iter().filter(|table| table.exists()).count();
            if removed.is_ok() {
                assert_eq!((kept, steps), (0, 5));
                return;
            }
            assert_eq!(kept, if steps == 0 { tables.len() } else { 0 });
        }
    }
}
