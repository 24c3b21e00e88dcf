//! What could not be captured of transcripts.
//!
//! A capture reads only what is new in a transcript, so a line that failed is not read again. It stays among the
//! problems of the daemon until its transcript is deleted or replaced by another one, for at most [`KEPT_FOR`].

use parking_lot::Mutex;
use poc_graph::error::Error;
use poc_graph::escape_line;
use poc_graph::time::{Span, Timestamp};
use poc_notes::import::{CaptureReport, SourceLocation};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of lines and turns that are kept of one transcript. Earlier ones are dropped.
const MAX_FAILURES: usize = 100;

/// How long a line or turn is among the problems after it failed for the first time.
const KEPT_FOR: Span = Span::WEEK;

/// The failures of each transcript.
#[derive(Debug, Default)]
pub(crate) struct CaptureFailures(Mutex<BTreeMap<PathBuf, TranscriptFailures>>);

#[derive(Debug, Default)]
struct TranscriptFailures {
    /// Why the last capture failed as a whole, and since when.
    whole: Option<(String, Timestamp)>,
    /// The lines and turns that failed, in their order.
    parts: Vec<PartFailure>,
}

/// A line or turn that could not be stored.
#[derive(Debug)]
struct PartFailure {
    place: SourceLocation,
    /// The place and the reason.
    line: String,
    /// When it failed for the first time.
    at: Timestamp,
}

impl CaptureFailures {
    /// Records the result of a capture. What it read again and what did not fail this time is no failure anymore.
    /// Returns the failures that are new.
    pub(crate) fn record(&self, transcript: &Path, report: &CaptureReport, now: Timestamp) -> Vec<String> {
        let mut all = self.0.lock();
        let known = all.remove(transcript).unwrap_or_default().parts;
        let stays = |part: &PartFailure| {
            let is_before = matches!(part.place, SourceLocation::Line(line) if line < report.first_line);
            !report.is_read || is_before
        };
        let (mut parts, read_again): (Vec<PartFailure>, Vec<PartFailure>) =
            known.into_iter().partition(stays);
        let mut new = Vec::new();
        for (place, error) in report.failed.iter().skip(report.failed.len().saturating_sub(MAX_FAILURES)) {
            let line = format!("{place}: {}", error.line());
            let known = read_again.iter().find(|known| known.line == line);
            if known.is_none() {
                new.push(line.clone());
            }
            parts.push(PartFailure { place: place.clone(), line, at: known.map_or(now, |known| known.at) });
        }
        let excess = parts.len().saturating_sub(MAX_FAILURES);
        parts.drain(..excess);
        if !parts.is_empty() {
            all.insert(transcript.to_owned(), TranscriptFailures { whole: None, parts });
        }
        new
    }

    /// Records that a capture failed as a whole. Returns whether the capture before did not fail with the same error.
    pub(crate) fn record_error(&self, transcript: &Path, error: &Error, now: Timestamp) -> bool {
        let line = error.line();
        let mut all = self.0.lock();
        let whole = &mut all.entry(transcript.to_owned()).or_default().whole;
        let is_new = whole.as_ref().is_none_or(|(known, _)| *known != line);
        if is_new {
            *whole = Some((line, now));
        }
        is_new
    }

    /// What could not be captured of a transcript, as a line; `None` if nothing failed.
    pub(crate) fn of(&self, transcript: &Path, now: Timestamp) -> Option<String> {
        self.0.lock().get(transcript)?.line(now)
    }

    /// A line for each transcript that was not captured completely. Transcripts that were deleted are forgotten.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<String> {
        let mut all = self.0.lock();
        all.retain(|transcript, failures| {
            failures.parts.retain(|part| part.is_listed(now));
            transcript.exists() && failures.line(now).is_some()
        });
        let problem = |(transcript, failures): (&PathBuf, &TranscriptFailures)| {
            let (what, rule) = (failures.line(now)?, failures.rule()?);
            let path = transcript.to_string_lossy();
            let shown = escape_line(&path);
            Some(format!("the transcript `{shown}` is not captured completely: {what} ({rule})"))
        };
        all.iter().filter_map(problem).collect()
    }
}

impl TranscriptFailures {
    /// The first failure, and the number of the others.
    fn line(&self, now: Timestamp) -> Option<String> {
        let whole = self.whole.iter().map(|(line, _)| line);
        let parts = self.parts.iter().filter(|part| part.is_listed(now)).map(|part| &part.line);
        let mut lines = whole.chain(parts);
        let first = lines.next()?;
        Some(match lines.count() {
            0 => first.clone(),
            more => format!("{first}; and {more} more"),
        })
    }

    /// When the first failure was found, and how long it is listed.
    fn rule(&self) -> Option<String> {
        if let Some((_, since)) = &self.whole {
            return Some(format!("since {since}, listed until a capture succeeds"));
        }
        let first = self.parts.first()?;
        let days = KEPT_FOR.0 / Span::DAY.0;
        Some(format!("found {}, listed for {days} days or until the daemon restarts", first.at))
    }
}

