//! Determines which folders are watched and which of their events are relevant.

use crate::file_events::{FileEventWatcher, is_change};
use notify::{Event, RecursiveMode};
use poc_config::paths::Paths;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The watched folders. Single files are never watched: when an editor saves by renaming, the watch would
/// stay with the old file. The parents are watched as well, because the folders may be created later.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedPaths {
    folders: Vec<PathBuf>,
    /// Folders in which every file is relevant.
    inside: Vec<PathBuf>,
    /// Single files and folders that are relevant.
    exact: Vec<PathBuf>,
}

/// Maximum number of symbolic links on the way to a file.
const MAX_LINKS: usize = 16;

/// Maximum number of files behind symbolic links that are watched.
const MAX_TARGETS: usize = 1000;

impl WatchedPaths {
    /// The watched paths of a profile.
    pub(crate) fn of(paths: &Paths) -> WatchedPaths {
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
        let mut watched = WatchedPaths { folders, inside, exact };
        watched.add_targets();
        // Some systems report the canonical path of a file.
        watched.inside.extend(canonical(&watched.inside));
        watched.exact.extend(canonical(&watched.exact));
        watched
    }

    /// Adds the targets of symbolic links: of the settings file, the folders of agents and prompts, and the
    /// files in them. A change of a target causes no event in the folder of the link. Links on the way to a target
    /// are added as well, because they may be replaced.
    fn add_targets(&mut self) {
        let mut targets: Vec<PathBuf> = self.exact.iter().flat_map(|path| links(path)).collect();
        for path in self.inside.clone() {
            // The files in the folder at the end are relevant.
            self.inside.extend(links(&path).pop().filter(|end| end.is_dir()));
        }
        for folder in self.inside.clone() {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            targets.extend(files.take(MAX_TARGETS).flat_map(|entry| links(&entry.path())));
            self.folders.push(folder);
        }
        self.folders.extend(targets.iter().filter_map(|target| target.parent()).map(Path::to_owned));
        self.exact.extend(targets);
        for paths in [&mut self.folders, &mut self.inside, &mut self.exact] {
            paths.sort();
            paths.dedup();
        }
    }

    /// Whether agents, prompts or settings may have changed with an event. Other files in the same folders, such as the
    /// log, do not count.
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        let matters = |path: &PathBuf| {
            self.exact.contains(path)
                || path.parent().is_some_and(|folder| self.inside.iter().any(|inside| inside == folder))
        };
        event.need_rescan() || (is_change(event) && event.paths.iter().any(matters))
    }

    /// Watches every folder that exists. A replaced folder is watched again. Returns existing folders that cannot be
    /// watched.
    pub(crate) fn watch(&self, watcher: &mut FileEventWatcher) -> Vec<(PathBuf, notify::Error)> {
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

/// Where a symbolic link leads, if the path is one: the links on the way, also those of folders, and the end.
fn links(path: &Path) -> Vec<PathBuf> {
    let Ok(target) = std::fs::read_link(path) else { return Vec::new() };
    // A relative target starts at the folder of its link. Events contain the path by which a folder is watched, so that
    // path must contain neither `..` nor another link.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut here = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let (mut found, mut rest) = (Vec::new(), reversed(&target));
    while let Some(part) = rest.pop() {
        match part.to_str() {
            Some(".") => continue,
            Some("..") => {
                here.pop();
                continue;
            }
            _ => {}
        }
        // An absolute target begins with `/`, which replaces the path.
        let next = here.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) if found.len() < MAX_LINKS => {
                rest.extend(reversed(&target));
                found.push(next);
            }
            _ => here = next,
        }
    }
    found.push(here);
    found
}

