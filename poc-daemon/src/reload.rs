//! Reloads agents and prompts when their files change.
//!
//! File events make a reload fast, and a regular scan finds changes whose events were lost. A scan reads all
//! files and applies only differences, so its result depends only on the files and not on the events.

mod watched_paths;

use crate::debounce::{Debounce, Pending};
use crate::file_events::FileEventWatcher;
use crate::reconcile::{CatalogEvent, CatalogSnapshot, Reconciliation};
use crate::state::DaemonState;
use parking_lot::Mutex;
use poc_agent::{Catalog, CatalogChange, CatalogScan};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_memory::dispatch;
use poc_notes::Memory;
use poc_search::query::Names;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use watched_paths::WatchedPaths;

/// Watches the folders of agents and prompts until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let changed = Arc::new(Notify::new());
    let watcher = Arc::new(Mutex::new(FolderWatcher::new(&state, changed.clone())));
    let mut debounce = Debounce::new(&state.memory.config.daemon, Instant::now());
    // Finds changes between the first load of the agents and the start of the watch.
    debounce.event(Instant::now());
    loop {
        tokio::select! {
            () = state.stopped() => return,
            () = changed.notified() => debounce.event(Instant::now()),
            () = tokio::time::sleep_until(debounce.deadline().into()) => {
                debounce.begin();
                let (scanning, watcher) = (state.clone(), watcher.clone());
                let scanned = state.pools.background.run(move || {
                    // The watch starts before the scan, so that a change after the scan causes an event.
                    watcher.lock().renew();
                    scan(&scanning, false)
                });
                let pending = match scanned.await {
                    Ok(Ok(scanned)) => scanned.pending,
                    Ok(Err(error)) => {
                        tracing::error!("agents cannot be read: {error}");
                        Pending::default()
                    }
                    Err(error) => {
                        tracing::error!("a scan of the agents failed: {error}");
                        Pending::default()
                    }
                };
                debounce.end(Instant::now(), pending);
            }
        }
    }
}

/// Reloads agents and prompts now, without waiting for a second scan to confirm errors. Blocks while
/// it reads.
pub(crate) fn reload(state: &DaemonState) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
    let Reconciliation { catalog, events, .. } = scan(state, true)?;
    tracing::info!(agents = catalog.agents.len(), "reloaded");
    let change = |event| match event {
        CatalogEvent::Agent(change) => Some(change),
        // The catalog already lists these.
        CatalogEvent::Broken { .. } | CatalogEvent::Problem(_) | CatalogEvent::Solved(_) => None,
    };
    Ok((catalog, events.into_iter().filter_map(change).collect()))
}

/// Watches the folders with file events of the operating system.
struct FolderWatcher {
    profile: Arc<Paths>,
    /// The paths that are watched now, shared with the event handler.
    paths: Arc<Mutex<WatchedPaths>>,
    /// `None` when the operating system offers no file events.
    watcher: Option<FileEventWatcher>,
    /// Folders for which a warning was logged.
    warned: BTreeSet<PathBuf>,
}

impl FolderWatcher {
    fn new(state: &DaemonState, changed: Arc<Notify>) -> FolderWatcher {
        let profile = state.memory.paths.clone();
        let paths = Arc::new(Mutex::new(WatchedPaths::of(&profile)));
        let filter = paths.clone();
        let handler = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if filter.lock().concerns(&event) => changed.notify_one(),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!("a file event could not be read: {error}");
                changed.notify_one();
            }
        };
        let watcher = FileEventWatcher::new(handler);
        if let Err(error) = &watcher {
            tracing::warn!("file events are not available, changes take effect at the next scan: {error}");
        }
        FolderWatcher { profile, paths, watcher: watcher.ok(), warned: BTreeSet::new() }
    }

    /// Watches every existing folder, and the current targets of symbolic links.
    fn renew(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let paths = WatchedPaths::of(&self.profile);
        *self.paths.lock() = paths.clone();
        for (folder, error) in paths.watch(watcher) {
            if self.warned.insert(folder.clone()) {
                tracing::warn!(
                    "`{}` cannot be watched, changes there take effect at the next scan: {error}",
                    folder.display()
                );
            }
        }
    }
}

