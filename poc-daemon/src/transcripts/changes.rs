//! Decides when to capture which transcript. Time is an argument.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum delay of a capture, in quiet periods since the first change, for a transcript that keeps changing.
const MAX_QUIET_PERIODS: u32 = 10;

/// The first and the last change of a transcript since it was captured.
#[derive(Clone, Copy, Debug)]
struct Change {
    first: Instant,
    last: Instant,
}

/// The changed transcripts, and the time of the next scan of the folders.
#[derive(Debug)]
pub(super) struct TranscriptChanges {
    /// How long a transcript must be quiet before it is captured.
    quiet: Duration,
    /// The time between two scans.
    interval: Duration,
    changed: BTreeMap<PathBuf, Change>,
    /// When the folders are scanned next; `None` means at once.
    next_scan: Option<Instant>,
}

impl TranscriptChanges {
    /// Without changes; the first scan is due at once, further ones after `interval`.
    pub(super) fn new(quiet: Duration, interval: Duration) -> TranscriptChanges {
        TranscriptChanges { quiet, interval, changed: BTreeMap::new(), next_scan: None }
    }

    /// Records a change of a transcript.
    pub(super) fn record_change(&mut self, transcript: PathBuf, now: Instant) {
        self.changed
            .entry(transcript)
            .and_modify(|change| change.last = now)
            .or_insert(Change { first: now, last: now });
    }

    /// Whether the folders are to be scanned.
    pub(super) fn is_scan_due(&self, now: Instant) -> bool {
        self.next_scan.is_none_or(|scan| scan <= now)
    }

    /// Records the end of a scan.
    pub(super) fn record_scan(&mut self, now: Instant) {
        self.next_scan = Some(now + self.interval);
    }

    /// Brings the next scan forward to the end of a quiet period.
    pub(super) fn scan_soon(&mut self, now: Instant) {
        self.next_scan = self.next_scan.map(|scan| scan.min(now + self.quiet));
    }

    /// When there is something to do next.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        let captures = self.changed.values().map(|change| self.capture_time(change));
        captures.fold(self.next_scan.unwrap_or(now), Instant::min)
    }

    /// Removes the transcripts that are to be captured now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<PathBuf> {
        let due = self.changed.iter().filter(|(_, change)| self.capture_time(change) <= now);
        let due: Vec<PathBuf> = due.map(|(path, _)| path.clone()).collect();
        self.changed.retain(|path, _| !due.contains(path));
        due
    }

    /// When a changed transcript is captured: after a quiet period, or at the maximum delay.
    fn capture_time(&self, change: &Change) -> Instant {
        (change.last + self.quiet).min(change.first + self.quiet * MAX_QUIET_PERIODS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The times in milliseconds at which a transcript is captured that changes at `events`.
    fn captures(events: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut changes = TranscriptChanges::new(Duration::from_millis(1000), Duration::from_secs(3600));
        changes.record_scan(start);
        let mut captured = Vec::new();
        let mut events = events.iter().copied().peekable();
        loop {
            let deadline = changes.deadline(start);
            match events.next_if(|event| at(*event) <= deadline) {
                Some(event) => changes.record_change("t".into(), at(event)),
                None if deadline == at(3_600_000) => return captured,
                None => {
                    assert_eq!(changes.take_due(deadline), [PathBuf::from("t")]);
                    captured.push((deadline - start).as_millis() as u64);
                }
            }
        }
    }

    #[test]
    fn a_transcript_is_captured_when_it_is_quiet_or_after_a_while() {
        assert_eq!(captures(&[0, 500, 1200]), [2200]);
        assert_eq!(captures(&[0, 1500]), [1000, 2500]);
        let busy: Vec<u64> = (0..30).map(|number| number * 500).collect();
        assert_eq!(captures(&busy), [10_000, 15_500]);
    }

    #[test]
    fn a_scan_is_brought_forward_but_never_delayed() {
        let (start, quiet) = (Instant::now(), Duration::from_secs(1));
        let mut changes = TranscriptChanges::new(quiet, 30 * quiet);
        changes.scan_soon(start);
        assert!(changes.is_scan_due(start));
        changes.record_scan(start);
        changes.scan_soon(start);
        assert_eq!((changes.is_scan_due(start), changes.deadline(start)), (false, start + quiet));
        changes.scan_soon(start + quiet / 2);
        assert!(changes.is_scan_due(start + quiet));
    }

    poc_laws::laws! {
        #[test]
        fn every_change_is_followed_by_a_capture_in_time(
            mut events in proptest::collection::vec(0u64..60_000, 1..100)
        ) {
            events.sort_unstable();
            let captured = captures(&events);
            for event in events {
                let next = captured.iter().find(|capture| **capture >= event);
                prop_assert!(next.is_some_and(|next| next - event <= 10_000), "{event} {captured:?}");
            }
        }
    }
}
