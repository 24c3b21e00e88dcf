//! Reads every segment of the log.

use super::{DamagedPart, MISSING, StorePart, Verifier};
use crate::log::{SegmentState, check_segment_with};
use crate::log_head;
use poc_graph::error::Result;

impl Verifier<'_> {
    /// Checks headers, checksums, numbers and lengths of all segments, and the list of previously checked segments.
    pub(super) fn segments(&self) -> Result<Vec<DamagedPart>> {
        let log = self.store.log_snapshot();
        let mut findings: Vec<DamagedPart> =
            // This list is created again if it is missing.
            self.check_file(StorePart::Index, "log/checked").into_iter().collect();
        let (mut number, last_segment) = (0, log.segments.len());
        for segment in &log.segments {
            number += 1;
            let is_last = number == last_segment;
            // A complete segment must end after its last record.
            let last = if is_last { segment.last } else { u64::MAX };
            let mut step = |seq| self.step("changes of the log", seq, Some(log.seq));
            let state = check_segment_with(&segment.path, segment.first, last, &mut step)?;
            let is_complete = |last, bytes| last == segment.last && bytes == segment.bytes;
            let message = match state {
                SegmentState::Intact { last, bytes, .. } if is_complete(last, bytes) => continue,
                SegmentState::Intact { last, .. } => {
                    format!("it ends with change {last}, although change {} was written", segment.last)
                }
                SegmentState::Damaged { offset } => format!("it is damaged at byte {offset}"),
            };
            let path = segment.path.clone();
            findings.push(DamagedPart { part: StorePart::Log, path, message, is_rebuilt: false });
        }
        Ok(findings)
    }

    /// Checks the number of the last acknowledged transaction. It may be too low, if it could not be written. A copy
    /// of a shared log neither uses nor writes it.
    pub(super) fn head(&self) -> Result<Option<DamagedPart>> {
        if self.store.shared.shared_log.is_some() {
            return Ok(None);
        }
        let directory = &self.store.shared.directory;
        self.at_rest(|last| {
            let is_valid = log_head::read(directory).is_some_and(|head| head <= last);
            let message = match log_head::exists(directory) {
                true if is_valid => return Ok(None),
                true => "it does not have the number of the last change",
                // It is created by the first write, and by the open of a store that accepts writes.
                false if last == 0 || self.store.read_only().is_some() => return Ok(None),
                false => MISSING,
            };
            Ok(Some(self.finding(StorePart::Index, log_head::NAME, message)))
        })
    }
}
