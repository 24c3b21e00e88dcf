//! Verifies the memory once a week, at the lowest priority.

use crate::state::DaemonState;
use crate::wall_clock;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use poc_notes::verification::{self, Verification};
use poc_store::VerifyCallbacks;
use std::sync::Arc;

/// How often the daemon checks whether a verification is due, and how long it waits before the first check.
const POLL: Span = Span(10 * Span::MINUTE.0);

/// The nice value of the thread: 19 is the lowest priority.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// Verifies when it is due, until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    while wall_clock::wait(&state, POLL).await {
        let last = verification::last(&state.memory.paths.verification());
        // What an earlier daemon found may have been repaired since, so the verification is repeated.
        let is_old = |last: &Verification| !last.damaged.is_empty() && last.at < state.started;
        if !verification::is_due(last.as_ref(), state.memory.now()) && !last.as_ref().is_some_and(is_old) {
            continue;
        }
        match state.in_background("the memory was not verified", at_low_priority).await {
            Some(0) => tracing::info!("the memory was verified: log, records, views and indexes agree"),
            Some(damaged) => tracing::error!(damaged, "verification found damaged files"),
            None => {}
        }
    }
}

/// Verifies on its own thread, because a process without privileges cannot raise the priority of a thread
/// again. Returns the number of damaged files.
fn at_low_priority(state: &DaemonState) -> Result<usize> {
    std::thread::scope(|scope| {
        let verifying = scope.spawn(|| {
            // On Linux, this sets the priority of the calling thread only.
            #[cfg(target_os = "linux")]
            if let Err(error) = rustix::process::setpriority_process(None, NICE) {
                tracing::debug!("the priority cannot be lowered: {error}");
            }
            let check_cancelled = || state.check_running();
            let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &check_cancelled };
            verification::verify(&state.memory, &callbacks)
        });
        let verified = verifying.join().map_err(|_| Error::internal("the verification panicked"))?;
        Ok(verified?.damaged.len())
    })
}
