//! Stores snapshots of the memory in the database with its shared log.

use crate::state::DaemonState;
use crate::wall_clock;
use poc_graph::error::Result;
use poc_graph::time::Span;
use poc_store::{CompactionCallbacks, SharedSnapshot};
use std::sync::Arc;

/// How often the daemon checks in the database whether a snapshot is due.
const INTERVAL: Span = Span(10 * Span::MINUTE.0);

/// Makes a snapshot when it is due, until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    if state.memory.store.shared_log().is_none() || state.memory.config.store.snapshot_every == 0 {
        return;
    }
    loop {
        let made = state.in_background("no snapshot was stored in the database", make).await.flatten();
        if let Some(made) = made {
            tracing::info!(change = made.seq, bytes = made.bytes, "a snapshot was stored in the database");
        }
        if !wall_clock::wait(&state, INTERVAL).await {
            return;
        }
    }
}

fn make(state: &DaemonState) -> Result<Option<SharedSnapshot>> {
    if state.memory.store.read_only().is_some() {
        return Ok(None);
    }
    let check_cancelled = || state.check_running();
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
    state.memory.store.make_snapshot(state.memory.config.store.snapshot_every, &callbacks)
}
