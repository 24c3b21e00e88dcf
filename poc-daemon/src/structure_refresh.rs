//! Keeps the structure of the graph (communities, embedding, outlier scores, health) up to date, so
//! that no request has to compute it.
//!
//! The daemon polls the graph, which is cheap. It recomputes the structure in the background when the graph
//! has changed and then been quiet, or when it has changed so much that the old structure is too inaccurate.
//! The result belongs to the graph at the start of the computation. The structure of a large graph is saved
//! in the store for the next start.

use crate::state::DaemonState;
use crate::throttle::{Poll, Throttle};
use poc_graph::{StructureOptions, View};
use poc_notes::structure;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Recomputes the structure when it is due, until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let settings = &state.memory.config.structure;
    let (quiet, options) = (settings.refresh_quiet.std(), settings.options());
    let directory = state.memory.paths.structure();
    // Loads the saved structure before a request needs it.
    let view = state.memory.store.view();
    if let Err(error) = state.pools.background.run(move || view.restore_structure(&options)).await {
        tracing::error!("the saved structure of the graph was not loaded: {error}");
    }
    let mut throttle = Throttle::new(quiet, Instant::now());
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(throttle.interval()) => {}
        }
        let view = state.memory.store.view();
        if !throttle.start(poll(&view, &options), Instant::now()) {
            continue;
        }
        // The work must not hold `state`, which would keep the store open while the daemon stops.
        let directory = directory.clone();
        let computing = state.pools.background.run(move || refresh(&view, &options, &directory));
        tokio::select! {
            // If the process ends during the computation, the saved structure stays in place.
            () = state.stopped() => return,
            ended = computing => if let Err(error) = ended {
                tracing::error!("the structure of the graph was not computed: {error}");
            }
        }
        throttle.end(Instant::now());
    }
}

fn refresh(view: &View, options: &StructureOptions, directory: &Path) {
    let started = Instant::now();
    if let Err(error) = structure::refresh(view, options, directory) {
        tracing::warn!("the structure of the graph was not saved: {error}");
    }
    let (communities, _) = view.communities(options);
    let (embedding, _) = view.embedding(options);
    tracing::info!(
        notes = view.live_count(),
        edges = view.edge_count(),
        communities = communities.count(),
        unfinished = embedding.unfinished(),
        millis = started.elapsed().as_millis() as u64,
        "structure of the graph computed"
    );
}

fn poll(view: &View, options: &StructureOptions) -> Poll {
    let drift = view.drift();
    let max_changes = options.max_drift * view.edge_count() as f64;
    Poll {
        generation: view.generation(),
        done: drift == Some(0),
        // The current structure is missing or too old for answers.
        urgent: drift.is_none_or(|changes| changes as f64 > max_changes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_is_urgent_until_it_is_done() {
        let options = StructureOptions { dimensions: 4, exact_below: 0, max_drift: 0.5 };
        let view = View::new();
        let before = poll(&view, &options);
        assert!(!before.done && before.urgent);
        view.refresh(&options);
        let after = poll(&view, &options);
        assert!(after.done && !after.urgent);
    }
}
