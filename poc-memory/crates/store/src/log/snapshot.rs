//! The log as files: what a copy of it must contain, and whether a copied segment is whole.
//!
//! Records are only appended, and the index knows only records that are synced. A copy of every segment up to the
//! length in the index is therefore the log at one transaction, whatever is appended meanwhile.

use super::segment::{FORMAT, HEADER, Header, NextRecord, SegmentReader};
use super::{Log, LogError, segment_path, unreadable};
use crate::logged_transaction::LoggedTransaction;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The log up to one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSnapshot {
    /// Sequence number of the last durable transaction; 0 when there is none.
    pub seq: u64,
    /// Number of the last transaction that a compaction has dropped; 0 when there is none.
    pub base: u64,
    /// Its segments in order. All but the last are complete and never change.
    pub segments: Vec<SegmentExtent>,
    /// Keeps the files from being deleted.
    _hold: Arc<()>,
}

/// The part of a segment that belongs to a [`LogSnapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentExtent {
    /// The file.
    pub path: PathBuf,
    /// First sequence number, which names the file.
    pub first: u64,
    /// Last sequence number; `first - 1` when it has no record.
    pub last: u64,
    /// Bytes up to the end of the last record, counted from the beginning of the file.
    pub bytes: u64,
}

/// The result of checking a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Every record is whole.
    Whole {
        /// The last sequence number that was checked; `first - 1` when there is no record.
        last: u64,
        /// Bytes up to the end of that record.
        bytes: u64,
        /// The checksum of that record; 0 when there is none.
        checksum: u32,
    },
    /// The first byte that is not part of a valid header or record.
    Damaged {
        /// Counted from the beginning of the file.
        offset: u64,
    },
}

impl Log {
    /// The segments and their lengths as of the last durable record.
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

/// Reads a segment and checks header, checksums and sequence numbers up to the record `last`, or up to the end of the
/// file if it ends earlier.
///
/// # Errors
/// `conflict` when a newer release wrote the segment, `internal` when the file cannot be read.
pub fn check_segment(path: &Path, first: u64, last: u64) -> Result<SegmentState> {
    check_segment_with(path, first, last, &mut |_| Ok(()))
}

/// The same, calling `each` with the number of every record. An error of it ends the check.
pub(crate) fn check_segment_with(
    path: &Path,
    first: u64,
    last: u64,
    each: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<SegmentState> {
    let mut state = SegmentState::Whole { last: first.saturating_sub(1), bytes: HEADER as u64, checksum: 0 };
    let damaged = each_record(path, first, last, &mut |record| {
        state = SegmentState::Whole { last: record.seq, bytes: record.end, checksum: record.checksum };
        each(record.seq)
    })?;
    Ok(damaged.map_or(state, |offset| SegmentState::Damaged { offset }))
}

/// Calls `each` with the transactions of a segment, in order. Returns the byte offset of the first damage, if any; nothing
/// after it is read.
///
/// # Errors
/// As [`check_segment`], and those of `each`.
pub fn each_transaction_of_segment(
    path: &Path,
    first: u64,
    each: &mut dyn FnMut(LoggedTransaction) -> Result<()>,
) -> Result<Option<u64>> {
    each_record(path, first, u64::MAX, &mut |record| each(LoggedTransaction::decode(&record.payload)?))
}

/// The last transaction of a segment that was made at or before a time; `None` when it has none.
///
/// # Errors
/// As [`check_segment`], and `internal` when the segment is damaged.
pub fn last_transaction_before(path: &Path, first: u64, at: Timestamp) -> Result<Option<u64>> {
    let mut found = None;
    let damaged = each_record(path, first, u64::MAX, &mut |record| {
        let txn = LoggedTransaction::decode(&record.payload)?;
        if let Some(base) = txn.base {
            // The parts of a state are one transaction.
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

/// A whole record of a segment.
struct WholeRecord {
    seq: u64,
    checksum: u32,
    /// The byte after it.
    end: u64,
    payload: Vec<u8>,
}

/// Calls `each` with the records up to `last`. Returns the offset of the first damage, if any.
fn each_record(
    path: &Path,
    first: u64,
    last: u64,
    each: &mut dyn FnMut(WholeRecord) -> Result<()>,
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
                each(WholeRecord { seq, checksum, end: reader.offset(), payload })?;
                expected += 1;
            }
            NextRecord::End => break,
            NextRecord::Record { .. } | NextRecord::Damaged => return Ok(Some(offset)),
        }
    }
    Ok(None)
}