/// The parts of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// The same paths without links: whole, and up to the last part, which may be a link itself or may not exist.
fn canonical(paths: &[PathBuf]) -> Vec<PathBuf> {
    let of = |path: &PathBuf| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        let beside = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
        [path.canonicalize().ok(), beside]
    };
    let found =
        paths.iter().flat_map(|path| of(path).into_iter().flatten().filter(move |found| found != path));
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::EventKind;
    use notify::event::{AccessKind, CreateKind, Flag, MetadataKind, ModifyKind, RemoveKind, RenameMode};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn only_changes_of_watched_paths_matter() {
        let watched = WatchedPaths::of(&Paths::in_folder(Path::new("/home/m")));
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
            assert_eq!(watched.concerns(&event), expected, "{kind:?} {path}");
        }
        assert!(watched.concerns(&Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    }

    /// The paths of a profile in a folder inside a temporary folder. The folder above a profile is watched, too, and
    /// the folder of all temporary files would be slow to watch.
    fn profile() -> (tempfile::TempDir, Paths) {
        let parent = poc_graph::testing::folder();
        let home = parent.path().join("home");
        std::fs::create_dir(&home).unwrap();
        (parent, Paths::in_folder(&home))
    }

    #[test]
    fn folders_and_their_parents_are_watched() {
        let (parent, paths) = profile();
        for folder in [paths.agents(), paths.prompts()] {
            std::fs::create_dir(folder).unwrap();
        }
        let mut watcher = FileEventWatcher::new(|_| {}).unwrap();
        let watched = WatchedPaths::of(&paths);
        let home = parent.path().join("home");
        for folder in [parent.path().to_owned(), home, paths.agents(), paths.prompts()] {
            assert!(watched.folders.contains(&folder));
        }
        // Watching twice, or without one of the folders, is not an error.
        assert!(watched.watch(&mut watcher).is_empty());
        std::fs::remove_dir(paths.agents()).unwrap();
        assert!(watched.watch(&mut watcher).is_empty());
    }

    /// A watcher of the paths, and the events that matter.
    fn watcher(paths: &Paths) -> (FileEventWatcher, mpsc::Receiver<Event>) {
        for folder in [paths.agents(), paths.prompts()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let watched = WatchedPaths::of(paths);
        let (send, receive) = mpsc::channel();
        let filter = watched.clone();
        let mut watcher = FileEventWatcher::new(move |event: notify::Result<Event>| {
            if let Ok(event) = event
                && filter.concerns(&event)
            {
                send.send(event).ok();
            }
        })
        .unwrap();
        assert!(watched.watch(&mut watcher).is_empty());
        (watcher, receive)
    }

    /// As deployments replace a folder: the link `current` leads to the files in use.
    #[test]
    fn replacing_a_link_on_the_way_to_a_file_causes_a_scan() {
        use std::os::unix::fs::symlink;
        let ((_parent, paths), away) = (profile(), poc_graph::testing::folder());
        let at = |name: &str| away.path().join(name);
        for release in ["one", "two"] {
            std::fs::create_dir(at(release)).unwrap();
            std::fs::write(at(release).join("config.toml"), "").unwrap();
        }
        symlink("./one", at("current")).unwrap();
        symlink(at("one/../current/config.toml"), paths.config_file()).unwrap();
        let (_watcher, events) = watcher(&paths);
        symlink("two", at("next")).unwrap();
        std::fs::rename(at("next"), at("current")).unwrap();
        let event = events.recv_timeout(WAIT_LIMIT).unwrap();
        let current = away.path().canonicalize().unwrap().join("current");
        assert!(event.paths.contains(&current), "{event:?}");
    }

    /// The folder has other files, such as the log, which is written often.
    #[test]
    fn only_the_same_files_matter_when_the_home_is_a_link() {
        let away = poc_graph::testing::folder();
        let real = away.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("real")).unwrap();
        std::os::unix::fs::symlink("real", real.join("home")).unwrap();
        let watched = WatchedPaths::of(&Paths::in_folder(&real.join("home")));
        for (path, expected) in [
            ("home/config.toml", true),
            ("home/agents/linker.toml", true),
            ("home/daemon.log", false),
            ("real/config.toml", true),
            ("real/agents/linker.toml", true),
            ("real/daemon.log", false),
        ] {
            let event = Event::new(EventKind::Modify(ModifyKind::Any)).add_path(real.join(path));
            assert_eq!(watched.concerns(&event), expected, "{path}");
        }
    }

    /// Long enough for any machine.
    const WAIT_LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn reading_a_file_causes_no_scan() {
        let (_parent, paths) = profile();
        let file = paths.agents().join("linker.toml");
        std::fs::create_dir_all(paths.agents()).unwrap();
        std::fs::write(&file, "x").unwrap();
        let (_watcher, events) = watcher(&paths);
        for _ in 0..400 {
            std::fs::read_to_string(&file).unwrap();
            std::fs::read_dir(paths.agents()).unwrap().count();
        }
        // Events arrive in order: this one comes after all events of the reads.
        let other = paths.agents().join("other.toml");
        std::fs::write(&other, "x").unwrap();
        let first = events.recv_timeout(WAIT_LIMIT).unwrap();
        assert_eq!(first.paths, [other]);
    }

    /// Each of 400 saves causes an event, whichever way the editor saves, and the watch survives it.
    #[test]
    fn every_save_causes_a_scan() {
        let (_parent, paths) = profile();
        let (_watcher, events) = watcher(&paths);
        let (file, beside) = (paths.agents().join("linker.toml"), paths.agents().join(".linker.toml.swp"));
        let backup = paths.agents().join("linker.toml~");
        std::fs::write(&file, "x").unwrap();
        for round in 0..400 {
            // Drops late events of the save before, which are about the same file.
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
            // The mark is written after the save: when its event is here, so are those of the save.
            let mark = paths.agents().join(format!("mark{round}.toml"));
            std::fs::write(&mark, "x").unwrap();
            let mut seen = false;
            loop {
                let event = events.recv_timeout(WAIT_LIMIT).unwrap();
                seen |= event.paths.contains(&file);
                if event.paths.contains(&mark) {
                    break;
                }
            }
            assert!(seen, "save {round} caused no event");
        }
    }
}
