//! Replaces the beginning of the log with the state that it leads to.
//!
//! A compacted segment contains the state after one transaction, the base, as transactions without before-images. They
//! are followed by unchanged copies of the records between the base and the end of the last replaced segment. One
//! rename puts the segment into place: an open uses the compacted segment with the latest base and ignores every segment
//! that begins before its end.

use super::segment::{HEADER, Header, NextRecord, SegmentReader, frame};
use super::{
    Log, LogError, RecordPosition, STRIDE, Segment, SegmentState, check_segment, modified_at, segment_path,
    unreadable,
};
use crate::compaction_error::CompactionError;
use crate::disk::{AppendFile, Disk};
use crate::logged_transaction::{LogBase, LoggedTransaction};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the segment while it is being written.
pub(crate) const PARTIAL: &str = "compacted.partial";
/// The number of bytes written at once.
const CHUNK: usize = 1 << 20;

/// The file of a compacted segment before it is renamed. Dropping this deletes it.
pub(crate) struct PartialSegment {
    path: PathBuf,
    file: Box<dyn AppendFile>,
}

impl PartialSegment {
    /// Creates an empty file in the folder of a log. Leftovers of an earlier attempt are deleted.
    pub(crate) fn create(directory: &Path, disk: &dyn Disk) -> io::Result<PartialSegment> {
        let path = directory.join(PARTIAL);
        remove(&path)?;
        let file = disk.create(&path)?;
        Ok(PartialSegment { path, file })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Makes the file durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    /// The number of the first record; `None` unless the segment is intact and its last record has this number and
    /// checksum.
    ///
    /// # Errors
    /// `conflict` if a newer release wrote the segment, and `unavailable` if the file cannot be read.
    pub(crate) fn first_if_intact(&self, last: u64, checksum: u32) -> Result<Option<u64>> {
        let header = Header::read(&self.path).map_err(|error| unreadable(&self.path, error))?;
        let Some(header) = header else { return Ok(None) };
        let state = check_segment(&self.path, header.first, u64::MAX)?;
        let is_intact = matches!(
            state,
            SegmentState::Intact { last: found, checksum: found_checksum, .. }
                if (found, found_checksum) == (last, checksum)
        );
        Ok(is_intact.then_some(header.first))
    }

    /// Renames the file to become the segment of a log that has no other segment. `first` is the number of its first
    /// record.
    pub(crate) fn publish(&self, first: u64, disk: &dyn Disk) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        fs::rename(&self.path, segment_path(directory, first))?;
        disk.sync_directory(directory)
    }
}

impl Drop for PartialSegment {
    fn drop(&mut self) {
        // If the file was renamed, this fails, and the renamed file is kept.
        let _ = fs::remove_file(&self.path);
    }
}

/// A compacted segment that is being written.
pub(crate) struct CompactedSegment {
    partial: PartialSegment,
    /// The number of the first record.
    first: u64,
    /// The number of the next record.
    next: u64,
    /// The offset of the next record in the file, in bytes.
    offset: u64,
    positions: Vec<RecordPosition>,
    /// The bytes that are not in the file yet.
    buffer: Vec<u8>,
}

impl CompactedSegment {
    /// Creates a segment that begins with number `first`. Leftovers of an earlier attempt are deleted.
    pub(crate) fn create(directory: &Path, disk: &dyn Disk, first: u64) -> io::Result<CompactedSegment> {
        let partial = PartialSegment::create(directory, disk)?;
        let buffer = Header::compacted(first).encode();
        let (next, offset) = (first, HEADER as u64);
        Ok(CompactedSegment { partial, first, next, offset, positions: Vec::new(), buffer })
    }

