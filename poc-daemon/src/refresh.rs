//! Keeps what is derived from the whole graph (communities, embedding, outlier scores, health) up
//! to date, so that nobody has to wait for it.
//!
//! The graph is looked at now and then, which costs nothing. When it has changed and then been
//! quiet, or has changed so much that old answers no longer serve, everything is computed anew
//! beside the requests. What is computed is for the graph as it was at the start. That of a large
//! graph is kept in the store, so that the next start has it.

use crate::shared::Shared;
use poc_memory::graph::{Rules, View};
use poc_memory::memory::structure;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a computation it rests so many times as long as that took: at most a twentieth of a core.
const REST: u32 = 20;

/// Looks within the time the graph must be quiet.
const LOOKS: u32 = 4;

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
    // An interval that is over at once would leave no time for anything else.
    let every = (quiet / LOOKS).max(Duration::from_millis(10));
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = tokio::time::sleep(every) => {}
        }
        let view = shared.memory.store.view();
        if !pace.due(Look::at(&view, &rules), Instant::now()) {
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

/// What one look at the graph shows.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Goes up with every change.
    generation: i64,
    /// Whether everything is there for exactly this graph.
    fresh: bool,
    /// Whether what is there no longer serves.
    drifted: bool,
}

impl Look {
    fn at(view: &View, rules: &Rules) -> Look {
        let drift = view.drift();
        let most = rules.max_drift * view.edge_count() as f64;
        Look {
            generation: view.generation(),
            fresh: drift == Some(0),
            drifted: drift.is_none_or(|changes| changes as f64 > most),
        }
    }
}

/// Says when to compute. Time is an argument.
#[derive(Debug)]
struct Pace {
    quiet: Duration,
    /// The generation last seen, and since when.
    seen: (i64, Instant),
    /// When the last computation began.
    begun: Instant,
    rest_until: Instant,
}

impl Pace {
    /// The first moments belong to whoever has started the daemon.
    fn new(quiet: Duration, now: Instant) -> Pace {
        Pace { quiet, seen: (i64::MIN, now), begun: now, rest_until: now + quiet }
    }

    fn due(&mut self, look: Look, now: Instant) -> bool {
        if look.generation != self.seen.0 {
            self.seen = (look.generation, now);
        }
        let is_quiet = now.duration_since(self.seen.1) >= self.quiet;
        let due = !look.fresh && now >= self.rest_until && (is_quiet || look.drifted);
        if due {
            self.begun = now;
        }
        due
    }

    fn done(&mut self, now: Instant) {
        self.rest_until = now + now.duration_since(self.begun) * REST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(10);

    /// A pace, and an instant so many seconds after its start.
    fn pace() -> (Pace, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (Pace::new(QUIET, start), move |seconds| start + Duration::from_secs(seconds))
    }

    fn changed(generation: i64) -> Look {
        Look { generation, fresh: false, drifted: false }
    }

    #[test]
    fn a_quiet_graph_is_computed_once() {
        let (mut pace, at) = pace();
        assert!(!pace.due(changed(1), at(3)));
        assert!(!pace.due(changed(1), at(12)), "quiet for nine seconds");
        assert!(pace.due(changed(1), at(13)));
        pace.done(at(14));
        assert!(!pace.due(Look { fresh: true, ..changed(1) }, at(60)));
        assert!(!pace.due(changed(2), at(61)));
        assert!(!pace.due(changed(3), at(70)), "changed again");
        assert!(pace.due(changed(3), at(80)));
    }

    #[test]
    fn a_graph_that_drifts_is_not_waited_for() {
        let (mut pace, at) = pace();
        let drifted = |generation| Look { drifted: true, ..changed(generation) };
        assert!(!pace.due(drifted(1), at(9)), "the daemon has just started");
        assert!(pace.due(drifted(2), at(11)));
        // It took two seconds, so it rests for forty.
        pace.done(at(13));
        assert!(!pace.due(drifted(900), at(52)));
        assert!(pace.due(drifted(901), at(53)));
    }

    #[test]
    fn a_graph_tells_how_it_stands() {
        let rules = Rules { dimensions: 4, exact_below: 0, max_drift: 0.5 };
        let view = View::new();
        let look = Look::at(&view, &rules);
        assert!(!look.fresh && look.drifted);
        view.refresh(&rules);
        let look = Look::at(&view, &rules);
        assert!(look.fresh && !look.drifted);
    }
}
