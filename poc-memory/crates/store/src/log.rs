//! The log: every transaction in order, in append-only segments. Everything else in the store can be rebuilt from it.
//!
//! raft-engine, the log engine of TiKV, is not used, because its recovery modes refuse to open, truncate only the tail,
//! or skip damage in the middle; none keeps the longest valid prefix and sets the rest aside with its position and
//! count. It also keeps an index of every entry in memory and depends on protobuf and prometheus.

mod append;
mod checked_segments;
mod compacted_segment;
mod error;
mod inspect;
mod salvage;
mod segment;
mod snapshot;
mod synced;

pub(super) use append::{Appender, ChangedLog, LogLimits};
pub(super) use compacted_segment::{CompactedSegment, PARTIAL as PARTIAL_SEGMENT, PartialSegment};
pub(super) use error::LogError;
pub(super) use inspect::{PrefixEnd, check_format, inspect, remove_segments};
pub(super) use salvage::salvage;
pub(super) use segment::{FRAME, frame, intact_records, integrity};
pub(super) use snapshot::check_segment_with;
pub use snapshot::{
    LogSnapshot, SegmentExtent, SegmentState, check_segment, each_transaction_of_segment,
    last_transaction_before,
};
pub(super) use synced::SyncedLog;

use super::LoggedTransaction;
use super::logged_transaction::LogBase;
use super::transaction_range::TransactionRange;
use parking_lot::{Mutex, RwLock};
use poc_graph::error::{Error, Result};
use segment::{NextRecord, SegmentReader};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use synced::SyncState;

/// Number of records between two positions in the sparse index.
const STRIDE: u64 = 64;

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordPosition {
    seq: u64,
    /// The first sequence number of the segment, which is also the name of its file.
    segment: u64,
    /// The byte offset in the file.
    offset: u64,
}

/// The sparse index of the log: its segments and the position of every [`STRIDE`]th record.
#[derive(Clone, Debug, Default)]
struct LogIndex {
    /// The segments in ascending order.
    segments: Vec<Segment>,
    positions: Vec<RecordPosition>,
    /// The sequence number of the last record; 0 for an empty log.
    last: u64,
    /// Whether a complete segment is not yet saved as checked.
    unchecked: bool,
    /// Where the history begins, if a state has replaced its beginning.
    base: Option<LogBase>,
    /// The intact parts of a damaged log, ascending. `None` for an undamaged log.
    intact: Option<Vec<TransactionRange>>,
}

/// A file of the log.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The first sequence number, which is also the name of the file.
    first: u64,
    bytes: u64,
    /// The modification time of a complete segment's file, if known.
    changed: Option<SystemTime>,
}

impl LogIndex {
    fn start_segment(&mut self, first: u64) {
        self.segments.push(Segment { first, bytes: segment::HEADER as u64, changed: None });
    }

    /// Completes the last segment. `changed` is the modification time of its file, if known.
    fn complete_segment(&mut self, changed: Option<SystemTime>) {
        if let Some(segment) = self.segments.last_mut() {
            segment.changed = changed;
            self.unchecked = true;
        }
    }

    fn add_record(&mut self, position: RecordPosition, length: u64) {
        let starts_segment = self.positions.last().is_none_or(|last| last.segment != position.segment);
        if starts_segment || position.seq.is_multiple_of(STRIDE) {
            self.positions.push(position);
        }
        self.last = position.seq;
        if let Some(segment) = self.segments.last_mut() {
            segment.bytes += length;
        }
    }

    /// The parts of a range of sequence numbers that the log has.
    fn parts(&self, first: u64, last: u64) -> Vec<TransactionRange> {
        let Some(range) = TransactionRange::new(first, last) else { return Vec::new() };
        let whole = TransactionRange::new(self.first(), self.last);
        let intact = self.intact.as_deref().unwrap_or(whole.as_slice());
        intact.iter().filter_map(|part| part.intersection(range)).collect()
    }

    /// The sequence number of the first record; 1 for an empty log.
    fn first(&self) -> u64 {
        self.positions.first().map_or(1, |position| position.seq)
    }

    /// The last remembered position at or before a record.
    fn locate(&self, seq: u64) -> Option<RecordPosition> {
        let found = self.positions.partition_point(|position| position.seq <= seq);
        found.checked_sub(1).and_then(|at| self.positions.get(at)).copied()
    }
}

/// The reading side of the log, which all readers share.
pub(super) struct Log {
    directory: PathBuf,
    index: RwLock<LogIndex>,
    /// Whether no file may be changed, because the log is damaged.
    read_only: bool,
    /// Which records are on disk.
    synced: SyncState,
    /// Segments that a compacted one has replaced and that are not yet deleted.
    obsolete: Mutex<Vec<u64>>,
    /// Readers of segments hold a clone, which prevents the deletion of segments while they read.
    hold: Arc<()>,
}

