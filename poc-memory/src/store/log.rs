//! The log: every transaction in order, in append-only segments. It is the truth; whatever else
//! the store holds can be rebuilt from it.
//!
//! Why not raft-engine, the log engine of TiKV: its recovery modes refuse to open, cut only the
//! tail, or skip what is damaged in the middle and so guess over it; none keeps the longest valid
//! prefix and puts the rest aside with its place and count. It also keeps an index of every entry
//! in memory and brings protobuf and prometheus along. What is left to write is this folder.

mod append;
mod recover;
mod segment;

pub(super) use append::{Appender, Limits};
pub(super) use recover::{check_format, recover};
pub(super) use segment::{MAX_RECORD, frame};

use super::Txn;
use crate::error::{Error, Result};
use parking_lot::RwLock;
use segment::{Next, SegmentReader};
use std::path::{Path, PathBuf};

/// Records from one remembered place to the next.
const STRIDE: u64 = 64;

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    seq: u64,
    /// First sequence number of its segment, which names the file.
    segment: u64,
    /// Byte in the file.
    offset: u64,
}

/// What is known about the log without reading it: where every [`STRIDE`]th record is.
#[derive(Clone, Debug, Default)]
struct Index {
    /// First sequence numbers of the segments, ascending.
    segments: Vec<u64>,
    places: Vec<Place>,
    /// Sequence number of the last record; 0 when there is none.
    last: u64,
    /// Bytes of all segments.
    bytes: u64,
}

impl Index {
    fn started_segment(&mut self, first: u64) {
        self.segments.push(first);
        self.bytes += segment::HEADER as u64;
    }

    fn added(&mut self, place: Place, length: u64) {
        let starts_segment = self.places.last().is_none_or(|last| last.segment != place.segment);
        if starts_segment || place.seq.is_multiple_of(STRIDE) {
            self.places.push(place);
        }
        self.last = place.seq;
        self.bytes += length;
    }
}

/// The reading side of the log, shared by all who read.
pub(super) struct Log {
    directory: PathBuf,
    index: RwLock<Index>,
}

impl Log {
    /// Sequence number of the last durable record; 0 when there is none.
    pub(super) fn last(&self) -> u64 {
        self.index.read().last
    }

    /// Sequence number of the first record it holds; 0 when there is none.
    pub(super) fn first(&self) -> u64 {
        self.index.read().places.first().map_or(0, |place| place.seq)
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.index.read().bytes
    }

    /// One transaction and the checksum of its record; `None` when the log does not hold it.
    pub(super) fn read(&self, seq: u64) -> Result<Option<(Txn, u32)>> {
        let mut found = None;
        self.replay(seq, seq, &mut |txn, checksum| {
            found = Some((txn, checksum));
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with the transactions from `first` to `last` that the log holds, in order,
    /// and the checksums of their records, until it fails.
    pub(super) fn replay(
        &self,
        first: u64,
        last: u64,
        each: &mut dyn FnMut(Txn, u32) -> Result<()>,
    ) -> Result<()> {
        let (start, later, last) = {
            let index = self.index.read();
            let found = index.places.partition_point(|place| place.seq <= first.max(1));
            let Some(start) = found.checked_sub(1).and_then(|at| index.places.get(at)).copied() else {
                return Ok(());
            };
            let later: Vec<u64> =
                index.segments.iter().copied().filter(|&segment| segment > start.segment).collect();
            (start, later, last.min(index.last))
        };
        let mut expected = start.seq;
        let places = std::iter::once((start.segment, start.offset))
            .chain(later.into_iter().map(|segment| (segment, segment::HEADER as u64)));
        for (number, offset) in places {
            if expected > last {
                break;
            }
            let path = segment_path(&self.directory, number);
            let mut reader = SegmentReader::open(&path, offset).map_err(|error| unreadable(&path, &error))?;
            while expected <= last {
                let offset = reader.offset();
                match reader.next(expected >= first).map_err(|error| unreadable(&path, &error))? {
                    Next::Record { seq, checksum, payload } if seq == expected => {
                        if seq >= first {
                            let txn = Txn::decode(&payload)?;
                            if txn.seq != seq {
                                return Err(damaged(&path, offset));
                            }
                            each(txn, checksum)?;
                        }
                        expected += 1;
                    }
                    Next::End => break,
                    Next::Record { .. } | Next::Damaged => return Err(damaged(&path, offset)),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Log {
    /// Forgets the segments in front of the one that holds a record, as if they had been dropped.
    pub(super) fn forget_before(&self, seq: u64) {
        let mut index = self.index.write();
        let kept = index.segments.partition_point(|&first| first <= seq).saturating_sub(1);
        index.segments.drain(..kept);
        let first = index.segments.first().copied().unwrap_or(0);
        index.places.retain(|place| place.segment >= first);
    }
}

fn segment_path(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("{first:020}.log"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::internal(format!("the log's segment `{}` cannot be read: {error}", path.display()))
}

fn damaged(path: &Path, offset: u64) -> Error {
    Error::internal(format!("the log's segment `{}` is damaged at byte {offset}", path.display()))
        .hint("open the store again: what is whole is kept, the rest is put into `quarantine/`")
}