/// Reads all files and replaces the catalog in use if anything changed.
fn scan(state: &DaemonState, confirmed: bool) -> Result<Reconciliation> {
    let mut reconciler = state.reconciler.lock();
    // Settings come first, because agents may use the pipelines that are saved there.
    let settings = reload_settings(state);
    let current = state.catalog.load_full();
    let scan = CatalogScan::rescan(&state.memory, confirmed, &current)?;
    let folder_exists = state.memory.paths.agents().is_dir();
    let result = CatalogSnapshot { catalog: scan.catalog.clone(), folder_exists, settings };
    let reconciled = reconciler.reconcile(&current, result, confirmed, Instant::now());
    scan.save(&state.memory, &reconciled.catalog)?;
    if confirmed || !reconciled.events.is_empty() {
        *state.reloaded.lock() = Some(state.memory.now());
    }
    if reconciled.events.is_empty() {
        return Ok(Reconciliation { catalog: current, ..reconciled });
    }
    state.catalog.store(reconciled.catalog.clone());
    state.wake.notify_one();
    reconciled.events.iter().for_each(log);
    let changes = reconciled.events.iter().filter_map(CatalogEvent::change);
    changes.for_each(|change| state.metrics.count_reload(change));
    Ok(reconciled)
}

/// Applies the settings file as it is now, as far as a running daemon can. Returns the problem when the file is broken,
/// or the settings that take effect only at the next start.
fn reload_settings(state: &DaemonState) -> Option<String> {
    let memory = &state.memory;
    let config = match dispatch::load_settings(&memory.paths.config_file()) {
        Ok(config) => config,
        Err(error) => {
            let mistakes: Vec<String> = error.each().map(Error::line).collect();
            let mistakes = mistakes.join("; ");
            return Some(format!("the settings are broken, the previous ones stay in use: {mistakes}"));
        }
    };
    let before = state.settings.load_full();
    let live = Config { pipelines: memory.config.pipelines.clone(), ..before.reloaded(&config) };
    let names = Names::of(&Config { pipelines: config.pipelines.clone(), ..Config::clone(&memory.config) });
    if names != **memory.names.load() {
        memory.names.store(Arc::new(names));
    }
    let waiting = waiting(memory, &live, &config);
    if live != *before {
        let changed: Vec<String> = before.differences(&live);
        state.settings.store(Arc::new(live));
        tracing::info!("settings that take effect now: {}", changed.join(", "));
    }
    if waiting.is_empty() {
        return None;
    }
    let mut named: Vec<String> = waiting.iter().take(MAX_NAMED).map(|key| format!("`{key}`")).collect();
    if waiting.len() > MAX_NAMED {
        named.push(format!("{} more", waiting.len() - MAX_NAMED));
    }
    Some(format!("`config.toml` has changed: restart the daemon for {} to take effect", named.join(", ")))
}

/// Maximum number of settings that a message names.
const MAX_NAMED: usize = 8;

/// The keys of the settings that take effect only at the next start.
fn waiting(memory: &Memory, live: &Config, new: &Config) -> Vec<String> {
    // A store keeps its embedder even if the settings name another one.
    let given = memory.configured_embedder.as_deref().unwrap_or(&memory.config.embedder);
    let live = Config { embedder: given.clone(), pipelines: new.pipelines.clone(), ..live.clone() };
    if new.startup_fingerprint() == memory.startup_fingerprint { Vec::new() } else { live.differences(new) }
}

fn log(event: &CatalogEvent) {
    match event {
        CatalogEvent::Agent(change) => match change {
            CatalogChange::Added(agent) => tracing::info!(agent, "agent added"),
            CatalogChange::Changed(agent) => tracing::info!(agent, "agent changed"),
            CatalogChange::Valid(agent) => tracing::info!(agent, "agent is valid again"),
            CatalogChange::Retired(agent) => tracing::info!(agent, "agent retired: its file was deleted"),
        },
        CatalogEvent::Problem(problem) => tracing::warn!("{problem}"),
        CatalogEvent::Solved(problem) => tracing::info!("solved: {problem}"),
        CatalogEvent::Broken { agent, last_valid_in_use, errors } => {
            let effect =
                if *last_valid_in_use { "its last valid version stays in use" } else { "it does not run" };
            for error in errors {
                tracing::warn!(agent, "agent is broken, {effect}: {}", error.line());
            }
        }
    }
}
