//! Watches the folders of vaults with file events of the operating system.

use super::is_visible;
use crate::file_events::{FileEventWatcher, is_change};
use notify::RecursiveMode;
use parking_lot::Mutex;
use poc_notes::vault;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;

/// Maximum number of event paths that are kept until the next sync. Beyond that, only the folder of the vault
/// is kept.
const MAX_EVENTS: usize = 1000;

/// Watches folders, and collects the paths that have changed.
pub(super) struct VaultWatcher {
    /// `None` when the operating system offers no file events.
    watcher: Option<FileEventWatcher>,
    /// The folders of the vaults.
    roots: Arc<Mutex<BTreeSet<PathBuf>>>,
    events: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Folders for which a warning was logged.
    warned: BTreeSet<PathBuf>,
}

impl VaultWatcher {
    /// A watcher without folders. It notifies `changed` of events.
    pub(super) fn new(changed: Arc<Notify>) -> VaultWatcher {
        let roots: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let events: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let (known, collected) = (roots.clone(), events.clone());
        let handler = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            let roots = known.lock();
            let mut events = collected.lock();
            let before = events.len();
            if event.need_rescan() {
                events.extend(roots.iter().cloned());
                changed.notify_one();
                return;
            }
            if !is_change(&event) {
                return;
            }
            for path in event.paths {
                let Some(root) = roots.iter().find(|root| path.starts_with(root)) else { continue };
                if is_visible(&path, root) {
                    let is_full = events.len() >= MAX_EVENTS;
                    events.insert(if is_full { root.clone() } else { path });
                }
            }
            if events.len() > before {
                changed.notify_one();
            }
        };
        let watcher = FileEventWatcher::new(handler);
        if let Err(error) = &watcher {
            tracing::warn!(
                "file events are not available, vaults are synchronised at the next scan: {error}"
            );
        }
        VaultWatcher { watcher: watcher.ok(), roots, events, warned: BTreeSet::new() }
    }

    /// The paths that have changed since the last call.
    pub(super) fn take_events(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut *self.events.lock())
    }

    /// Adds the folder of a vault to the paths that have changed.
    pub(super) fn add_event(&self, root: &Path) {
        self.events.lock().insert(root.to_owned());
    }

    /// Watches a vault: every folder in it that has notes or may get some, and the folder above, where the vault may
    /// be created again. A replaced folder is watched again.
    pub(super) fn watch(&mut self, root: &Path) {
        self.roots.lock().insert(root.to_owned());
        let Some(watcher) = &mut self.watcher else { return };
        if let Some(above) = root.parent() {
            // Without this watch, a vault that is created again is found by the next scan.
            let _ = watcher.watch(above, RecursiveMode::NonRecursive);
        }
        let warned = &mut self.warned;
        watch_all(
            || vault::folders(root),
            |folder| {
                if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                    && folder.is_dir()
                    && warned.insert(folder.to_owned())
                {
                    tracing::warn!(
                        "`{}` cannot be watched, changes there follow at the next scan: {error}",
                        folder.display()
                    );
                }
            },
        );
    }
}

/// Watches the listed folders, and those that appear meanwhile: a folder that is created in a folder before that one
/// is watched causes no event.
fn watch_all(list: impl Fn() -> Vec<PathBuf>, mut watch: impl FnMut(&Path)) {
    let mut watched: BTreeSet<PathBuf> = BTreeSet::new();
    loop {
        let new: Vec<PathBuf> = list().into_iter().filter(|folder| !watched.contains(folder)).collect();
        if new.is_empty() {
            return;
        }
        new.iter().for_each(|folder| watch(folder));
        watched.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn changes_in_new_folders_cause_events_and_hidden_files_do_not() {
        // The folder above is watched, too, and the folder of all temporary files would be slow to watch.
        let above = poc_graph::testing::folder();
        let root = above.path().canonicalize().unwrap().join("vault");
        let mut watcher = VaultWatcher::new(Arc::default());
        std::fs::create_dir_all(root.join("sub")).unwrap();
        watcher.watch(&root);
        watcher.take_events();
        std::fs::create_dir(root.join(".hidden")).unwrap();
        std::fs::write(root.join(".swp"), "x").unwrap();
        std::fs::write(root.join("sub/a.md"), "x").unwrap();
        assert_eq!(events_until(&watcher, &root.join("sub/a.md")), BTreeSet::from([root.join("sub/a.md")]));
    }

    /// The events up to the first one of a path.
    fn events_until(watcher: &VaultWatcher, path: &Path) -> BTreeSet<PathBuf> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut events = BTreeSet::new();
        while !events.contains(path) {
            assert!(Instant::now() < deadline, "no event: {events:?}");
            events.extend(watcher.take_events());
        }
        events
    }

    #[test]
    fn a_vault_that_is_created_again_causes_an_event() {
        let above = poc_graph::testing::folder();
        let root = above.path().canonicalize().unwrap().join("vault");
        let mut watcher = VaultWatcher::new(Arc::default());
        watcher.watch(&root);
        std::fs::create_dir(&root).unwrap();
        assert_eq!(events_until(&watcher, &root), BTreeSet::from([root]));
    }

    #[test]
    fn folders_that_appear_while_the_watches_begin_are_watched_too() {
        let root = poc_graph::testing::folder();
        let root = root.path().canonicalize().unwrap();
        let (a, b) = (root.join("a"), root.join("a/b"));
        std::fs::create_dir(&a).unwrap();
        let mut watched = Vec::new();
        watch_all(
            || vault::folders(&root),
            |folder| {
                if folder == a {
                    std::fs::create_dir(&b).unwrap();
                }
                watched.push(folder.to_owned());
            },
        );
        assert_eq!(watched, [root.clone(), a.clone(), b.clone()]);
    }
}
