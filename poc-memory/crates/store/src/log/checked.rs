//! Which segments earlier opens have checked, so that opening need not read all of the log.
//!
//! Only a segment that is followed by another is in here: it is never written again. It counts as
//! checked while its file has the length and the time of last change it had, and that time is well
//! before the file that says so was written; anything else is read again. Damage that changes
//! neither is found when the records are read.

use super::{Index, Place, Segment, changed, segment_path};
use crate::atomic_file::{self, Fingerprint};
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A change within this time before is perhaps not to be seen in the time of a file's last change.
const RACY: Duration = Duration::from_secs(1);

/// A checked segment.
#[derive(Serialize, Deserialize)]
pub(super) struct Checked {
    first: u64,
    last: u64,
    bytes: u64,
    changed: SystemTime,
    // Sequence number and offset.
    places: Vec<(u64, u64)>,
}

impl Checked {
    /// Enters the segment as one whose records have been read.
    pub(super) fn enter(self, index: &mut Index) {
        let segment = self.first;
        let place = |(seq, offset)| Place { seq, segment, offset };
        index.places.extend(self.places.into_iter().map(place));
        index.segments.push(Segment { first: segment, bytes: self.bytes, changed: Some(self.changed) });
        index.last = self.last;
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("checked")
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("checked segments 1")
}

/// The segments that need not be read, by their first sequence number.
pub(super) fn read(directory: &Path) -> BTreeMap<u64, Checked> {
    let told = || {
        let (_, bytes) = atomic_file::read(&file(directory), fingerprint())?;
        let written = changed(&file(directory))?;
        let checked: Vec<Checked> = postcard::from_bytes(&bytes).ok()?;
        let unchanged = |checked: &Checked| {
            let path = segment_path(directory, checked.first);
            let as_it_was =
                changed(&path)? == checked.changed && fs::metadata(&path).ok()?.len() == checked.bytes;
            Some(as_it_was && written.duration_since(checked.changed).ok()? > RACY)
        };
        let kept = checked.into_iter().filter(|checked| unchanged(checked).unwrap_or(false));
        Some(kept.map(|checked| (checked.first, checked)).collect())
    };
    told().unwrap_or_default()
}

/// Writes down that every complete segment has been checked.
pub(super) fn write(directory: &Path, index: &Index) -> Result<()> {
    let places = |of: &Segment| {
        let places = index.places.iter().filter(|place| place.segment == of.first);
        places.map(|place| (place.seq, place.offset)).collect()
    };
    let complete = index.segments.iter().zip(index.segments.iter().skip(1));
    let checked: Vec<Checked> = complete
        .filter_map(|(segment, next)| {
            Some(Checked {
                first: segment.first,
                last: next.first - 1,
                bytes: segment.bytes,
                changed: segment.changed?,
                places: places(segment),
            })
        })
        .collect();
    let bytes = postcard::to_allocvec(&checked)
        .map_err(|error| Error::internal(format!("the checked segments cannot be encoded: {error}")))?;
    atomic_file::write(&file(directory), fingerprint(), index.last, &[&bytes])
}

/// Forgets all of it: the next open reads every record.
pub(super) fn forget(directory: &Path) {
    // What cannot be removed only costs the next open what this one has found.
    let _ = fs::remove_file(file(directory));
}
