//! File events of the operating system: inotify on Linux, FSEvents on macOS.

use notify::{Event, EventHandler, EventKind, RecommendedWatcher, RecursiveMode, Result, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whether files or folders may have changed with an event. Reading a file causes events, too.
pub(crate) fn is_change(event: &Event) -> bool {
    matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_))
}

/// Watches folders.
pub(crate) struct FileEventWatcher {
    watcher: RecommendedWatcher,
    /// The paths that FSEvents watches, without links. Empty on other systems.
    watched: BTreeSet<PathBuf>,
}

impl FileEventWatcher {
    /// A watcher without folders, which calls `handler` with each event.
    ///
    /// # Errors
    /// Those of the operating system, which may offer no file events.
    pub(crate) fn new(handler: impl EventHandler) -> Result<FileEventWatcher> {
        Ok(FileEventWatcher { watcher: notify::recommended_watcher(handler)?, watched: BTreeSet::new() })
    }

    /// Watches a folder. Watching it twice has no effect, and a folder that was replaced is watched again.
    ///
    /// # Errors
    /// Those of the operating system, and if the folder does not exist.
    pub(crate) fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> Result<()> {
        if !cfg!(target_os = "macos") {
            return self.watcher.watch(folder, mode);
        }
        // FSEvents watches a path, also after its folder was replaced. `notify` would give it the path again with each
        // call.
        let path = folder.canonicalize()?;
        if !self.watched.contains(&path) {
            self.watcher.watch(&path, mode)?;
            self.watched.insert(path);
        }
        Ok(())
    }
}
