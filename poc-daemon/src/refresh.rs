//! Keeps what is derived from the whole graph (communities, embedding, outlier scores, health) up
//! to date, so that nobody has to wait for it.
//!
//! The graph is looked at now and then, which costs nothing. When it has changed and then been
//! quiet, or has changed so much that old answers no longer serve, everything is computed anew
//! beside the requests. What is computed is for the graph as it was at the start. That of a large
//! graph is kept in the store, so that the next start has it.

use crate::pace::{Look, Pace};
use crate::shared::Shared;
use poc_graph::{Rules, View};
use poc_notes::structure;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Computes what is due until the daemon is to stop.
pub(crate) async fn run(shared: Arc<Shared>) {
    let settings = &shared.memory.config.structure;
    let (quiet, rules) = (settings.refresh_quiet.std(), settings.rules());
    let directory = shared.memory.paths.structure();
    // Reads what was kept before somebody waits for it.
    let view = shared.memory.store.view();
    if let Err(error) = tokio::task::spawn_blocking(move || view.recall(&rules)).await {
        tracing::error!("the structure of the graph was not read: {error}");
    }
    let mut pace = Pace::new(quiet, Instant::now());
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = tokio::time::sleep(pace.interval()) => {}
        }
        let view = shared.memory.store.view();
        if !pace.due(look(&view, &rules), Instant::now()) {
            continue;
        }
        // Without `shared`, which would keep the store open when the daemon is to stop.
        let directory = directory.clone();
        let computing = tokio::task::spawn_blocking(move || refresh(&view, &rules, &directory));
        tokio::select! {
            // Whoever is still at it when the process ends leaves what was kept before.
            () = shared.stopped() => return,
            ended = computing => if let Err(error) = ended {
                tracing::error!("the structure of the graph was not computed: {error}");
            }
        }
        pace.done(Instant::now());
    }
}

fn refresh(view: &View, rules: &Rules, directory: &Path) {
    let started = Instant::now();
    if let Err(error) = structure::refresh(view, rules, directory) {
        tracing::warn!("the structure of the graph was not kept: {error}");
    }
    let (communities, _) = view.communities(rules);
    let (embedding, _) = view.embedding(rules);
    tracing::info!(
        notes = view.live_count(),
        edges = view.edge_count(),
        communities = communities.count(),
        unfinished = embedding.unfinished(),
        millis = started.elapsed().as_millis() as u64,
        "structure of the graph computed"
    );
}

fn look(view: &View, rules: &Rules) -> Look {
    let drift = view.drift();
    let most = rules.max_drift * view.edge_count() as f64;
    Look {
        generation: view.generation(),
        done: drift == Some(0),
        // What is there no longer serves.
        urgent: drift.is_none_or(|changes| changes as f64 > most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_tells_how_it_stands() {
        let rules = Rules { dimensions: 4, exact_below: 0, max_drift: 0.5 };
        let view = View::new();
        let seen = look(&view, &rules);
        assert!(!seen.done && seen.urgent);
        view.refresh(&rules);
        let seen = look(&view, &rules);
        assert!(seen.done && !seen.urgent);
    }
}