impl Log {
    /// An empty log in a directory without segments.
    pub(super) fn empty(directory: &Path) -> Log {
        Log::new(directory, LogIndex::default(), Vec::new())
    }

    fn new(directory: &Path, index: LogIndex, obsolete: Vec<u64>) -> Log {
        Log {
            directory: directory.to_owned(),
            index: RwLock::new(index),
            read_only: false,
            synced: SyncState::default(),
            obsolete: Mutex::new(obsolete),
            hold: Arc::default(),
        }
    }

    /// The sequence number of the last record; 0 for an empty log.
    pub(super) fn last(&self) -> u64 {
        self.index.read().last
    }

    /// The first sequence number from which on the log has every transaction with its before-images; 0 if it never had
    /// any.
    pub(super) fn first(&self) -> u64 {
        let index = self.index.read();
        let Some(intact) = &index.intact else {
            let first = || index.positions.first().map_or(0, |position| position.seq);
            return index.base.map_or_else(first, |base| base.seq + 1);
        };
        let mut first = index.last + 1;
        for part in intact.iter().rev() {
            if part.last + 1 == first {
                first = part.first;
            }
        }
        first
    }

    /// Whether the log has an intact record for every sequence number from `first` to `last`.
    pub(super) fn contains_all(&self, first: u64, last: u64) -> bool {
        let count: u64 = self.index.read().parts(first, last).iter().map(|part| part.count()).sum();
        count == (last + 1).saturating_sub(first)
    }

    /// The ranges of transactions up to the last one that a damaged log lacks, ascending.
    pub(super) fn missing(&self) -> Vec<TransactionRange> {
        let index = self.index.read();
        let Some(intact) = &index.intact else { return Vec::new() };
        let mut missing = Vec::new();
        let mut next = if index.base.is_some() { index.first() } else { 1 };
        for part in intact.iter().copied().chain([TransactionRange::one(index.last + 1)]) {
            missing.extend(part.first.checked_sub(1).and_then(|before| TransactionRange::new(next, before)));
            next = part.last + 1;
        }
        missing
    }