impl PartFailure {
    fn is_listed(&self, now: Timestamp) -> bool {
        now < self.at.plus(KEPT_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// The report of a capture that read a transcript from a line on, with the lines that failed.
    fn report(first_line: u64, failed: &[(u64, &str)]) -> CaptureReport {
        let failed = failed.iter().map(|(line, why)| (SourceLocation::Line(*line), Error::invalid(*why)));
        CaptureReport { is_read: true, first_line, failed: failed.collect(), ..CaptureReport::default() }
    }

    #[test]
    fn a_failure_is_new_once_and_stays_until_its_line_is_read_again() {
        let folder = poc_graph::testing::folder();
        let transcript = folder.path().join("session.jsonl");
        std::fs::write(&transcript, "").unwrap();
        let failures = CaptureFailures::default();
        let record =
            |first, failed: &[(u64, &str)], now| failures.record(&transcript, &report(first, failed), now);
        assert_eq!(record(1, &[(2, "a"), (3, "b")], NOW), ["line 2: a", "line 3: b"]);
        assert_eq!(record(2, &[(2, "a"), (3, "b")], NOW.plus(Span::HOUR)), [""; 0]);
        assert_eq!(failures.of(&transcript, NOW).as_deref(), Some("line 2: a; and 1 more"));
        // The next captures do not read these lines again.
        assert_eq!(record(4, &[], NOW), [""; 0]);
        assert_eq!(failures.record(&transcript, &CaptureReport::default(), NOW), [""; 0]);
        assert_eq!(record(4, &[(5, "c")], NOW), ["line 5: c"]);
        let problem = format!(
            "the transcript `{}` is not captured completely: line 2: a; and 2 more (found {NOW}, listed for 7 days or \
             until the daemon restarts)",
            transcript.display()
        );
        assert_eq!(failures.problems(NOW), [problem]);
        // The transcript was replaced by another one.
        assert_eq!(record(1, &[(5, "c")], NOW), [""; 0]);
        assert_eq!(failures.of(&transcript, NOW).as_deref(), Some("line 5: c"));
        assert_eq!(record(1, &[], NOW), [""; 0]);
        assert_eq!((failures.of(&transcript, NOW), failures.problems(NOW)), (None, Vec::new()));
        assert_eq!(record(1, &[(2, "a")], NOW), ["line 2: a"]);
        std::fs::remove_file(&transcript).unwrap();
        assert_eq!(failures.problems(NOW), [""; 0]);
        assert_eq!(failures.of(&transcript, NOW), None);
    }

    #[test]
    fn a_line_break_in_the_name_of_a_transcript_is_escaped() {
        let folder = poc_graph::testing::folder();
        let transcript = folder.path().join("a\nb.jsonl");
        std::fs::write(&transcript, "").unwrap();
        let failures = CaptureFailures::default();
        failures.record(&transcript, &report(1, &[(2, "c")]), NOW);
        let problems = failures.problems(NOW);
        assert!(
            problems[0].contains("a\\nb.jsonl` is not captured") && !problems[0].contains('\n'),
            "{problems:?}"
        );
    }

    #[test]
    fn old_failures_and_more_than_the_maximum_are_dropped() {
        let transcript = tempfile::NamedTempFile::new().unwrap();
        let failures = CaptureFailures::default();
        failures.record(transcript.path(), &report(1, &[(1, "a")]), NOW);
        let later = NOW.plus(Span::DAY);
        let many: Vec<(u64, &str)> = (2..=101).map(|line| (line, "b")).collect();
        assert_eq!(failures.record(transcript.path(), &report(2, &many), later).len(), MAX_FAILURES);
        assert_eq!(failures.of(transcript.path(), later).as_deref(), Some("line 2: b; and 99 more"));
        failures.record(transcript.path(), &report(102, &[(102, "c")]), later.plus(Span::DAY));
        let old = later.plus(KEPT_FOR);
        assert_eq!(failures.of(transcript.path(), old).as_deref(), Some("line 102: c"));
        assert_eq!(failures.problems(old).len(), 1);
        assert_eq!(failures.problems(old.plus(Span::DAY)), [""; 0]);
    }

    #[test]
    fn an_error_of_a_whole_capture_stays_until_a_capture_succeeds() {
        let transcript = tempfile::NamedTempFile::new().unwrap();
        let failures = CaptureFailures::default();
        let error = Error::unavailable("it cannot be read");
        assert!(failures.record_error(transcript.path(), &error, NOW));
        let later = NOW.plus(Span::WEEK).plus(Span::WEEK);
        assert!(!failures.record_error(transcript.path(), &error, later));
        let problems = failures.problems(later);
        let end = format!("it cannot be read (since {NOW}, listed until a capture succeeds)");
        assert!(problems.len() == 1 && problems[0].ends_with(&end), "{problems:?}");
        failures.record(transcript.path(), &CaptureReport::default(), later);
        assert_eq!(failures.problems(later), [""; 0]);
    }
}
