//! Synchronises notes with bound folders.
//!
//! File events start a sync early. A regular scan finds changes that the events missed, including those made
//! while no daemon ran. A sync compares the files with the records in the store, so its result depends only
//! on the files and not on the events.

mod watcher;

use crate::debounce::{Debounce, Pending};
use crate::state::DaemonState;
use parking_lot::Mutex;
use poc_graph::cancellation;
use poc_graph::error::Result;
use poc_graph::escape_line;
use poc_notes::Memory;
use poc_notes::vault::{self, SyncOptions, VaultBinding, VaultReport, VaultsOfTenant};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use watcher::VaultWatcher;

/// Synchronises bound folders until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let changed = Arc::new(Notify::new());
    let syncs = Arc::new(Mutex::new(VaultSyncs::new(changed.clone())));
    let mut debounce = Debounce::new(&state.memory.config.daemon, Instant::now());
    debounce.event(Instant::now());
    loop {
        let poll = tokio::select! {
            () = state.stopped() => return,
            () = state.vaults.notified() => {
                syncs.lock().all = true;
                debounce.event(Instant::now());
                continue;
            }
            () = changed.notified() => {
                debounce.event(Instant::now());
                continue;
            }
            () = tokio::time::sleep_until(debounce.deadline().into()) => !debounce.has_events(),
        };
        debounce.begin();
        let (syncing, syncs) = (state.clone(), syncs.clone());
        let synced = state.pools.background.run(move || syncs.lock().run(&syncing, poll));
        let is_busy = synced.await.unwrap_or_else(|error| {
            tracing::error!("a sync of the vaults failed: {error}");
            false
        });
        debounce.end(Instant::now(), Pending::default());
        if is_busy {
            debounce.event(Instant::now());
        }
    }
}

/// The syncs of all vaults.
struct VaultSyncs {
    watcher: VaultWatcher,
    /// Whether every vault is due.
    all: bool,
    /// The problems of each vault that were logged last, so that a lasting problem is logged once.
    logged: HashMap<PathBuf, Vec<String>>,
}

impl VaultSyncs {
    fn new(changed: Arc<Notify>) -> VaultSyncs {
        VaultSyncs { watcher: VaultWatcher::new(changed), all: true, logged: HashMap::new() }
    }

    /// Synchronises every vault with changed files, or all. Returns whether files were being written during the syncs.
    fn run(&mut self, state: &DaemonState, poll: bool) -> bool {
        let all = std::mem::take(&mut self.all) || poll;
        let paths = self.watcher.take_events();
        let mut is_busy = false;
        let tenants = match state.bound_tenants.find(&state.memory_now()) {
            Ok(tenants) => tenants,
            Err(error) => {
                tracing::warn!("the vaults cannot be read: {}", error.line());
                return false;
            }
        };
        let mut bound = Vec::new();
        for VaultsOfTenant { memory, vaults } in tenants {
            let vaults = vaults.unwrap_or_else(|error| {
                tracing::warn!("the vaults cannot be read: {}", error.line());
                Vec::new()
            });
            bound.extend(vaults.iter().cloned());
            for vault in vaults {
                let is_inside = |path: &PathBuf| path.starts_with(&vault.folder);
                if !state.is_stopping() && (all || paths.iter().any(is_inside)) {
                    // The watch starts before the scan, so that a change after the scan causes an event.
                    self.watcher.watch(&vault.folder);
                    let synced = cancellation::scope(&state.cancellation, || {
                        vault::sync(&memory, &vault, &SyncOptions::default(), &|_, _| {})
                    });
                    is_busy |= self.report(&vault, &memory, synced);
                }
            }
        }
        *state.bound_vaults.lock() = bound;
        is_busy
    }

    /// Logs the result of a sync. Returns whether files were being written during the sync.
    fn report(&mut self, vault: &VaultBinding, memory: &Memory, synced: Result<VaultReport>) -> bool {
        let name = vault.name.as_str();
        let (report, problems) = match synced {
            Ok(report) => {
                let problems = report
                    .refused
                    .iter()
                    .chain(&report.warnings)
                    .map(|problem| format!("`{}`: {}", escape_line(&problem.file), problem.error.line()));
                let problems = problems.collect();
                (report, problems)
            }
            Err(error) => (VaultReport::default(), vec![error.line()]),
        };
        if report.has_changes() {
            tracing::info!(
                vault = name,
                tenant = %memory.store.tuple(),
                added = report.added,
                updated = report.updated,
                renamed = report.renamed.len(),
                retired = report.retired,
                links_added = report.links_added,
                links_removed = report.links_removed,
                "synchronised"
            );
        }
        let logged = self.logged.entry(vault.folder.clone()).or_default();
        for problem in problems.iter().filter(|problem| !logged.contains(problem)) {
            tracing::warn!(vault = name, "{problem}");
        }
        *logged = problems;
        if report.busy > 0 {
            // The next run synchronises only vaults with events, and not every change causes one: a note may have been
            // changed at the same time.
            self.watcher.add_event(&vault.folder);
        }
        report.busy > 0
    }
}

/// Whether an event below a folder may concern a file of a vault. Hidden files and folders do not, except ignore files.
fn is_visible(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let is_ignore_file = |name: &str| name.ends_with("ignore");
    below
        .iter()
        .map(|part| part.to_string_lossy())
        .all(|part| !part.starts_with('.') || is_ignore_file(&part))
}
