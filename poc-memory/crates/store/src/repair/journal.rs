//! The moves of a repair. They are saved before the first move, and repeated until all are done.

use super::lost_notes;
use crate::atomic_file;
use crate::derived_files;
use crate::disk;
use crate::log::PARTIAL_SEGMENT;
use crate::log_head;
use crate::tenant_view_files;
use poc_graph::error::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file name of the journal of an unfinished repair, in the store's folder.
const JOURNAL: &str = "repair.json";
/// The file name of the list of moves of a finished repair, in its quarantine folder.
pub(super) const MANIFEST: &str = "manifest.json";
/// The parts of a store that a repair replaces.
const PARTS: [&str; 4] = ["log", "records", "view", log_head::NAME];
/// The source in the journal, and the kind of folder, when the damaged copy of a shared log is replaced.
const COPY: &str = "copy";

/// The moves of a repair, or of undoing one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The source of the repair, or `undo`, or `copy` if a copy of a shared log was replaced.
    source: String,
    /// The name of the folder in the quarantine.
    folder: String,
    /// When undoing, the folder of the repair that is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
    /// Pairs of source and target, relative to the store's folder. Each is a rename.
    moves: Vec<(PathBuf, PathBuf)>,
}

impl Journal {
    /// Replaces the log with a new one, and moves everything derived from the old log away, together with the list of
    /// lost notes. If the folder of the new log has a [`log_head`], that becomes the one of the store.
    pub(super) fn exchange(store: &Path, new_log: &str, source: &str) -> Result<Journal> {
        let folder = free_name(store, "repair");
        let mut moves = moves_to_quarantine(store, &folder).map_err(|error| unexamined(&error))?;
        if store.join(lost_notes::FILE).exists() {
            moves.push((lost_notes::FILE.into(), quarantine_path(&folder).join(lost_notes::FILE)));
        }
        let new_head = Path::new(new_log).join(log_head::NAME);
        if store.join(&new_head).try_exists().map_err(|error| unexamined(&error))? {
            moves.push((new_head, log_head::NAME.into()));
        }
        moves.push((new_log.into(), "log".into()));
        Ok(Journal { source: source.to_owned(), folder, undoes: None, moves })
    }

    /// Moves the log and everything derived from it away. The files of the log are moved one by one, because the
    /// segment that replaces them is prepared in the same folder.
    pub(super) fn put_aside(store: &Path) -> io::Result<Journal> {
        let (folder, log) = (free_name(store, COPY), Path::new("log"));
        let mut moves = moves_to_quarantine(store, &folder)?;
        let has_log = moves.iter().any(|(from, _)| from == log);
        moves.retain(|(from, _)| from != log);
        if has_log {
            for entry in fs::read_dir(store.join(log))? {
                let name = entry?.file_name();
                if name != PARTIAL_SEGMENT {
                    moves.push((log.join(&name), quarantine_path(&folder).join(log).join(&name)));
                }
            }
        }
        Ok(Journal { source: COPY.to_owned(), folder, undoes: None, moves })
    }

    /// Undoes the last repair that was not yet undone.
    pub(super) fn undo(store: &Path) -> Result<Journal> {
        let manifests = manifests(store);
        let is_undone = |name: &str| manifests.iter().any(|other| other.undoes.as_deref() == Some(name));
        // A copy that was replaced by what the shared log has is not brought back.
        let is_repair = |journal: &Journal| journal.undoes.is_none() && journal.source != COPY;
        let last = manifests.iter().rev().find(|journal| is_repair(journal) && !is_undone(&journal.folder));
        let Some(last) = last else {
            return Err(match unreadable_manifest(store) {
                Some(file) => {
                    Error::damaged(format!("the list of moves in `{}` cannot be read", file.display()))
                        .hint("move the files in its folder back by hand, or restore a backup")
                }
                None => Error::not_found("no repair of this store can be undone"),
            });
        };
        let replaced = quarantine_path(&last.folder);
        let replaces = |to: &&PathBuf| to.starts_with(&replaced) && !to.ends_with(lost_notes::FILE);
        let mut replaced_files = last.moves.iter().map(|(_, to)| to).filter(replaces);
        if !replaced_files.all(|file| store.join(file).exists()) {
            let message =
                format!("the files that `{}` replaced were deleted from the quarantine", last.folder);
            return Err(Error::not_found(message)
                .hint("the repair cannot be undone; `poc-memory restore` restores a backup"));
        }
        let folder = free_name(store, "undone");
        let mut moves = moves_to_quarantine(store, &folder).map_err(|error| unexamined(&error))?;
        for part in PARTS.map(PathBuf::from) {
            let moved = replaced.join(&part);
            if store.join(&moved).try_exists().map_err(|error| unexamined(&error))? {
                moves.push((moved, part));
            }
        }
        Ok(Journal { source: "undo".to_owned(), folder, undoes: Some(last.folder.clone()), moves })
    }

