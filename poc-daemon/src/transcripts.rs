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
use poc_notes::import::{self, CaptureOptions};
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
        folders.lock().take_events().into_iter().for_each(|path| changes.record_change(path, now));
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
            for failure in state.capture_failures.record(transcript, &report, memory.now()) {
                tracing::warn!("`{shown}`, {failure}");
            }
            // A turn that another writer has changed meanwhile is stored by the next capture.
            report.failed.iter().all(|(_, error)| error.code != Code::Conflict)
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
