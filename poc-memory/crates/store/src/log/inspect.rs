//! Opens the log. Every record is checked, except in segments that an earlier open has checked. An invalid end is moved
//! to the quarantine. Damage that intact records follow is left as it is; see [`salvage`].
//!
//! [`salvage`]: super::salvage

use super::checked_segments::{self, CheckedSegment};
use super::segment::{
    COMPACTED, FORMAT, HEADER, Header, NextRecord, SegmentReader, count_records, intact_records,
};
use super::{Log, LogError, LogIndex, RecordPosition, modified_at, segment_path, unreadable};
use crate::disk::{Disk, read_or_zero};
use crate::logged_transaction::LoggedTransaction;
use crate::quarantine::QuarantineFolder;
use poc_graph::error::Result;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Fails if a newer release wrote the log. Changes nothing.
pub(crate) fn check_format(directory: &Path) -> Result<()> {
    for first in segments(directory)? {
        let path = segment_path(directory, first);
        let header = Header::read(&path).map_err(|error| unreadable(&path, error))?;
        if let Some(header) = header.filter(|header| header.format > FORMAT) {
            return Err(LogError::NewerFormat(header.format).into());
        }
    }
    Ok(())
}

/// Reads the log in a directory. Returns its longest valid prefix, and where the prefix ends if something follows it.
/// With `all`, every record is checked, otherwise only those that no earlier open has checked. Changes nothing.
pub(crate) fn inspect(directory: &Path, all: bool) -> Result<(Log, Option<PrefixEnd>)> {
    let mut numbers = segments(directory)?;
    let mut obsolete: Vec<u64> = numbers.drain(..first_segment(directory, &numbers)).collect();
    let mut checked = if all { Default::default() } else { checked_segments::read(directory) };
    let mut index = LogIndex::default();
    let mut prefix_end = None;
    for (at, &number) in numbers.iter().enumerate() {
        if number <= index.last && index.base.is_some() && index.segments.len() == 1 {
            // The compacted segment has replaced this one.
            obsolete.push(number);
            continue;
        }
        let path = segment_path(directory, number);
        let is_last = at + 1 == numbers.len();
        let fits = |checked: &CheckedSegment| !is_last && checked.follows(number, &index);
        if let Some(checked) = checked.remove(&number).filter(fits) {
            checked.add_to(&mut index);
            continue;
        }
        // The time is read before the file, so that the next open notices a change during the scan.
        let changed = modified_at(&path);
        let valid = scan(&path, number, &mut index).map_err(|error| unreadable(&path, error))?;
        if let Some(offset) = valid {
            let later = numbers.get(at + 1..).unwrap_or_default().to_vec();
            let is_in_state =
                index.base.map_or(is_compacted(directory, number), |base| index.last < base.seq);
            let (directory, last) = (directory.to_owned(), index.last);
            prefix_end = Some(PrefixEnd { directory, number, offset, later, last, is_in_state });
            break;
        }
        if !is_last {
            index.complete_segment(changed);
        }
    }
    Ok((Log::new(directory, index, obsolete), prefix_end))
}

/// The index of the segment with which the log begins: the compacted one with the latest base, if there is any. A
/// compacted segment that a later one has replaced may still be there, and its number may be higher.
fn first_segment(directory: &Path, numbers: &[u64]) -> usize {
    let compacted = numbers.iter().enumerate().filter(|(_, number)| is_compacted(directory, **number));
    match compacted.collect::<Vec<_>>().as_slice() {
        [] => 0,
        [(only, _)] => *only,
        several => {
            let latest = several.iter().max_by_key(|(_, number)| base_of_segment(directory, **number));
            latest.map_or(0, |(at, _)| *at)
        }
    }
}

fn is_compacted(directory: &Path, number: u64) -> bool {
    let header = Header::read(&segment_path(directory, number)).ok().flatten();
    header.is_some_and(|header| header.format == COMPACTED)
}

/// The base of a compacted segment; `None` if it cannot be read.
fn base_of_segment(directory: &Path, number: u64) -> Option<u64> {
    let mut reader = SegmentReader::open(&segment_path(directory, number), HEADER as u64).ok()?;
    let NextRecord::Record { payload, .. } = reader.next(true).ok()? else { return None };
    Some(LoggedTransaction::decode(&payload).ok()?.base?.seq)
}

/// Deletes all segments of a log, the last one first, and the list of checked ones.
pub(crate) fn remove_segments(directory: &Path) -> io::Result<()> {
    checked_segments::forget(directory);
    let found = segments(directory).map_err(io::Error::other)?;
    found.into_iter().rev().try_for_each(|first| fs::remove_file(segment_path(directory, first)))
}

