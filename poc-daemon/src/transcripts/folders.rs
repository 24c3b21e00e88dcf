//! Finds transcripts that have changed: those of sessions whose hooks called, and with `[transcripts] follow`
//! all in the folders of the assistants.

use crate::file_events::{FileEventWatcher, is_change};
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecursiveMode};
use parking_lot::Mutex;
use poc_config::{TranscriptsConfig, paths};
use poc_graph::time::{Span, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// The extension of transcripts.
const EXTENSION: &str = "jsonl";

/// Maximum number of folders inside a folder of transcripts: year, month and day, or project, session and `subagents`.
const MAX_DEPTH: usize = 6;

/// What file events have reported.
#[derive(Debug, Default)]
pub(super) struct FolderEvents {
    /// Transcripts that have changed.
    pub(super) transcripts: BTreeSet<PathBuf>,
    /// Whether a folder is new. Its first files have no events, if they were written before it was watched.
    pub(super) has_new_folder: bool,
}

/// Watches the folders with file events of the operating system, and scans them for changes that the events
/// missed.
pub(super) struct TranscriptFolders {
    folders: Vec<PathBuf>,
    max_age: Span,
    /// Size and time of each transcript at the last scan.
    seen: BTreeMap<PathBuf, (u64, SystemTime)>,
    events: Arc<Mutex<FolderEvents>>,
    /// `None` when the operating system offers no file events.
    watcher: Option<FileEventWatcher>,
    /// Transcripts that hooks have named.
    named: BTreeSet<PathBuf>,
}

impl TranscriptFolders {
    /// Watches the folders of the settings. Without `follow`, watches only transcripts that hooks name.
    pub(super) fn new(config: &TranscriptsConfig, changed: Arc<Notify>) -> TranscriptFolders {
        let home = std::env::var("HOME").ok();
        let mut folders = Vec::new();
        for folder in config.folders.iter().filter(|_| config.follow) {
            match paths::named(folder, home.as_deref()) {
                Ok(path) => folders.push(path),
                Err(help) => tracing::warn!("`{folder}` in `[transcripts] folders` is not followed: {help}"),
            }
        }
        let events: Arc<Mutex<FolderEvents>> = Arc::default();
        let collected = events.clone();
        let handler = move |event: notify::Result<Event>| {
            // A capture reads the transcript, which must not cause another one.
            let Some(event) = event.ok().filter(is_change) else { return };
            let is_new_folder = is_arrival(&event) && event.paths.iter().any(|path| path.is_dir());
            let changed_files = event.paths.into_iter().filter(|path| is_transcript(path));
            let mut events = collected.lock();
            let before = events.transcripts.len();
            events.transcripts.extend(changed_files);
            events.has_new_folder |= is_new_folder;
            if events.transcripts.len() > before || is_new_folder {
                changed.notify_one();
            }
        };
        let watcher = FileEventWatcher::new(handler);
        if let Err(error) = &watcher {
            tracing::warn!("file events are not available, sessions are captured at the next scan: {error}");
        }
        TranscriptFolders {
            folders,
            max_age: config.max_age,
            seen: BTreeMap::new(),
            events,
            watcher: watcher.ok(),
            named: BTreeSet::new(),
        }
    }

    /// Also watches a transcript outside the folders, because its assistant may be killed before its next
    /// hook.
    pub(super) fn follow(&mut self, transcript: &Path) {
        if !is_transcript(transcript) || !self.named.insert(transcript.to_owned()) {
            return;
        }
        for folder in self.outside() {
            self.watch(&folder, RecursiveMode::NonRecursive);
        }
    }

    /// The folders of named transcripts that are not in the folders of the settings.
    fn outside(&self) -> BTreeSet<PathBuf> {
        let is_inside = |folder: &Path| self.folders.iter().any(|followed| folder.starts_with(followed));
        let folders = self.named.iter().filter_map(|path| path.parent());
        folders.filter(|folder| !is_inside(folder)).map(Path::to_owned).collect()
    }

    /// Watches a folder, if it exists. One that was created again since is watched again.
    fn watch(&mut self, folder: &Path, mode: RecursiveMode) {
        // The folder may be created later. Its parent is not watched, because that would report unrelated
        // changes.
        if let Some(watcher) = &mut self.watcher
            && folder.is_dir()
            && let Err(error) = watcher.watch(folder, mode)
        {
            tracing::debug!("`{}` cannot be watched: {error}", folder.display());
        }
    }

    /// Lets the next scan find a transcript that has not changed again, because it was not captured.
    pub(super) fn forget(&mut self, transcript: &Path) {
        self.seen.remove(transcript);
    }

    /// The events since the last call.
    pub(super) fn take_events(&self) -> FolderEvents {
        std::mem::take(&mut *self.events.lock())
    }

    /// The transcripts that are new or have changed since the last scan, except for old ones.
    pub(super) fn scan(&mut self, now: Timestamp) -> Vec<PathBuf> {
        for folder in self.folders.clone() {
            self.watch(&folder, RecursiveMode::Recursive);
        }
        for folder in self.outside() {
            self.watch(&folder, RecursiveMode::NonRecursive);
        }
        let oldest = now.minus(self.max_age);
        let mut seen = BTreeMap::new();
        self.folders.iter().for_each(|folder| find(folder, MAX_DEPTH, &mut seen));
        seen.extend(self.named.iter().filter_map(|path| Some((path.clone(), state(path)?))));
        // Drops sessions that have ended.
        self.named.retain(|path| seen.get(path).is_none_or(|(_, modified)| millis(*modified) >= oldest));
        let is_new = |(path, state): &(&PathBuf, &(u64, SystemTime))| {
            self.seen.get(*path) != Some(*state) && millis(state.1) >= oldest
        };
        let found = seen.iter().filter(is_new).map(|(path, _)| path.clone()).collect();
        self.seen = seen;
        found
    }
}

/// Whether files or folders were created or moved to a place.
fn is_arrival(event: &Event) -> bool {
    matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)))
}

