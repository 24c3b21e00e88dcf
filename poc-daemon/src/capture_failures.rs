//! The transcripts that were not captured completely, until a later capture has no failure.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of failures that are kept of one transcript.
const MAX_FAILURES: usize = 100;

/// The failures of the last capture of each transcript.
#[derive(Debug, Default)]
pub(crate) struct CaptureFailures(Mutex<BTreeMap<PathBuf, Vec<String>>>);

impl CaptureFailures {
    /// Records the failures of a capture; none if the transcript is captured completely. Returns those that the capture
    /// before did not have.
    pub(crate) fn record(&self, transcript: &Path, mut failures: Vec<String>) -> Vec<String> {
        failures.truncate(MAX_FAILURES);
        let mut all = self.0.lock();
        let known = all.remove(transcript).unwrap_or_default();
        let new = failures.iter().filter(|failure| !known.contains(failure)).cloned().collect();
        if !failures.is_empty() {
            all.insert(transcript.to_owned(), failures);
        }
        new
    }

    /// What failed in the last capture of a transcript, as a line; `None` if nothing failed.
    pub(crate) fn of(&self, transcript: &Path) -> Option<String> {
        self.0.lock().get(transcript).and_then(|failures| line(failures))
    }

    /// A line for each transcript that was not captured completely. Transcripts that were deleted are forgotten.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut all = self.0.lock();
        all.retain(|transcript, _| transcript.exists());
        let problem = |(transcript, failures): (&PathBuf, &Vec<String>)| {
            let what = line(failures)?;
            Some(format!("the transcript `{}` is not captured completely: {what}", transcript.display()))
        };
        all.iter().filter_map(problem).collect()
    }
}

/// The first failure, and the number of the others.
fn line(failures: &[String]) -> Option<String> {
    let (first, others) = failures.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        more => format!("{first}; and {more} more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_new_once_and_is_a_problem_until_a_capture_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("session.jsonl");
        std::fs::write(&transcript, "").unwrap();
        let failures = CaptureFailures::default();
        let record = |lines: &[&str]| {
            failures.record(&transcript, lines.iter().map(|line| (*line).to_owned()).collect())
        };
        assert_eq!(record(&["line 2: a", "line 3: b"]), ["line 2: a", "line 3: b"]);
        assert_eq!(record(&["line 2: a", "line 3: b"]), [""; 0]);
        assert_eq!(failures.of(&transcript).as_deref(), Some("line 2: a; and 1 more"));
        let name = transcript.display();
        let problem = format!("the transcript `{name}` is not captured completely: line 2: a; and 1 more");
        assert_eq!(failures.problems(), [problem]);
        assert_eq!(record(&["line 2: a", "line 4: c"]), ["line 4: c"]);
        assert_eq!(record(&[]), [""; 0]);
        assert_eq!((failures.of(&transcript), failures.problems()), (None, Vec::new()));
        assert_eq!(record(&["line 2: a"]), ["line 2: a"]);
        std::fs::remove_file(&transcript).unwrap();
        assert_eq!(failures.problems(), [""; 0]);
        assert_eq!(failures.of(&transcript), None);
    }
}
