//! Stores snapshots of the memory in the database with its shared log.

use crate::shared::Shared;
use crate::wall_clock;
use poc_graph::error::Result;
use poc_graph::time::Span;
use poc_store::{CompactionCallbacks, SharedSnapshot};
use std::sync::Arc;

/// How often the daemon checks in the database whether a snapshot is due.
const INTERVAL: Span = Span(10 * Span::MINUTE.0);

/// Makes a snapshot when it is due, until the daemon stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    if shared.memory.store.shared_log().is_none() || shared.memory.config.store.snapshot_every == 0 {
        return;
    }
    loop {
        let made = shared.in_background("no snapshot was stored in the database", make).await.flatten();
        if let Some(made) = made {
            tracing::info!(change = made.seq, bytes = made.bytes, "a snapshot was stored in the database");
        }
        if !wall_clock::wait(&shared, INTERVAL).await {
            return;
        }
    }
}

fn make(shared: &Shared) -> Result<Option<SharedSnapshot>> {
    if shared.memory.store.read_only().is_some() {
        return Ok(None);
    }
    let check_cancelled = || shared.check_running();
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
    shared.memory.store.make_snapshot(shared.memory.config.store.snapshot_every, &callbacks)
}