    /// The size on disk, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.index.read().segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Describes the first segment that is missing or has become shorter since it was read or written; `None` if all
    /// are complete. Only the lengths of the files are read.
    pub(super) fn lost_bytes(&self) -> Option<String> {
        // A compaction replaces files while it holds the write lock.
        let index = self.index.read();
        index.segments.iter().find_map(|segment| {
            let path = segment_path(&self.directory, segment.first);
            match std::fs::metadata(&path) {
                Ok(found) if found.len() >= segment.bytes => None,
                Ok(found) => Some(changed_length(&path, found.len(), segment.bytes)),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    Some(missing_file(&path))
                }
                Err(_) => None,
            }
        })
    }

    /// An estimate of the size of the records after `seq`, in bytes. It assumes that all records after the last
    /// remembered position have the same length.
    pub(super) fn bytes_after(&self, seq: u64) -> u64 {
        let index = self.index.read();
        let Some(position) = index.locate(seq) else { return 0 };
        let later = index.segments.iter().filter(|segment| segment.first >= position.segment);
        let bytes = later.map(|segment| segment.bytes).sum::<u64>().saturating_sub(position.offset);
        let records = index.last - position.seq + 1;
        bytes / records * index.last.saturating_sub(seq)
    }

    /// Saves which segments need not be read at the next open, if this has changed.
    pub(super) fn save_checked(&self, _: &SyncedLog<'_>) -> Result<()> {
        let index = {
            let mut index = self.index.write();
            if !std::mem::take(&mut index.unchecked) {
                return Ok(());
            }
            index.clone()
        };
        let written = checked_segments::write(&self.directory, &index);
        self.index.write().unchecked |= written.is_err();
        written
    }

    /// The encoded transaction with a sequence number; `None` if the log does not have it.
    pub(super) fn read_payload(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.replay_payloads(seq, seq, &mut |_, payload, _| {
            found = Some(payload);
            Ok(true)
        })?;
        Ok(found)
    }

    /// The transaction with a sequence number, and the checksum of its record; `None` if the log does not have it.
    pub(super) fn read(&self, seq: u64) -> Result<Option<(LoggedTransaction, u32)>> {
        let mut found = None;
        self.replay(seq, seq, &mut |txn, checksum| {
            found = Some((txn, checksum));
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with the transactions from `first` to `last` that the log has, in order, and with the checksums of
    /// their records, until a call fails.
    pub(super) fn replay(
        &self,
        first: u64,
        last: u64,
        each: &mut dyn FnMut(LoggedTransaction, u32) -> Result<()>,
    ) -> Result<()> {
        self.replay_payloads(first, last, &mut |seq, payload, checksum| {
            let txn = LoggedTransaction::decode(&payload)?;
            let is_its_own = txn.seq == seq;
            if is_its_own {
                each(txn, checksum)?;
            }
            Ok(is_its_own)
        })
    }

    /// Calls `each` with the sequence number, the encoded transaction and the checksum of the records from `first` to
    /// `last` that the log has. `each` returns whether the transaction has that number.
    pub(super) fn replay_payloads(
        &self,
        first: u64,
        last: u64,
        each: &mut dyn FnMut(u64, Vec<u8>, u32) -> Result<bool>,
    ) -> Result<()> {
        let parts = self.index.read().parts(first, last);
        parts.into_iter().try_for_each(|part| self.replay_part(part, each))
    }

    /// Like [`Log::replay_payloads`], for a range that the log has without gaps.
    fn replay_part(
        &self,
        TransactionRange { first, last }: TransactionRange,
        each: &mut dyn FnMut(u64, Vec<u8>, u32) -> Result<bool>,
    ) -> Result<()> {
        let (_hold, start, later, last) = {
            let index = self.index.read();
            // A compaction may have deleted the beginning of the range in the meantime.
            let Some(start) = index.locate(first.max(index.first())) else { return Ok(()) };
            let numbers = index.segments.iter().map(|segment| segment.first);
            let later: Vec<u64> = numbers.filter(|&segment| segment > start.segment).collect();
            (self.hold.clone(), start, later, last.min(index.last))
        };
        let mut expected = start.seq;
        let positions = std::iter::once((start.segment, start.offset))
            .chain(later.into_iter().map(|segment| (segment, segment::HEADER as u64)));
        for (number, offset) in positions {
            if expected > last {
                break;
            }
            let path = segment_path(&self.directory, number);
            let mut reader = SegmentReader::open(&path, offset).map_err(|error| unreadable(&path, error))?;
            while expected <= last {
                let offset = reader.offset();
                match reader.next(expected >= first).map_err(|error| unreadable(&path, error))? {
                    NextRecord::Record { seq, checksum, payload } if seq == expected => {
                        if seq >= first && !each(seq, payload, checksum)? {
                            return Err(self.damaged(&path, offset));
                        }
                        expected += 1;
                    }
                    NextRecord::End => break,
                    NextRecord::Record { .. } | NextRecord::Damaged => {
                        return Err(self.damaged(&path, offset));
                    }
                }
            }
        }
        // Another program may have cut off the end of the last segment.
        if expected <= last { Err(LogError::Missing(expected).into()) } else { Ok(()) }
    }

    /// Reads and checks every record.
    pub(super) fn verify(&self) -> Result<()> {
        self.replay_payloads(1, self.last(), &mut |seq, payload, _| {
            Ok(LoggedTransaction::decode(&payload)?.seq == seq)
        })
    }

    /// Makes the next open check every record.
    pub(super) fn forget_checked(&self) {
        if self.read_only {
            return;
        }
        // A segment without a modification time is not saved as checked.
        self.index.write().segments.iter_mut().for_each(|segment| segment.changed = None);
        checked_segments::forget(&self.directory);
    }

    /// The error for a damaged record. As a side effect, the next open checks every record.
    fn damaged(&self, path: &Path, offset: u64) -> Error {
        self.forget_checked();
        LogError::Damaged { path: path.to_owned(), offset }.into()
    }
}

#[cfg(test)]
impl Log {
    /// Drops the segments before the one that contains record `seq` from the index.
    pub(super) fn forget_before(&self, seq: u64) {
        let mut index = self.index.write();
        let kept = index.segments.partition_point(|segment| segment.first <= seq).saturating_sub(1);
        index.segments.drain(..kept);
        let first = index.segments.first().map_or(0, |segment| segment.first);
        index.positions.retain(|position| position.segment >= first);
    }
}

/// The modification time of a file; `None` if it is unknown.
fn modified_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

fn segment_path(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("{first:020}.log"))
}

/// The description of a file that the store created and that is missing.
fn missing_file(path: &Path) -> String {
    format!("`{}` was deleted or moved", path.display())
}

/// The description of a file whose length is not the one that the store has given it.
fn changed_length(path: &Path, found: u64, expected: u64) -> String {
    format!("`{}` has {found} bytes instead of {expected}", path.display())
}

fn unreadable(path: &Path, source: std::io::Error) -> LogError {
    LogError::Unreadable { path: path.to_owned(), source }
}
