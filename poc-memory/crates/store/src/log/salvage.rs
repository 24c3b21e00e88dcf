//! Finds the intact records of a damaged log, including those after the damage. Nothing on disk changes.

use super::inspect::PrefixEnd;
use super::segment::intact_records;
use super::{Log, LogIndex, RecordPosition, Segment, segment_path, unreadable};
use crate::disk::read_or_zero;
use crate::logged_transaction::LoggedTransaction;
use crate::transaction_range::TransactionRange;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;

/// A log of the valid prefix and the intact records after its end.
pub(crate) fn salvage(prefix: Log, prefix_end: Option<&PrefixEnd>) -> Result<Log> {
    let mut index = prefix.index.into_inner();
    let first = index.positions.first().map(|position| position.seq);
    let mut intact: Vec<TransactionRange> =
        first.and_then(|first| TransactionRange::new(first, index.last)).into_iter().collect();
    if let Some(end) = prefix_end {
        let path = segment_path(&end.directory, end.number);
        let tail = end.readable_tail().map_err(|error| unreadable(&path, error))?;
        add(&mut index, &mut intact, (end.number, end.offset), &tail);
        for &number in &end.later {
            let path = segment_path(&end.directory, number);
            let bytes = read_or_zero(&path, 0).map_err(|error| unreadable(&path, error))?;
            add(&mut index, &mut intact, (number, 0), &bytes);
        }
    }
    index.intact = Some(intact);
    Ok(Log { read_only: true, ..Log::new(&prefix.directory, index, Vec::new()) })
}

/// Adds the intact records in the bytes of a segment, given by its number, from a byte offset on.
fn add(index: &mut LogIndex, intact: &mut Vec<TransactionRange>, (number, from): (u64, u64), bytes: &[u8]) {
    let mut end = None;
    if index.segments.last().is_none_or(|last| last.first != number) {
        index.segments.push(Segment { first: number, bytes: from, changed: None });
    }
    for record in intact_records(bytes, index.last) {
        // The numbers must ascend, even if a segment was copied.
        let is_in_order = record.seq > index.last
            && LoggedTransaction::decode(record.payload).is_ok_and(|txn| txn.seq == record.seq);
        if !is_in_order {
            continue;
        }
        let position = RecordPosition { seq: record.seq, segment: number, offset: from + record.offset };
        match intact.last_mut() {
            Some(part) if end == Some(record.offset) && part.last + 1 == record.seq => part.last = record.seq,
            _ => {
                intact.push(TransactionRange::one(record.seq));
                index.positions.push(position);
            }
        }
        index.last = record.seq;
        end = Some(record.offset + record.length);
    }
    if let Some(segment) = index.segments.last_mut() {
        segment.bytes += bytes.len() as u64;
    }
}

impl Log {
    /// Raises the number of the last transaction of a damaged log to one that another part of the store has seen.
    pub(crate) fn raise_last(&self, seq: u64) {
        let mut index = self.index.write();
        index.last = index.last.max(seq);
    }

    /// The intact parts of a damaged log up to a transaction, ascending.
    pub(crate) fn intact_parts(&self, last: u64) -> Vec<TransactionRange> {
        let index = self.index.read();
        if index.intact.is_none() { Vec::new() } else { index.parts(0, last) }
    }

    /// The last transaction up to `last` that the log has; 0 if there is none.
    pub(crate) fn last_intact(&self, last: u64) -> u64 {
        self.intact_parts(last).last().map_or(0, |part| part.last)
    }

    /// The time of the last transaction up to `last` that the log has.
    pub(crate) fn time_of_last(&self, last: u64) -> Result<Option<Timestamp>> {
        Ok(self.read(self.last_intact(last))?.map(|(txn, _)| txn.cause.at))
    }

    /// The time of the first transaction after `seq` that the log has.
    pub(crate) fn time_of_next(&self, seq: u64) -> Result<Option<Timestamp>> {
        let later = self.index.read().parts(seq + 1, u64::MAX);
        let Some(part) = later.first() else { return Ok(None) };
        Ok(self.read(part.first)?.map(|(txn, _)| txn.cause.at))
    }
}