    /// Adds the next record.
    pub(crate) fn add(&mut self, record: &[u8]) -> io::Result<()> {
        if self.next == self.first || self.next.is_multiple_of(STRIDE) {
            self.positions.push(RecordPosition { seq: self.next, segment: self.first, offset: self.offset });
        }
        self.next += 1;
        self.offset += record.len() as u64;
        self.buffer.extend_from_slice(record);
        if self.buffer.len() < CHUNK {
            return Ok(());
        }
        self.partial.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The path of the file before the segment is put into place.
    pub(crate) fn path(&self) -> &Path {
        &self.partial.path
    }

    /// Makes the segment durable. Reads it back and calls `check` with every transaction.
    pub(crate) fn finish(&mut self, check: &mut dyn FnMut(LoggedTransaction) -> Result<()>) -> Result<()> {
        self.partial.write(&self.buffer).map_err(CompactionError::Write)?;
        self.buffer.clear();
        self.partial.sync().map_err(CompactionError::Write)?;
        let path = self.path();
        let mut reader = SegmentReader::open(path, HEADER as u64).map_err(|error| unreadable(path, error))?;
        for expected in self.first..self.next {
            let offset = reader.offset();
            match reader.next(true).map_err(|error| unreadable(path, error))? {
                NextRecord::Record { seq, payload, .. } if seq == expected => {
                    check(LoggedTransaction::decode(&payload)?)?
                }
                _ => return Err(LogError::Damaged { path: path.to_owned(), offset }.into()),
            }
        }
        Ok(())
    }
}

/// Deletes a file if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Log {
    /// Where the history begins, if its beginning was replaced.
    pub(crate) fn base(&self) -> Option<LogBase> {
        self.index.read().base
    }

    /// The sequence number of the base; 0 if the log is complete.
    pub(crate) fn base_seq(&self) -> u64 {
        self.base().map_or(0, |base| base.seq)
    }

    /// Identifies the log by the first 16 bytes of the BLAKE3 hash of its first transaction; `None` for an empty log.
    pub(crate) fn origin(&self) -> Result<Option<[u8; 16]>> {
        if let Some(base) = self.base() {
            return Ok(Some(base.origin));
        }
        Ok(self.read_payload(1)?.map(|payload| Log::origin_of(&payload)))
    }

    /// The [`Log::origin`] of a log whose first encoded transaction is `first`.
    pub(crate) fn origin_of(first: &[u8]) -> [u8; 16] {
        let mut origin = [0; 16];
        origin.iter_mut().zip(blake3::hash(first).as_bytes()).for_each(|(to, from)| *to = *from);
        origin
    }

