//! Finishes the vector graph and saves the view and the indexes when the store has been quiet, so
//! that searches stay quick, and the next open is, also after the daemon was killed.

use crate::pace::{Look, Pace};
use crate::shared::Shared;
use poc_notes::{Memory, samples};
use poc_store::{Store, WORTH_A_CHECKPOINT};
use std::sync::Arc;
use std::time::Instant;

/// So many times what is worth a checkpoint does not wait for quiet.
const URGENT: usize = 50;

/// Writes the checkpoints that are due until the daemon is to stop.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut pace = Pace::new(shared.memory.config.daemon.checkpoint_quiet.std(), Instant::now());
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = tokio::time::sleep(pace.interval()) => {}
        }
        if !pace.due(look(&shared.memory), Instant::now()) {
            continue;
        }
        // Waited for also when the daemon is to stop: it holds the store.
        let writing = tokio::task::spawn_blocking({
            let shared = shared.clone();
            move || {
                let indexes = shared.memory.vector_sets.all();
                indexes.iter().for_each(|index| index.finish(&|| shared.is_stopping()));
                // Now and at the end only: by itself it is not worth a change of the store.
                if let Err(error) = samples::keep(&shared.memory) {
                    tracing::warn!("what questions met was not counted: {error}");
                }
                write(&shared.memory.store);
            }
        });
        if let Err(error) = writing.await {
            tracing::error!("no checkpoint was written: {error}");
        }
        pace.done(Instant::now());
    }
}

fn look(memory: &Memory) -> Look {
    let store = &memory.store;
    let unsaved = store.unsaved();
    let is_unfinished = memory.vector_sets.all().iter().any(|index| index.is_unfinished());
    Look {
        generation: store.view().seq as i64,
        // Of an index that is still being built there is nothing to save.
        done: unsaved < WORTH_A_CHECKPOINT && !is_unfinished || !store.is_settled(),
        urgent: unsaved >= URGENT * WORTH_A_CHECKPOINT,
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
