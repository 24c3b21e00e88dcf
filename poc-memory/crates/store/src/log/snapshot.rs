//! The log as a set of files: what a copy of it must contain, and whether a copied segment is intact.
//!
//! Records are only appended, and the index has only complete records. A copy of every segment up to its length in the
//! index is therefore the log as of one transaction, even if records are appended during the copy.

use super::segment::{FORMAT, HEADER, Header, NextRecord, SegmentReader};
use super::{Log, LogError, segment_path, unreadable};
use crate::logged_transaction::LoggedTransaction;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of the log as of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSnapshot {
    /// The sequence number of the last transaction; 0 for an empty log.
    pub seq: u64,
    /// The sequence number of the last transaction that a compaction has deleted; 0 if there is none.
    pub base: u64,
    /// The segments in order. All but the last one are complete and never change.
    pub segments: Vec<SegmentExtent>,
    /// Prevents the deletion of the files.
    _hold: Arc<()>,
}

/// The part of a segment that belongs to a [`LogSnapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentExtent {
    /// The path of the file.
    pub path: PathBuf,
    /// The first sequence number, which is also the name of the file.
    pub first: u64,
    /// The last sequence number; `first - 1` if there is no record.
    pub last: u64,
    /// The offset of the end of the last record, in bytes.
    pub bytes: u64,
}

/// The result of checking a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Every record is intact.
    Intact {
        /// The last sequence number that was checked; `first - 1` if there is no record.
        last: u64,
        /// The offset of the end of that record, in bytes.
        bytes: u64,
        /// The checksum of that record; 0 if there is none.
        checksum: u32,
    },
    /// The segment is damaged.
    Damaged {
        /// The offset of the first byte that is not part of a valid header or record.
        offset: u64,
    },
}

impl Log {
    /// The segments with their lengths as of the last record in the index.
    pub(crate) fn snapshot(&self) -> LogSnapshot {
        let index = self.index.read();
        let ends = index.segments.iter().skip(1).map(|next| next.first - 1).chain([index.last]);
        let segments = index.segments.iter().zip(ends).map(|(segment, last)| SegmentExtent {
            path: segment_path(&self.directory, segment.first),
            first: segment.first,
            last,
            bytes: segment.bytes,
        });
        let base = index.base.map_or(0, |base| base.seq);
        LogSnapshot { seq: index.last, base, segments: segments.collect(), _hold: self.hold.clone() }
    }
}

/// Reads a segment and checks its header, checksums and sequence numbers up to the record `last`, or up to the end of a
/// shorter file.
///
/// # Errors
/// `conflict` if a newer release wrote the segment, and `unavailable` if the file cannot be read.
pub fn check_segment(path: &Path, first: u64, last: u64) -> Result<SegmentState> {
    check_segment_with(path, first, last, &mut |_| Ok(()))
}

/// Like [`check_segment`], and calls `each` with the number of every record. An error of `each` ends the check.
pub(crate) fn check_segment_with(
    path: &Path,
    first: u64,
    last: u64,
    each: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<SegmentState> {
    let mut state = SegmentState::Intact { last: first.saturating_sub(1), bytes: HEADER as u64, checksum: 0 };
    let damaged = each_record(path, first, last, &mut |record| {
        state = SegmentState::Intact { last: record.seq, bytes: record.end, checksum: record.checksum };
        each(record.seq)
    })?;
    Ok(damaged.map_or(state, |offset| SegmentState::Damaged { offset }))
}

/// Calls `each` with the transactions of a segment, in order. Returns the byte offset of the first damage, if there is
/// any; nothing after it is read.
///
/// # Errors
/// Those of [`check_segment`] and of `each`.
pub fn each_transaction_of_segment(
    path: &Path,
    first: u64,
    each: &mut dyn FnMut(LoggedTransaction) -> Result<()>,
) -> Result<Option<u64>> {
    each_record(path, first, u64::MAX, &mut |record| each(LoggedTransaction::decode(&record.payload)?))
}

/// The last transaction of a segment that was made at or before a time; `None` if it has none.
///
/// # Errors
/// Those of [`check_segment`], and `damaged` if the segment is damaged.
pub fn last_transaction_before(path: &Path, first: u64, at: Timestamp) -> Result<Option<u64>> {
    let mut found = None;
    let damaged = each_record(path, first, u64::MAX, &mut |record| {
        let txn = LoggedTransaction::decode(&record.payload)?;
        if let Some(base) = txn.base {
            // All transactions that make up a state count as one.
            found = (base.at <= at).then_some(base.seq);
        } else if !txn.is_state() && txn.cause.at <= at {
            found = Some(record.seq);
        }
        Ok(())
    })?;
    match damaged {
        Some(offset) => Err(LogError::Damaged { path: path.to_owned(), offset }.into()),
        None => Ok(found),
    }
}

/// An intact record of a segment.
struct IntactRecord {
    seq: u64,
    checksum: u32,
    /// The offset of the first byte after the record.
    end: u64,
    payload: Vec<u8>,
}

/// Calls `each` with the records up to `last`. Returns the byte offset of the first damage, if there is any.
fn each_record(
    path: &Path,
    first: u64,
    last: u64,
    each: &mut dyn FnMut(IntactRecord) -> Result<()>,
) -> Result<Option<u64>> {
    match Header::read(path).map_err(|error| unreadable(path, error))? {
        Some(header) if header.format > FORMAT => return Err(LogError::NewerFormat(header.format).into()),
        Some(header) if header.first == first => {}
        _ => return Ok(Some(0)),
    }
    let mut reader = SegmentReader::open(path, HEADER as u64).map_err(|error| unreadable(path, error))?;
    let mut expected = first;
    while expected <= last {
        let offset = reader.offset();
        match reader.next(true).map_err(|error| unreadable(path, error))? {
            NextRecord::Record { seq, checksum, payload } if seq == expected => {
                each(IntactRecord { seq, checksum, end: reader.offset(), payload })?;
                expected += 1;
            }
            NextRecord::End => break,
            NextRecord::Record { .. } | NextRecord::Damaged => return Ok(Some(offset)),
        }
    }
    Ok(None)
}
