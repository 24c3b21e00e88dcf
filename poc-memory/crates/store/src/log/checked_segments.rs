//! Saves a list of the segments that earlier opens have checked, so that an open need not read the whole log.
//!
//! The list contains only complete segments, because these are never written again. A segment counts as checked if its
//! file has the same length and modification time, and that time is well before the list was written. Otherwise it is
//! read again. Damage that changes neither is found when the records are read.

use super::{LogIndex, RecordPosition, Segment, modified_at, segment_path};
use crate::atomic_file::{self, Fingerprint};
use crate::encoding_error::EncodingError;
use crate::logged_transaction::LogBase;
use poc_graph::error::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that is changed again within this time may keep its modification time.
const MTIME_GRANULARITY: Duration = Duration::from_secs(1);

/// The entry for a checked segment.
#[derive(Serialize, Deserialize)]
pub(super) struct CheckedSegment {
    /// The first and the last sequence number.
    first: u64,
    last: u64,
    /// The length of the file.
    bytes: u64,
    /// The modification time of the file.
    changed: SystemTime,
    // Pairs of sequence number and byte offset.
    positions: Vec<(u64, u64)>,
    /// The base, if this is a compacted segment.
    base: Option<LogBase>,
}

impl CheckedSegment {
    /// Whether the segment that begins with this number continues the index.
    pub(super) fn follows(&self, number: u64, index: &LogIndex) -> bool {
        number == index.last + 1 || self.base.is_some() && index.segments.is_empty()
    }

    /// Adds the segment to the index without reading it.
    pub(super) fn add_to(self, index: &mut LogIndex) {
        let segment = self.first;
        let position = |(seq, offset)| RecordPosition { seq, segment, offset };
        index.positions.extend(self.positions.into_iter().map(position));
        index.segments.push(Segment { first: segment, bytes: self.bytes, changed: Some(self.changed) });
        index.last = self.last;
        index.base = index.base.or(self.base);
    }
}

/// The path of the list.
fn list_path(directory: &Path) -> PathBuf {
    directory.join("checked")
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("checked segments 2")
}

/// The segments that need not be read, by their first sequence number.
pub(super) fn read(directory: &Path) -> BTreeMap<u64, CheckedSegment> {
    let valid = || {
        let (_, bytes) = atomic_file::read(&list_path(directory), fingerprint())?;
        let written = modified_at(&list_path(directory))?;
        let checked: Vec<CheckedSegment> = postcard::from_bytes(&bytes).ok()?;
        let unchanged = |checked: &CheckedSegment| {
            let path = segment_path(directory, checked.first);
            let is_same =
                modified_at(&path)? == checked.changed && fs::metadata(&path).ok()?.len() == checked.bytes;
            Some(is_same && written.duration_since(checked.changed).ok()? > MTIME_GRANULARITY)
        };
        let kept = checked.into_iter().filter(|checked| unchanged(checked).unwrap_or(false));
        Some(kept.map(|checked| (checked.first, checked)).collect())
    };
    valid().unwrap_or_default()
}

/// Saves the list of all complete segments, which must have been checked.
pub(super) fn write(directory: &Path, index: &LogIndex) -> Result<()> {
    let positions = |of: &Segment| {
        let positions = index.positions.iter().filter(|position| position.segment == of.first);
        positions.map(|position| (position.seq, position.offset)).collect()
    };
    let first = index.segments.first().map(|segment| segment.first);
    let complete = index.segments.iter().zip(index.segments.iter().skip(1));
    let checked: Vec<CheckedSegment> = complete
        .filter_map(|(segment, next)| {
            Some(CheckedSegment {
                first: segment.first,
                last: next.first - 1,
                bytes: segment.bytes,
                changed: segment.changed?,
                positions: positions(segment),
                base: index.base.filter(|_| Some(segment.first) == first),
            })
        })
        .collect();
    let bytes =
        postcard::to_allocvec(&checked).map_err(|error| EncodingError::new("the checked segments", error))?;
    atomic_file::write(&list_path(directory), fingerprint(), index.last, &[&bytes])
}

/// Deletes the list, so that the next open reads every record.
pub(super) fn forget(directory: &Path) {
    // If this fails, the next open trusts the list, and the damage is found again when the record is read.
    let _ = fs::remove_file(list_path(directory));
}