    /// Deletes data derived from the old log (the folders `derived`, the views of tenants and the derived files), and
    /// saves the journal. From then on, its moves are made, also after an interruption.
    pub(super) fn save(&self, store: &Path, derived: &[&str]) -> Result<()> {
        let derived = derived.iter().copied().chain([tenant_view_files::FOLDER, derived_files::FOLDER]);
        for folder in derived.map(|name| store.join(name)) {
            disk::remove_folder(&folder).map_err(|error| {
                Error::unavailable(format!("`{}` cannot be deleted: {error}", folder.display()))
                    .hint("nothing else was changed")
            })?;
        }
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| {
            Error::internal(format!("the journal of a repair cannot be encoded: {error}"))
        })?;
        atomic_file::write_plain(&store.join(JOURNAL), &[&bytes])
    }

    /// Performs the moves. Returns the name of the folder in the quarantine.
    pub(super) fn run(&self, store: &Path) -> Result<String> {
        self.make_moves(store).map_err(|error| {
            Error::new(disk::code(&error), format!("the repair was interrupted: {error}"))
                .hint("run the command again; it first completes the interrupted repair")
        })?;
        Ok(self.folder.clone())
    }

    fn make_moves(&self, store: &Path) -> io::Result<()> {
        let folder = store.join(quarantine_path(&self.folder));
        fs::create_dir_all(&folder)?;
        for (from, to) in &self.moves {
            let (from, to) = (store.join(from), store.join(to));
            // If a move was made before an interruption, its target exists and its source may have been created anew.
            if from.try_exists()? && !to.try_exists()? {
                if let Some(parent) = to.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::rename(from, to)?;
            }
        }
        if let Some(undone) = &self.undoes {
            // The store is as it was before the repair, so another repair finds these notes again.
            match fs::remove_file(store.join(quarantine_path(undone)).join(lost_notes::FILE)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let logs = [folder.join("log"), store.join("log")].into_iter().filter(|log| log.is_dir());
        for directory in logs.chain([folder.clone(), store.join("quarantine"), store.to_owned()]) {
            File::open(directory)?.sync_all()?;
        }
        fs::rename(store.join(JOURNAL), folder.join(MANIFEST))?;
        File::open(&folder)?.sync_all()?;
        File::open(store)?.sync_all()
    }
}

/// Whether a repair of the store in a directory has begun to move files, and is not complete.
pub(crate) fn is_interrupted(store: &Path) -> bool {
    store.join(JOURNAL).exists()
}

/// Completes an interrupted repair of the store in a directory.
pub(crate) fn complete(store: &Path) -> Result<()> {
    let bytes = match fs::read(store.join(JOURNAL)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(incomplete(Code::Unavailable, &error)),
    };
    let journal: Journal =
        serde_json::from_slice(&bytes).map_err(|error| incomplete(Code::Damaged, &error))?;
    tracing::warn!("an interrupted repair is completed");
    journal.make_moves(store).map_err(|error| incomplete(disk::code(&error), &error))
}

fn incomplete(code: Code, error: &dyn std::fmt::Display) -> Error {
    Error::new(code, format!("the interrupted repair in `{JOURNAL}` cannot be completed: {error}"))
}

/// The path of a repair's folder, relative to the store's folder.
fn quarantine_path(folder: &str) -> PathBuf {
    Path::new("quarantine").join(folder)
}

/// The moves of the existing parts of a store to a folder of the quarantine.
fn moves_to_quarantine(store: &Path, folder: &str) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut moves = Vec::new();
    for part in PARTS.map(PathBuf::from) {
        if store.join(&part).try_exists()? {
            moves.push((part.clone(), quarantine_path(folder).join(part)));
        }
    }
    Ok(moves)
}