/// Collects the transcripts in a folder. Symbolic links are not followed.
fn find(folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, (u64, SystemTime)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (Ok(kind), path) = (entry.file_type(), entry.path()) else { continue };
        if kind.is_dir() && depth > 0 {
            find(&path, depth - 1, found);
        } else if kind.is_file()
            && is_transcript(&path)
            && let Ok(metadata) = entry.metadata()
            && let Ok(modified) = metadata.modified()
        {
            found.insert(path, (metadata.len(), modified));
        }
    }
}

/// Size and time of a file.
fn state(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

fn millis(at: SystemTime) -> Timestamp {
    let millis = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use std::time::{Duration, Instant};

    #[test]
    fn a_scan_finds_new_and_changed_transcripts_but_no_old_ones() {
        let root = poc_graph::testing::folder();
        let day = root.path().join("2026/11/25");
        std::fs::create_dir_all(&day).unwrap();
        let mut config = Config::defaults().unwrap().transcripts;
        config.folders = vec![root.path().display().to_string()];
        let mut off = TranscriptFolders::new(&config, Arc::default());
        config.follow = true;
        let mut folders = TranscriptFolders::new(&config, Arc::default());
        let (first, second) = (day.join("a.jsonl"), root.path().join("b.jsonl"));
        std::fs::write(&first, "{}\n").unwrap();
        std::fs::write(&second, "{}\n").unwrap();
        std::fs::write(day.join("a.meta.json"), "{}").unwrap();
        let now = millis(std::fs::metadata(&first).unwrap().modified().unwrap());
        assert_eq!(folders.scan(now), [first, second.clone()]);
        assert_eq!(off.scan(now), [] as [PathBuf; 0]);
        assert_eq!(folders.scan(now), [] as [PathBuf; 0]);
        std::fs::write(&second, "{}\n{}\n").unwrap();
        assert_eq!(folders.scan(now), [second]);
        let elsewhere = poc_graph::testing::folder();
        let named = elsewhere.path().join("c.jsonl");
        folders.follow(&named);
        assert_eq!(folders.scan(now), [] as [PathBuf; 0]);
        std::fs::write(&named, "{}\n").unwrap();
        assert_eq!(folders.scan(now), std::slice::from_ref(&named));
        // It could not be captured.
        folders.forget(&named);
        assert_eq!(folders.scan(now), [named]);
        assert_eq!(folders.scan(now), [] as [PathBuf; 0]);
        let much_later = now.plus(Span(config.max_age.0 + Span::HOUR.0));
        assert_eq!(folders.scan(much_later), [] as [PathBuf; 0]);
    }

    /// Follows the transcripts in a folder.
    fn following(folder: &Path) -> TranscriptFolders {
        let mut config = Config::defaults().unwrap().transcripts;
        (config.follow, config.folders) = (true, vec![folder.display().to_string()]);
        TranscriptFolders::new(&config, Arc::default())
    }

    #[test]
    fn reading_a_transcript_is_no_change() {
        let root = poc_graph::testing::folder();
        let folder = root.path().canonicalize().unwrap();
        let mut folders = following(&folder);
        let (read, written) = (folder.join("a.jsonl"), folder.join("b.jsonl"));
        std::fs::write(&read, "{}\n").unwrap();
        // The first scan starts the watch.
        folders.scan(Timestamp(0));
        for _ in 0..100 {
            std::fs::read(&read).unwrap();
        }
        // Events arrive in order: this one comes after all events of the reads.
        std::fs::write(&written, "{}\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut events = BTreeSet::new();
        while !events.contains(&written) {
            assert!(Instant::now() < deadline, "no event: {events:?}");
            events.extend(folders.take_events().transcripts);
        }
        assert_eq!(events, BTreeSet::from([written]));
    }

    #[test]
    fn a_new_folder_is_reported() {
        let root = poc_graph::testing::folder();
        let folder = root.path().canonicalize().unwrap();
        let mut folders = following(&folder);
        folders.scan(Timestamp(0));
        std::fs::write(folder.join("a.txt"), "").unwrap();
        let elsewhere = poc_graph::testing::folder();
        std::fs::create_dir(elsewhere.path().join("moved")).unwrap();
        for new in ["created", "moved"] {
            assert!(!folders.take_events().has_new_folder);
            match new {
                "created" => std::fs::create_dir(folder.join(new)).unwrap(),
                _ => std::fs::rename(elsewhere.path().join(new), folder.join(new)).unwrap(),
            }
            let deadline = Instant::now() + Duration::from_secs(60);
            while !folders.take_events().has_new_folder {
                assert!(Instant::now() < deadline, "no event of {new}");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_folder_that_is_created_again_is_watched_again() {
        let above = poc_graph::testing::folder();
        let root = above.path().canonicalize().unwrap().join("projects");
        std::fs::create_dir(&root).unwrap();
        let mut folders = following(&root);
        folders.scan(Timestamp(0));
        std::fs::remove_dir(&root).unwrap();
        std::fs::create_dir(&root).unwrap();
        let (transcript, deadline) = (root.join("a.jsonl"), Instant::now() + Duration::from_secs(60));
        while !folders.take_events().transcripts.contains(&transcript) {
            assert!(Instant::now() < deadline, "no event");
            folders.scan(Timestamp(0));
            std::fs::write(&transcript, "{}\n").unwrap();
        }
    }
}
