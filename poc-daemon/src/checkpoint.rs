//! Writes a checkpoint when the store has been quiet: finishes the vector graph and saves the view and
//! the indexes. Searches stay fast, and the next start is fast even if the daemon was killed.

use crate::state::DaemonState;
use crate::throttle::{Poll, Throttle};
use poc_notes::{Memory, samples};
use poc_store::{CHECKPOINT_MIN_CHANGES, CHECKPOINT_URGENT_CHANGES, Store};
use std::sync::Arc;
use std::time::Instant;

/// Writes due checkpoints until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let quiet = state.memory.config.daemon.checkpoint_quiet.std();
    let mut throttle = Throttle::new(quiet, Instant::now());
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(throttle.interval()) => {}
        }
        if !throttle.start(poll(&state.memory), Instant::now()) {
            continue;
        }
        // The write keeps the store open, so a stopping daemon waits for it.
        let writing = state.pools.background.run({
            let state = state.clone();
            move || {
                let indexes = state.memory.vectors_by_tenant.all();
                indexes.iter().for_each(|index| index.finish(&|| state.is_stopping()));
                // Samples alone do not justify a transaction, so they are stored here and when the daemon
                // ends.
                if let Err(error) = samples::flush(&state.memory) {
                    tracing::warn!("the samples of queries were not saved: {error}");
                }
                write(&state.memory.store);
            }
        });
        if let Err(error) = writing.await {
            tracing::error!("no checkpoint was written: {error}");
        }
        throttle.end(Instant::now());
    }
}

fn poll(memory: &Memory) -> Poll {
    let store = &memory.store;
    let unsaved = store.unsaved();
    let is_unfinished = memory.vectors_by_tenant.all().iter().any(|index| index.is_unfinished());
    Poll {
        generation: store.view().seq as i64,
        // An index that is still being built cannot be saved yet.
        done: unsaved < CHECKPOINT_MIN_CHANGES && !is_unfinished || !store.is_settled(),
        urgent: unsaved >= CHECKPOINT_URGENT_CHANGES,
    }
}

fn write(store: &Store) {
    let (started, changes) = (Instant::now(), store.unsaved());
    match store.checkpoint() {
        Ok(()) => {
            tracing::info!(changes, millis = started.elapsed().as_millis() as u64, "checkpoint written");
        }
        Err(error) => tracing::warn!("no checkpoint was written: {error}"),
    }
}