/// The error if it is unknown which parts of a store exist.
fn unexamined(error: &io::Error) -> Error {
    Error::unavailable(format!("the files of the store cannot be examined: {error}"))
        .hint("nothing was changed; check the permissions of the memory's files, and the health of the disk")
}

/// A folder name that is free in the quarantine; its number follows the highest one in use.
fn free_name(store: &Path, kind: &str) -> String {
    let next = manifests(store).iter().filter_map(|journal| number(&journal.folder)).max().unwrap_or(0) + 1;
    let mut numbers = next..;
    let free = numbers.find(|number| !store.join(quarantine_path(&format!("{kind}-{number}"))).exists());
    format!("{kind}-{}", free.unwrap_or(next))
}

fn number(folder: &str) -> Option<u64> {
    folder.rsplit('-').next()?.parse().ok()
}

/// The names of the quarantine folders with files replaced by repairs and by undoing them.
pub fn repair_folders(store: &Path) -> Vec<String> {
    manifests(store).into_iter().map(|journal| journal.folder).collect()
}

/// Whether a folder of the quarantine has the damaged copy of a shared log that was replaced by what the shared log has.
pub(super) fn is_replaced_copy(folder: &Path) -> bool {
    let bytes = fs::read(folder.join(MANIFEST)).unwrap_or_default();
    serde_json::from_slice::<Journal>(&bytes).is_ok_and(|journal| journal.source == COPY)
}

/// The name of such a folder if nothing was repaired since its files were moved there, and they were not deleted.
pub(super) fn last_replaced_copy(store: &Path) -> Option<String> {
    let last = manifests(store).pop().filter(|journal| journal.source == COPY)?;
    let mut entries = fs::read_dir(store.join(quarantine_path(&last.folder))).ok()?.flatten();
    entries.any(|entry| entry.file_name() != MANIFEST).then_some(last.folder)
}

/// A manifest that is damaged.
fn unreadable_manifest(store: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(store.join("quarantine")).into_iter().flatten().flatten();
    let mut files = entries.map(|entry| entry.path().join(MANIFEST)).filter(|file| file.is_file());
    files.find(|file| fs::read(file).is_ok_and(|bytes| serde_json::from_slice::<Journal>(&bytes).is_err()))
}

/// The finished repairs and their undoings, oldest first.
fn manifests(store: &Path) -> Vec<Journal> {
    let entries = fs::read_dir(store.join("quarantine")).into_iter().flatten().flatten();
    let read =
        |entry: fs::DirEntry| serde_json::from_slice(&fs::read(entry.path().join(MANIFEST)).ok()?).ok();
    let mut found: Vec<Journal> = entries.filter_map(read).collect();
    found.sort_by_key(|journal| number(&journal.folder));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the damaged files would stay, and the manifest would say that they were moved.
    #[test]
    fn a_repair_is_not_complete_while_it_is_unknown_whether_a_file_exists() {
        let folder = poc_graph::testing::folder();
        let store = folder.path();
        let moves = vec![("records".into(), "quarantine/repair-1/records".into())];
        let journal =
            Journal { source: "log".to_owned(), folder: "repair-1".to_owned(), undoes: None, moves };
        journal.save(store, &[]).unwrap();
        // A symbolic link to itself.
        std::os::unix::fs::symlink("records", store.join("records")).unwrap();
        assert!(journal.run(store).is_err());
        assert!(is_interrupted(store));
        // A new repair does not leave it out either.
        assert_eq!(Journal::exchange(store, "new-log", "log").unwrap_err().code, Code::Unavailable);
        assert!(Journal::put_aside(store).is_err());
        fs::remove_file(store.join("records")).unwrap();
        fs::create_dir(store.join("records")).unwrap();
        complete(store).unwrap();
        assert!(!is_interrupted(store) && store.join("quarantine/repair-1/records").is_dir());
    }
}
