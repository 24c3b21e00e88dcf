//! Which folders are watched, and which of their events matter.

use notify::event::{Event, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use poc_config::paths::Paths;
use std::path::{Path, PathBuf};

/// The folders that are watched, never single files: an editor that saves by renaming leaves the
/// watch of a file behind. Their parents are watched too, for folders that come and go.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    folders: Vec<PathBuf>,
    /// Folders of which every file counts.
    inside: Vec<PathBuf>,
    /// Files and folders that count themselves.
    exact: Vec<PathBuf>,
}

impl Places {
    /// Those of a profile.
    pub(crate) fn of(paths: &Paths) -> Places {
        let inside = vec![paths.agents(), paths.prompts()];
        let mut exact = vec![paths.config_file()];
        let mut folders = Vec::new();
        for path in inside.iter().chain(exact.clone().iter()) {
            folders.extend(path.parent().map(Path::to_owned));
        }
        folders.sort();
        folders.dedup();
        let parents: Vec<PathBuf> =
            folders.iter().filter_map(|folder| folder.parent()).map(Path::to_owned).collect();
        exact.extend(folders.iter().chain(&inside).cloned());
        folders.extend(parents);
        folders.extend(inside.iter().cloned());
        let mut places = Places { folders, inside, exact };
        // Some systems tell of a file by its real path.
        places.inside.extend(real(&places.inside));
        places.exact.extend(real(&places.exact));
        places
    }

    /// Whether an event can mean that agents, prompts or settings are others now. Reading a file is
    /// an event too, and so is every line of a log in the same folder.
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        let changes = match event.kind {
            EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => true,
            EventKind::Any | EventKind::Access(_) | EventKind::Other => false,
        };
        let ours = |path: &PathBuf| {
            self.exact.contains(path)
                || path.parent().is_some_and(|folder| self.inside.iter().any(|inside| inside == folder))
        };
        event.need_rescan() || (changes && event.paths.iter().any(ours))
    }

    /// Watches every folder that is there. Watching one again is nothing; one that was replaced is
    /// a new one. Returns what cannot be watched, for a reason other than that it is missing.
    pub(crate) fn watch(&self, watcher: &mut RecommendedWatcher) -> Vec<(PathBuf, notify::Error)> {
        let mut failed = Vec::new();
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                && folder.is_dir()
            {
                failed.push((folder.clone(), error));
            }
        }
        failed
    }
}

fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| path.canonicalize().ok().filter(|real| real != path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, CreateKind, Flag, MetadataKind, ModifyKind, RemoveKind, RenameMode};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn only_changes_of_what_is_ours_concern_us() {
        let places = Places::of(&Paths::in_folder(Path::new("/home/m")));
        let modified = EventKind::Modify(ModifyKind::Any);
        for (kind, path, expected) in [
            (modified, "/home/m/agents/linker.toml", true),
            (EventKind::Create(CreateKind::File), "/home/m/prompts/linker.md", true),
            (EventKind::Remove(RemoveKind::File), "/home/m/agents/linker.toml", true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/home/m/agents/linker.toml", true),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), "/home/m/agents/linker.toml", true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::From)), "/home/m/agents", true),
            (EventKind::Create(CreateKind::Folder), "/home/m", true),
            (modified, "/home/m/config.toml", true),
            (EventKind::Access(AccessKind::Any), "/home/m/agents/linker.toml", false),
            (modified, "/home/m/daemon.log", false),
            (modified, "/home/m/store/log/1", false),
            (EventKind::Create(CreateKind::Folder), "/home/other", false),
        ] {
            let event = Event::new(kind).add_path(path.into());
            assert_eq!(places.concerns(&event), expected, "{kind:?} {path}");
        }
        assert!(places.concerns(&Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    }

    #[test]
    fn folders_and_their_parents_are_watched() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        for folder in [paths.agents(), paths.prompts()] {
            std::fs::create_dir(folder).unwrap();
        }
        let mut watcher = notify::recommended_watcher(|_| {}).unwrap();
        let places = Places::of(&paths);
        assert!(places.folders.contains(&home.path().parent().unwrap().to_owned()));
        for folder in [home.path().to_owned(), paths.agents(), paths.prompts()] {
            assert!(places.folders.contains(&folder));
        }
        // Twice, and without one of them, is no error.
        assert!(places.watch(&mut watcher).is_empty());
        std::fs::remove_dir(paths.agents()).unwrap();
        assert!(places.watch(&mut watcher).is_empty());
    }

    /// A folder that is watched, and what of its events concerns us.
    fn watched(paths: &Paths) -> (RecommendedWatcher, mpsc::Receiver<Event>) {
        for folder in [paths.agents(), paths.prompts()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let places = Places::of(paths);
        let (send, receive) = mpsc::channel();
        let ours = places.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Ok(event) = event
                && ours.concerns(&event)
            {
                send.send(event).ok();
            }
        })
        .unwrap();
        assert!(places.watch(&mut watcher).is_empty());
        (watcher, receive)
    }

    /// Long enough for any machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_reader_is_no_reason_to_look() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let file = paths.agents().join("linker.toml");
        std::fs::create_dir_all(paths.agents()).unwrap();
        std::fs::write(&file, "x").unwrap();
        let (_watcher, events) = watched(&paths);
        for _ in 0..400 {
            std::fs::read_to_string(&file).unwrap();
            std::fs::read_dir(paths.agents()).unwrap().count();
        }
        // Events come in their order: when this one is here, all of the readers have been.
        let other = paths.agents().join("other.toml");
        std::fs::write(&other, "x").unwrap();
        let first = events.recv_timeout(PATIENCE).unwrap();
        assert_eq!(first.paths, [other]);
    }

    /// None of 400 saves goes unseen, whatever way an editor has, and no watch is left behind by one.
    #[test]
    fn every_save_is_a_reason_to_look() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let (_watcher, events) = watched(&paths);
        let (file, beside) = (paths.agents().join("linker.toml"), paths.agents().join(".linker.toml.swp"));
        let backup = paths.agents().join("linker.toml~");
        std::fs::write(&file, "x").unwrap();
        for round in 0..400 {
            // What the save before still had to tell; one that comes later is of the same file.
            while events.try_recv().is_ok() {}
            match round % 4 {
                0 => std::fs::write(&file, round.to_string()).unwrap(),
                1 => {
                    std::fs::write(&beside, round.to_string()).unwrap();
                    std::fs::rename(&beside, &file).unwrap();
                }
                2 => {
                    std::fs::rename(&file, &backup).unwrap();
                    std::fs::write(&file, round.to_string()).unwrap();
                    std::fs::remove_file(&backup).unwrap();
                }
                _ => {
                    let mut open = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
                    std::io::Write::write_all(&mut open, b"more").unwrap();
                }
            }
            // A mark behind it: by then what the save had to tell is told.
            let mark = paths.agents().join(format!("mark{round}.toml"));
            std::fs::write(&mark, "x").unwrap();
            let mut seen = false;
            loop {
                let event = events.recv_timeout(PATIENCE).unwrap();
                seen |= event.paths.contains(&file);
                if event.paths.contains(&mark) {
                    break;
                }
            }
            assert!(seen, "save {round} went unseen");
        }
    }
}
