//! Maintains the shared log: stores snapshots of the memory, deletes old history, and removes from this copy what
//! another daemon has erased.

use crate::state::DaemonState;
use crate::wall_clock;
use poc_graph::error::Result;
use poc_graph::time::Span;
use poc_memory::dispatch;
use poc_notes::compaction;
use poc_notes::erasure::{self, Erasure};
use poc_store::SharedSnapshot;
use std::sync::Arc;

/// How often the daemon checks in the database whether another one has erased something.
const INTERVAL: Span = Span(10 * Span::SECOND.0);
/// The number of such checks after which it checks whether a snapshot or a deletion is due: ten minutes.
const CHECKS_PER_SNAPSHOT: u64 = 60;

/// Maintains the shared log until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    if state.memory.store.awaits_shared_log() {
        return restart_when_reachable(&state).await;
    }
    if state.memory.store.shared_log().is_none() {
        return;
    }
    // If the copy is already outdated, the last open could not replace it. Such an open may read a whole snapshot, so
    // it is repeated rarely.
    let checks_before_restart = if state.memory.store.is_outdated() { CHECKS_PER_SNAPSHOT } else { 1 };
    for number in 0u64.. {
        if number.is_multiple_of(CHECKS_PER_SNAPSHOT) && state.memory.config.store.snapshot_every > 0 {
            maintain(&state).await;
        }
        let failure = "texts that other daemons have erased may still be on this machine";
        if let Some(last) = state.in_background(failure, erase).await.flatten() {
            tracing::info!(change = last, "history was deleted, because another daemon has erased a text");
        }
        if !wall_clock::wait(&state, INTERVAL).await {
            return;
        }
        if number + 1 >= checks_before_restart && state.memory.store.is_outdated() {
            tracing::warn!(
                "the daemon starts again, because the shared log has deleted changes that this copy lacks"
            );
            return state.restart();
        }
    }
}

/// Starts the daemon again when the shared log that a damaged copy needs can be reached, because an open restores the
/// copy. If the shared log could be reached from the start on, the open has failed for another reason, and is repeated
/// rarely.
async fn restart_when_reachable(state: &Arc<DaemonState>) {
    let Ok(Some(log)) = dispatch::shared_log(&state.memory.config.store) else { return };
    let mut was_unreachable = false;
    for number in 0u64.. {
        let tried = log.clone();
        let reached =
            state.in_background("the shared log was not reached", move |_| Ok(tried.head().is_ok()));
        match reached.await {
            Some(true) if was_unreachable || number >= CHECKS_PER_SNAPSHOT => {
                tracing::warn!(
                    "the daemon starts again, because the shared log can restore the damaged copy now"
                );
                return state.restart();
            }
            Some(false) if !was_unreachable => {
                tracing::info!("the daemon starts again when the shared log can be reached");
                was_unreachable = true;
            }
            _ => {}
        }
        if !wall_clock::wait(state, INTERVAL).await {
            return;
        }
    }
}

/// Stores a snapshot and deletes old history if they are due.
async fn maintain(state: &Arc<DaemonState>) {
    let made = state.in_background("no snapshot was stored in the database", make).await.flatten();
    if let Some(made) = made {
        tracing::info!(change = made.seq, bytes = made.bytes, "a snapshot was stored in the database");
    }
    let failure = "old history was not deleted from the database";
    if let Some(last) = state.in_background(failure, delete_history).await.flatten() {
        tracing::info!(change = last, "old history was deleted from the database");
    }
}

fn make(state: &DaemonState) -> Result<Option<SharedSnapshot>> {
    if state.memory.store.read_only().is_some() {
        return Ok(None);
    }
    let every = state.memory.config.store.snapshot_every;
    state.with_compaction_callbacks(|callbacks| state.memory.store.make_snapshot(every, callbacks))
}

/// Deletes the changes from the shared log that `[history] keep` does not keep.
fn delete_history(state: &DaemonState) -> Result<Option<u64>> {
    let memory = &state.memory;
    let horizon = compaction::horizon(memory.config.history.keep, memory.now());
    // An unfinished erasure reads its texts from the history.
    let Some(before) = horizon else { return Ok(None) };
    if memory.store.read_only().is_some() || Erasure::has_unfinished(memory)? {
        return Ok(None);
    }
    let every = memory.config.store.snapshot_every;
    state.with_compaction_callbacks(|callbacks| memory.store.delete_shared_history(before, every, callbacks))
}

fn erase(state: &DaemonState) -> Result<Option<u64>> {
    if state.memory.store.read_only().is_some() {
        return Ok(None);
    }
    state.with_compaction_callbacks(|callbacks| erasure::complete_elsewhere(&state.memory, callbacks))
}
