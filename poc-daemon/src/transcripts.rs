//! Captures the sessions of assistants from their transcripts.
//!
//! Captures every session whose hook called, and with `[transcripts] follow` every session in the folders of
//! the assistants. A session is captured when its transcript has changed and then been quiet for a while.
//! Changes that were missed, because no daemon ran or an assistant was killed, are captured at the next scan.
//! A capture continues where the last one of the same transcript ended, so it is cheap if there is nothing
//! new.

mod changes;
mod folders;

use crate::state::DaemonState;
use changes::TranscriptChanges;
use folders::TranscriptFolders;
use parking_lot::Mutex;
use poc_graph::cancellation;
use poc_graph::error::Code;
use poc_graph::escape_line;
use poc_memory::ops;
use poc_notes::import::{self, CaptureOptions, CaptureReport};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Captures transcripts until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let config = &state.memory.config.transcripts;
    let changed = state.transcripts.changed();
    let folders = Arc::new(Mutex::new(TranscriptFolders::new(config, changed.clone())));
    // Finds sessions that continued while no daemon ran.
    ops::followed_transcripts(&state.memory.paths).iter().for_each(|path| folders.lock().follow(path));
    let mut changes =
        TranscriptChanges::new(config.quiet.std(), state.memory.config.daemon.reload_poll.std());
    loop {
        let deadline = changes.deadline(Instant::now());
        tokio::select! {
            () = state.stopped() => return,
            () = changed.notified() => {}
            () = tokio::time::sleep_until(deadline.into()) => {}
        }
        let (named, now) = (state.transcripts.take(), Instant::now());
        for path in named {
            folders.lock().follow(&path);
            changes.record_change(path, now);
        }
        if changes.is_scan_due(now) {
            let (scanned, at) = (folders.clone(), state.memory.now());
            let scan = move || scanned.lock().scan(at);
            match state.pools.background.run(scan).await {
                Ok(found) => found.into_iter().for_each(|path| changes.record_change(path, now)),
                Err(error) => tracing::error!("a scan of the transcripts failed: {error}"),
            }
            changes.record_scan(Instant::now());
        }
        let events = folders.lock().take_events();
        events.transcripts.into_iter().for_each(|path| changes.record_change(path, now));
        if events.has_new_folder {
            changes.scan_soon(now);
        }
        for transcript in changes.take_due(Instant::now()) {
            let capturing = state.clone();
            let path = transcript.clone();
            let work = move || capturing.is_stopping() || capture(&capturing, &path);
            match state.pools.background.run(work).await {
                Ok(true) => {}
                Ok(false) => folders.lock().forget(&transcript),
                Err(error) => {
                    let path = transcript.to_string_lossy();
                    tracing::error!("the transcript `{}` was not captured: {error}", escape_line(&path));
                }
            }
        }
    }
}

/// Captures a transcript. Returns false if that is to be repeated even if the transcript does not change, for example
/// because the disk is full.
fn capture(state: &DaemonState, transcript: &Path) -> bool {
    let memory = state.memory_now();
    if memory.store.read_only().is_some() {
        return false;
    }
    let path = transcript.to_string_lossy();
    let shown = escape_line(&path);
    let options = CaptureOptions { allow_secrets: memory.config.transcripts.allow_secrets };
    let captured =
        cancellation::scope(&state.cancellation, || import::capture(&memory, transcript, &options));
    match captured {
        Ok(report) => {
            if !report.secrets.is_empty() {
                let kinds = report.secrets.iter().map(|(kind, count)| format!("{kind}: {count}"));
                let kinds = kinds.collect::<Vec<_>>().join(", ");
                tracing::info!("replaced secrets in `{shown}` ({kinds})");
            }
            if report.inserted + report.updated > 0 {
                tracing::info!(inserted = report.inserted, updated = report.updated, "captured `{shown}`");
            }
            let new = state.capture_failures.record(transcript, &report, memory.now());
            for failure in &new {
                tracing::warn!("`{shown}`, {failure}");
            }
            !has_new_conflict(&report, &new)
        }
        // A hook names the transcript of a session before its first line is written, and some sessions never
        // write one.
        Err(error) if error.code == Code::NotFound => {
            tracing::debug!("`{shown}` does not exist");
            true
        }
        // The first lines of a session may not be part of the conversation, and a folder may have other files.
        Err(error) if error.code == Code::InvalidArgument && import::assistant_of(transcript).is_none() => {
            tracing::info!("`{shown}` was not captured: {}", error.line());
            true
        }
        // A daemon that stops ends the capture, and the next one continues.
        Err(error) if cancellation::is_cancellation(&error) => true,
        Err(error) => {
            if state.capture_failures.record_error(transcript, &error, memory.now()) {
                tracing::warn!("`{shown}` was not captured: {}", error.line());
            }
            error.code.is_invalid()
        }
    }
}

/// Whether another writer may have changed a turn while it was stored. The next capture then stores it. A conflict that
/// the capture before had, too, lasts: the note of the turn was replaced, for example.
fn has_new_conflict(report: &CaptureReport, new: &[String]) -> bool {
    !new.is_empty() && report.failed.iter().any(|(_, error)| error.code == Code::Conflict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture_failures::CaptureFailures;
    use poc_graph::error::Error;
    use poc_graph::time::Timestamp;
    use poc_notes::import::SourceLocation;

    #[test]
    fn a_capture_with_a_conflict_is_repeated_once() {
        let failures = CaptureFailures::default();
        let is_repeated = |error: Error| {
            let failed = vec![(SourceLocation::Line(2), error)];
            let report = CaptureReport { is_read: true, first_line: 1, failed, ..CaptureReport::default() };
            let new = failures.record(Path::new("session.jsonl"), &report, Timestamp(0));
            has_new_conflict(&report, &new)
        };
        assert!(is_repeated(Error::conflict("a note was changed in between")));
        assert!(!is_repeated(Error::conflict("a note was changed in between")));
        assert!(is_repeated(Error::conflict("a note is superseded")));
        assert!(!is_repeated(Error::invalid("a note is too long")));
    }
}