/// The first sequence numbers of all segments, from their file names, sorted.
fn segments(directory: &Path) -> Result<Vec<u64>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(directory, error).into()),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| unreadable(directory, error))?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(".log"));
        numbers
            .extend(digits.filter(|digits| digits.len() == 20).and_then(|digits| digits.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Checks one segment and adds its records to the index. Returns the byte offset of the first damage, if there is any.
fn scan(path: &Path, number: u64, index: &mut LogIndex) -> io::Result<Option<u64>> {
    let header = Header::read(path)?.filter(|header| header.first == number);
    // A compacted segment is valid only as the first segment of a log.
    let is_compacted =
        index.segments.is_empty() && header.is_some_and(|header| header.format == COMPACTED && number > 0);
    if is_compacted {
        index.last = number - 1;
    }
    if header.is_none() || number != index.last + 1 {
        return Ok(Some(0));
    }
    index.start_segment(number);
    let mut reader = SegmentReader::open(path, HEADER as u64)?;
    loop {
        let offset = reader.offset();
        match reader.next(true)? {
            NextRecord::Record { seq, payload, .. } if seq == index.last + 1 => {
                if is_compacted && index.base.is_none() {
                    index.base = LoggedTransaction::decode(&payload).ok().and_then(|txn| txn.base);
                    if index.base.is_none() {
                        return Ok(Some(offset));
                    }
                }
                index.add_record(RecordPosition { seq, segment: number, offset }, reader.offset() - offset);
            }
            NextRecord::End => return Ok(None),
            NextRecord::Record { .. } | NextRecord::Damaged => return Ok(Some(offset)),
        }
    }
}

/// Where the valid prefix of a log ends, if further bytes follow it.
pub(crate) struct PrefixEnd {
    pub(super) directory: PathBuf,
    /// The number of the segment in which the prefix ends.
    pub(super) number: u64,
    /// The byte offset in that segment; 0 if its header is invalid.
    pub(super) offset: u64,
    /// The numbers of the segments after it.
    pub(super) later: Vec<u64>,
    /// The sequence number of the last valid transaction.
    last: u64,
    /// Whether it ends within the state with which a compacted log begins.
    is_in_state: bool,
}

impl std::fmt::Display for PrefixEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.offset == 0 && self.number > self.last + 1 {
            return write!(f, "the log is interrupted before segment `{:020}.log`", self.number);
        }
        write!(f, "log segment `{:020}.log` is damaged at byte {}", self.number, self.offset)
    }
}

impl PrefixEnd {
    /// Whether intact, newer records follow the prefix.
    pub(crate) fn precedes_intact_records(&self) -> io::Result<bool> {
        if !intact_records(&self.readable_tail()?, self.last).is_empty() {
            return Ok(true);
        }
        for &segment in &self.later {
            let bytes = read_or_zero(&segment_path(&self.directory, segment), 0)?;
            if !intact_records(&bytes, self.last).is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the bytes after the prefix may never have been synced, if syncs are deferred: a segment is synced before
    /// the next one begins, its header before the first record, and a state before it becomes part of the log.
    pub(crate) fn may_be_unsynced(&self) -> bool {
        self.later.is_empty() && self.offset > 0 && !self.is_in_state
    }

    /// Whether the prefix ends within the state with which a compacted log begins, so that it is no state of the log.
    pub(crate) fn is_in_state(&self) -> bool {
        self.is_in_state
    }

    /// The bytes of the segment after the prefix. Parts that the disk cannot read become zeros.
    pub(super) fn readable_tail(&self) -> io::Result<Vec<u8>> {
        read_or_zero(&segment_path(&self.directory, self.number), self.offset)
    }

    /// The bytes of the segment after the prefix. Fails if the disk cannot read all of them.
    fn tail(&self) -> io::Result<Vec<u8>> {
        let mut tail = Vec::new();
        let mut file = File::open(segment_path(&self.directory, self.number))?;
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_to_end(&mut tail)?;
        Ok(tail)
    }

    /// Moves everything after the prefix to the quarantine and returns a message about it. The damaged segment is
    /// truncated last, so that the next call or the next open continues after an interruption.
    pub(crate) fn move_tail(&self, quarantine: &QuarantineFolder, disk: &dyn Disk) -> io::Result<String> {
        let path = segment_path(&self.directory, self.number);
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let tail = if path.try_exists()? { self.tail()? } else { Vec::new() };
        let mut intact = count_records(&tail);
        let mut moved = Vec::new();
        for &segment in self.later.iter().rev() {
            let path = segment_path(&self.directory, segment);
            if !path.try_exists()? {
                // An earlier call has already moved it.
                continue;
            }
            intact += count_records(&fs::read(&path)?);
            moved.push(quarantine.move_in(&path)?);
        }
        if self.offset == 0 {
            if path.try_exists()? {
                moved.push(quarantine.move_in(&path)?);
            }
        } else {
            moved.push(quarantine.save(&format!("{name}-{}", self.offset), &tail)?);
            disk.truncate(&path, self.offset)?;
        }
        disk.sync_directory(&self.directory)?;
        moved.reverse();
        let files = moved.iter().map(|name| format!("`quarantine/{name}`")).collect::<Vec<_>>().join(", ");
        Ok(if intact == 0 && self.later.is_empty() {
            format!(
                "log segment `{name}` ended at byte {} with an incomplete record: its {} bytes were moved \
                 to {files}",
                self.offset,
                tail.len()
            )
        } else {
            format!(
                "log segment `{name}` is damaged at byte {}: the log was truncated to transaction {}, and the \
                 rest, with {intact} intact records, was moved to {files}",
                self.offset, self.last
            )
        })
    }
}
