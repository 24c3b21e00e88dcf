//! Computes the vectors of a store again if they are the built-in word vectors of an earlier release. The daemon then
//! starts again, because a store uses the vectors with which it was opened.
//!
//! Every daemon over a shared log does this, because each copy has its own record of the embedder. A vector that
//! another daemon has already stored is not written again.

use crate::state::DaemonState;
use crate::wall_clock;
use poc_graph::error::Result;
use poc_graph::retry::Backoff;
use poc_graph::time::Span;
use poc_notes::migrate::{self, MigrationCallbacks, MigrationReport};
use std::sync::Arc;

/// How long the daemon waits before it tries again, for example until the disk accepts writes. After each error it waits
/// twice as long, so that a lasting one does not fill the log.
const WAITS: Backoff = Backoff { first: Span::MINUTE, max: Span::HOUR };

/// Migrates the store if that is due, and lets the daemon start again.
pub(crate) async fn run(state: Arc<DaemonState>) {
    if !migrate::is_due_after_update(&state.memory) {
        return;
    }
    tracing::info!(
        former = state.memory.embedder.name(),
        "this release has new word vectors: the vectors of all notes are computed again"
    );
    let mut errors: u32 = 0;
    loop {
        let failure = "the vectors were not computed with the new word vectors";
        match state.in_background(failure, compute).await {
            Some(Some(done)) => {
                tracing::info!(
                    former = done.from,
                    embedder = done.to,
                    notes = done.notes,
                    already_embedded = done.already_embedded,
                    "the vectors of all notes were computed again: the daemon starts again to use them"
                );
                return state.restart();
            }
            Some(None) => errors = 0,
            None => errors = errors.saturating_add(1),
        }
        if !wall_clock::wait(&state, WAITS.delay(errors)).await {
            return;
        }
    }
}

/// Migrates the store; `None` while it accepts no writes. An interrupted migration continues where it stopped.
fn compute(state: &DaemonState) -> Result<Option<MigrationReport>> {
    if state.memory.store.read_only().is_some() {
        return Ok(None);
    }
    let check_cancelled = || state.check_running();
    let callbacks = MigrationCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
    migrate::migrate(&state.memory, "daemon", &callbacks)
}