    /// Builds a compacted segment of the state with which a compacted log begins and of the record after it. Calls
    /// `each` with its bytes in parts of `part` bytes; the last part may be shorter. Does nothing for a complete log.
    pub(crate) fn each_part_of_beginning(
        &self,
        part: usize,
        each: &mut dyn FnMut(Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let (first, base) = {
            let index = self.index.read();
            (index.first(), index.base)
        };
        let Some(base) = base else { return Ok(()) };
        let mut bytes = Header::compacted(first).encode();
        self.replay_payloads(first, base.seq + 1, &mut |seq, payload, _| {
            bytes.extend_from_slice(&frame(seq, &payload).0);
            while bytes.len() >= part {
                let rest = bytes.split_off(part);
                each(std::mem::replace(&mut bytes, rest))?;
            }
            Ok(true)
        })?;
        if bytes.is_empty() { Ok(()) } else { each(bytes) }
    }

    /// The longest beginning of the log in which all transactions were made before a time: the number of its last
    /// transaction, and the latest time in it. `None` if the first transaction was made later. Transactions after
    /// `until` are ignored.
    pub(crate) fn last_before(
        &self,
        before: Timestamp,
        until: u64,
        check_cancelled: &dyn Fn() -> Result<()>,
    ) -> Result<Option<(u64, Timestamp)>> {
        let mut found = self.base().map(|base| (base.seq, base.at));
        let first = found.map_or(1, |(seq, _)| seq + 1);
        let is_over = Cell::new(false);
        let mut visit = |txn: LoggedTransaction, _: u32| {
            if txn.seq.is_multiple_of(STRIDE) {
                check_cancelled()?;
            }
            is_over.set(is_over.get() || txn.cause.at >= before);
            if !is_over.get() {
                let at = found.map_or(txn.cause.at, |(_, at)| at.max(txn.cause.at));
                found = Some((txn.seq, at));
            }
            Ok(())
        };
        let mut start = first;
        let last = self.last().min(until);
        // The replay is done in parts, because a replay cannot be stopped.
        while start <= last && !is_over.get() {
            let end = last.min(start + STRIDE * 16);
            self.replay(start, end, &mut visit)?;
            start = end + 1;
        }
        Ok(found)
    }

    /// The last transaction of the segment that contains transaction `seq`; `None` if no other segment follows.
    pub(crate) fn end_of_segment(&self, seq: u64) -> Option<u64> {
        let index = self.index.read();
        let next = index.segments.iter().find(|segment| segment.first > seq);
        next.map(|next| next.first - 1)
    }

    /// The folder of the log's segments.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// Replaces all segments up to the end of a finished compacted segment. The replaced files are deleted when they
    /// have no readers any more.
    pub(crate) fn replace_beginning(
        &self,
        segment: &mut CompactedSegment,
        base: LogBase,
        disk: &dyn Disk,
    ) -> io::Result<()> {
        let path = segment_path(&self.directory, segment.first);
        let mut index = self.index.write();
        let mut obsolete = self.obsolete.lock();
        let is_taken = index
            .segments
            .iter()
            .map(|old| &old.first)
            .chain(&*obsolete)
            .any(|first| *first == segment.first);
        if is_taken && Arc::strong_count(&self.hold) > 1 {
            // A reader of the segment with this name would suddenly read the new one.
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        fs::rename(segment.path(), &path)?;
        let last = segment.next - 1;
        let replaced = index.segments.iter().filter(|old| old.first <= last && old.first != segment.first);
        // A segment that an earlier compaction has replaced may have had the same name.
        obsolete.retain(|old| *old != segment.first);
        obsolete.extend(replaced.map(|old| old.first));
        index.segments.retain(|old| old.first > last);
        index.positions.retain(|position| position.seq > last);
        let compacted = Segment { first: segment.first, bytes: segment.offset, changed: modified_at(&path) };
        index.segments.insert(0, compacted);
        index.positions.splice(0..0, std::mem::take(&mut segment.positions));
        index.base = Some(base);
        index.unchecked = true;
        drop((obsolete, index));
        disk.sync_directory(&self.directory)
    }

    /// Deletes segments that a compacted one has replaced, oldest first, unless they are being read. Stops at the first
    /// that cannot be deleted: the files of a damaged store move to the quarantine, where a note must not be found
    /// without its deletion.
    pub(crate) fn delete_obsolete(&self, disk: &dyn Disk) {
        let replaced = self.obsolete.lock().clone();
        // The directory entry of the replacing segment must be durable first. Readers do not wait for that.
        if replaced.is_empty() || disk.sync_directory(&self.directory).is_err() {
            return;
        }
        // Readers take their hold while they have the lock of the index.
        let _index = self.index.write();
        if Arc::strong_count(&self.hold) > 1 {
            return;
        }
        let mut has_failed = false;
        self.obsolete.lock().retain(|number| {
            if has_failed || !replaced.contains(number) {
                return true;
            }
            let path = segment_path(&self.directory, *number);
            let removed = remove(&path);
            if let Err(error) = &removed {
                tracing::debug!("`{}` cannot be deleted yet: {error}", path.display());
            }
            has_failed = removed.is_err();
            has_failed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::log::{LogIndex, inspect};
    use poc_graph::Tenant;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn base(seq: u64) -> LogBase {
        LogBase { seq, at: Timestamp(1), origin: [1; 16] }
    }

    /// A segment with a state after transaction `last`, which takes the transactions from `first` on.
    fn segment(directory: &Path, first: u64, last: u64) -> CompactedSegment {
        let mut segment = CompactedSegment::create(directory, &SystemDisk, first).unwrap();
        for seq in first..=last {
            let mut txn = LoggedTransaction::state(seq, Tenant::default(), &base(last), Vec::new());
            txn.base = (seq == first).then_some(base(last));
            segment.add(&frame(seq, &txn.encode().unwrap()).0).unwrap();
        }
        segment.finish(&mut |_| Ok(())).unwrap();
        segment
    }

    /// A state that has grown takes more transactions than the one before it.
    #[test]
    fn the_segment_with_the_latest_base_counts_whatever_its_number() {
        let folder = poc_graph::testing::folder();
        let expected = [(8, 9, 9), (5, 12, 12), (11, 14, 14), (10, 13, 14)];
        for (first, last, latest) in expected {
            segment(folder.path(), first, last).partial.publish(first, &SystemDisk).unwrap();
            let (log, end) = inspect(folder.path(), true).unwrap();
            assert!(end.is_none());
            assert_eq!((log.base_seq(), log.last()), (latest, latest), "{first} to {last}");
        }
    }

    #[test]
    fn a_segment_with_the_name_of_a_replaced_one_is_not_deleted() {
        let folder = poc_graph::testing::folder();
        let replaced = segment_path(folder.path(), 5);
        fs::write(&replaced, "old").unwrap();
        let log = Log::new(folder.path(), LogIndex::default(), vec![5]);
        let mut new = segment(folder.path(), 5, 8);
        let reader = log.snapshot();
        let error = log.replace_beginning(&mut new, base(8), &SystemDisk).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(fs::read(&replaced).unwrap(), b"old");
        drop(reader);
        log.replace_beginning(&mut new, base(8), &SystemDisk).unwrap();
        log.delete_obsolete(&SystemDisk);
        let (log, end) = inspect(folder.path(), true).unwrap();
        assert!(end.is_none());
        assert_eq!((log.base_seq(), log.last()), (8, 8));
    }

    #[test]
    fn a_replaced_segment_is_deleted_only_after_the_older_ones() {
        let folder = poc_graph::testing::folder();
        let [older, newer] = [1, 2].map(|first| segment_path(folder.path(), first));
        // A file cannot be deleted where a folder has its name.
        fs::create_dir(&older).unwrap();
        fs::write(&newer, "old").unwrap();
        let log = Log::new(folder.path(), LogIndex::default(), vec![1, 2]);
        log.delete_obsolete(&SystemDisk);
        assert!(newer.exists());
        fs::remove_dir(&older).unwrap();
        log.delete_obsolete(&SystemDisk);
        assert!(!newer.exists());
    }

    /// A disk whose syncs of directories check that readers of a log need not wait.
    struct WatchedDisk<'a> {
        log: &'a Log,
        synced: AtomicUsize,
    }

    impl Disk for WatchedDisk<'_> {
        fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
            SystemDisk.create(path)
        }

        fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
            SystemDisk.append(path)
        }

        fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
            SystemDisk.truncate(path, length)
        }

        fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
            SystemDisk.overwrite(path, offset, bytes)
        }

        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            assert!(self.log.index.try_read().is_some(), "a reader would wait");
            self.synced.fetch_add(1, Ordering::SeqCst);
            SystemDisk.sync_directory(path)
        }

        fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()> {
            SystemDisk.allocate(path, bytes)
        }
    }

    #[test]
    fn readers_do_not_wait_for_syncs_before_replaced_segments_are_deleted() {
        let folder = poc_graph::testing::folder();
        let replaced = segment_path(folder.path(), 1);
        fs::write(&replaced, "old").unwrap();
        let log = Log::new(folder.path(), LogIndex::default(), vec![1]);
        let disk = WatchedDisk { log: &log, synced: AtomicUsize::new(0) };
        log.delete_obsolete(&disk);
        assert_eq!((disk.synced.load(Ordering::SeqCst), replaced.exists()), (1, false));
    }
}
