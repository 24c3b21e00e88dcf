//! Keeps the agents as their files are.
//!
//! Events of the file system are the fast path; a look every now and then is the guarantee. A look
//! reads everything and changes only what is different: the files decide, not the events.

mod debounce;
mod places;
mod settle;

pub(crate) use settle::Settling;

use crate::shared::Shared;
use debounce::{Debounce, Open};
use notify::RecommendedWatcher;
use parking_lot::Mutex;
use places::Places;
use poc_agent::{Catalog, CatalogScan, Change};
use poc_config::Config;
use poc_graph::error::Result;
use poc_search::query::Names;
use settle::{Found, News, Settled};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// Follows the folders of agents and prompts until the daemon is to stop.
pub(crate) async fn run(shared: Arc<Shared>) {
    let dirty = Arc::new(Notify::new());
    let watching = Arc::new(Mutex::new(Watching::new(&shared, dirty.clone())));
    let mut debounce = Debounce::new(&shared.memory.config.daemon, Instant::now());
    // What changed between the first load and the first watch is found by a look.
    debounce.event(Instant::now());
    loop {
        tokio::select! {
            () = shared.stopped() => return,
            () = dirty.notified() => debounce.event(Instant::now()),
            () = tokio::time::sleep_until(debounce.deadline().into()) => {
                debounce.begin();
                let (shared, watching) = (shared.clone(), watching.clone());
                let looked = tokio::task::spawn_blocking(move || {
                    // First watched, then read: what changes after the reading is an event.
                    watching.lock().renew();
                    look(&shared, false)
                });
                let open = match looked.await {
                    Ok(Ok(looked)) => looked.open,
                    Ok(Err(error)) => {
                        tracing::error!("agents cannot be read: {error}");
                        Open::default()
                    }
                    Err(error) => {
                        tracing::error!("a look at the agents failed: {error}");
                        Open::default()
                    }
                };
                debounce.end(Instant::now(), open);
            }
        }
    }
}

/// Reads agents and prompts anew, now, and believes what it sees. Blocks while it reads.
pub(crate) fn reload(shared: &Shared) -> Result<(Arc<Catalog>, Vec<Change>)> {
    let Looked { catalog, news, .. } = look(shared, true)?;
    tracing::info!(agents = catalog.agents.len(), "reloaded");
    let change = |news| match news {
        News::Added(agent) => Some(Change::Added(agent)),
        News::Changed(agent) => Some(Change::Changed(agent)),
        News::Mended(agent) => Some(Change::Mended(agent)),
        News::Retired(agent) => Some(Change::Retired(agent)),
        // What is wrong stands in the catalog.
        News::Broken(..) | News::Problem(_) | News::Solved(_) => None,
    };
    Ok((catalog, news.into_iter().filter_map(change).collect()))
}

/// What came of a look.
struct Looked {
    catalog: Arc<Catalog>,
    news: Vec<News>,
    open: Open,
}

/// The watched folders.
struct Watching {
    places: Places,
    /// None when the system has no file events to give.
    watcher: Option<RecommendedWatcher>,
    /// Folders of which was told that they cannot be watched.
    told: BTreeSet<PathBuf>,
}

impl Watching {
    fn new(shared: &Shared, dirty: Arc<Notify>) -> Watching {
        let places = Places::of(&shared.memory.paths);
        let ours = places.clone();
        let handler = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if ours.concerns(&event) => dirty.notify_one(),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!("file events: {error}");
                dirty.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(handler);
        if let Err(error) = &watcher {
            tracing::warn!("there are no file events, changes take effect by the regular look: {error}");
        }
        Watching { places, watcher: watcher.ok(), told: BTreeSet::new() }
    }

    /// Watches every folder that is there now.
    fn renew(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (folder, error) in self.places.watch(watcher) {
            if self.told.insert(folder.clone()) {
                tracing::warn!(
                    "`{}` cannot be watched, changes there take effect by the regular look: {error}",
                    folder.display()
                );
            }
        }
    }
}

/// Reads everything and shows what it comes to.
fn look(shared: &Shared, sure: bool) -> Result<Looked> {
    let mut settling = shared.settling.lock();
    // First: agents may name the pipelines saved there.
    let settings = settings(shared);
    let shown = shared.catalog.load_full();
    let looked = CatalogScan::again(&shared.memory, sure, &shown)?;
    let found =
        Found { catalog: looked.catalog.clone(), folder: shared.memory.paths.agents().is_dir(), settings };
    let Settled { catalog, news, open } = settling.settle(&shown, found, sure, Instant::now());
    looked.remember(&shared.memory, &catalog)?;
    if sure || !news.is_empty() {
        shared.state.lock().reloaded = Some(shared.memory.now());
    }
    if news.is_empty() {
        return Ok(Looked { catalog: shown, news, open });
    }
    let catalog = Arc::new(catalog);
    shared.catalog.store(catalog.clone());
    shared.wake.notify_one();
    news.iter().for_each(tell);
    news.iter().filter_map(News::change).for_each(|change| shared.metrics.reloaded(change));
    Ok(Looked { catalog, news, open })
}

/// Takes over the saved pipelines of the settings as they stand in the file now; says what is
/// wrong with the settings otherwise.
fn settings(shared: &Shared) -> Option<String> {
    let memory = &shared.memory;
    let config = match Config::load(&memory.paths.config_file()) {
        Ok(config) => config,
        Err(error) => return Some(format!("the settings are broken, those before go on: {}", error.line())),
    };
    let names = Names::of(&Config { pipelines: config.pipelines.clone(), ..Config::clone(&memory.config) });
    if names != **memory.names.load() {
        memory.names.store(Arc::new(names));
    }
    (config.fingerprint() != memory.fingerprint)
        .then(|| "`config.toml` has changed: restart the daemon for it to take effect".into())
}

fn tell(news: &News) {
    match news {
        News::Added(agent) => tracing::info!(agent, "agent added"),
        News::Changed(agent) => tracing::info!(agent, "agent changed"),
        News::Mended(agent) => tracing::info!(agent, "agent is good again"),
        News::Retired(agent) => tracing::info!(agent, "agent retired: its file is gone"),
        News::Problem(problem) => tracing::warn!("{problem}"),
        News::Solved(problem) => tracing::info!("no longer: {problem}"),
        News::Broken(agent, last_good, errors) => {
            let instead = if *last_good { "its last good version goes on" } else { "it does not run" };
            for error in errors {
                tracing::warn!(agent, "agent is broken, {instead}: {}", error.line());
            }
        }
    }
}
