//! The state of the vaults, determined without reading files whose size and time are known.

use super::binding::{self, VaultBinding, VaultFile, VaultFiles};
use super::deleted_notes::take_without_note;
use super::report::{AmbiguousLink, FileError, UnresolvedVaultLink};
use super::scan::{FolderState, VaultScan};
use super::scan_record::ScanRecord;
use crate::{Memory, regular_file};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// The state of a vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VaultStatus {
    /// Its name.
    pub name: String,
    /// The folder.
    pub folder: String,
    /// Whether the folder exists.
    pub state: FolderState,
    /// Whether links and replacements are written into the files.
    pub write_back: bool,
    /// Whether the memory has changed since the last sync, so that links may not be in the files yet. The next sync
    /// writes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write_back_due: bool,
    /// Number of files that have a note.
    pub files: u64,
    /// Number of files that are new, changed, moved or deleted since the last sync.
    pub behind: u64,
    /// These files by what happened to them.
    #[serde(default)]
    pub changes: FileChanges,
    /// Number of files that differ from their notes because a change was undone. They are read again when they change,
    /// or by a sync that a person starts.
    #[serde(default)]
    pub undone: u64,
    /// Number of files whose notes were deleted in the memory. The notes are made again when the files change, or by a
    /// sync that a person starts.
    #[serde(default)]
    pub without_note: u64,
    /// Number of notes whose text was changed in the memory and differs from their file. The next change of the file
    /// replaces that text.
    #[serde(default)]
    pub edited: u64,
    /// When it was last synchronised.
    pub synchronised: Option<Timestamp>,
    /// Files that the last sync could not read.
    pub refused: Vec<FileError>,
    /// Properties that were left out because of their value or occur several times, keys that another note already has,
    /// and texts that were changed in the memory and that a file has replaced. Only of files that have not changed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<FileError>,
    /// Links that are ambiguous because several notes have the name.
    pub ambiguous: Vec<AmbiguousLink>,
    /// Links to notes that do not exist.
    pub unresolved: Vec<UnresolvedVaultLink>,
}

/// Numbers of files by what happened to them since the last sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanges {
    /// Files without a note that have appeared or changed.
    pub new: u64,
    /// Files with a note that have changed.
    pub changed: u64,
    /// Files that are at another path.
    pub moved: u64,
    /// Files with a note that do not exist any more.
    pub deleted: u64,
}

/// The state of each vault of the tenant, by name.
pub fn status(memory: &Memory) -> Result<Vec<VaultStatus>> {
    binding::bindings(memory)?.iter().map(|vault| status_of(memory, vault)).collect()
}

/// The files of a vault that the last sync could not read.
pub fn last_refused(memory: &Memory, vault: &VaultBinding) -> Vec<FileError> {
    ScanRecord::of(memory, vault).last.map(|last| last.refused).unwrap_or_default()
}

fn status_of(memory: &Memory, vault: &VaultBinding) -> Result<VaultStatus> {
    let record = ScanRecord::of(memory, vault);
    let mut files = binding::files(&memory.store, vault)?;
    let mut undone = record.undone(memory, vault, &files)?;
    let mut without_note = take_without_note(memory, &mut files)?;
    undone.retain(|path| !without_note.contains(path));
    files.retain(|_, file| file.deleted_at.is_none());
    let scan = VaultScan::of(&vault.folder);
    let state = if scan.is_ok() { FolderState::Present } else { FolderState::Missing };
    let changes = match &scan {
        Ok(scan) => {
            // The others have changed since that sync.
            undone.retain(|path| match scan.files.get(path) {
                Some(stat) => record.found(path) == Some(stat),
                None => record.synced(path).is_none(),
            });
            let is_unchanged =
                |path: &String| scan.files.get(path).is_some_and(|stat| record.found(path) == Some(stat));
            without_note.retain(is_unchanged);
            FileChanges::of(vault, scan, &record, &files, &undone)
        }
        Err(_) => {
            undone.clear();
            without_note.clear();
            FileChanges::default()
        }
    };
    let last = record.last.as_ref();
    Ok(VaultStatus {
        name: vault.name.clone(),
        folder: vault.folder.display().to_string(),
        state,
        write_back: vault.write_back,
        write_back_due: vault.write_back && last.is_none_or(|last| last.seq < memory.store.published_seq()),
        files: files.len() as u64,
        behind: changes.new + changes.changed + changes.moved + changes.deleted,
        changes,
        undone: undone.len() as u64,
        without_note: without_note.len() as u64,
        edited: edited(memory, &files, &undone)?,
        synchronised: last.map(|last| last.at),
        refused: last.map(|last| last.refused.clone()).unwrap_or_default(),
        warnings: last.map(|last| last.warnings.clone()).unwrap_or_default(),
        ambiguous: last.map(|last| last.ambiguous.clone()).unwrap_or_default(),
        unresolved: last.map(|last| last.unresolved.clone()).unwrap_or_default(),
    })
}

impl FileChanges {
    /// The changes since the last sync. `files` has the records of the files with a note; the files in `undone` do not
    /// count as deleted.
    fn of(
        vault: &VaultBinding,
        scan: &VaultScan,
        record: &ScanRecord,
        files: &VaultFiles,
        undone: &BTreeSet<String>,
    ) -> FileChanges {
        let mut changes = FileChanges::default();
        let is_gone = |path: &String| !scan.files.contains_key(path) && !scan.is_unknown(path);
        let gone = files.keys().filter(|path| is_gone(path) && !undone.contains(*path));
        // Comparing each new file with each deleted one would take minutes after a large folder is renamed.
        let mut moved_from: HashMap<_, u64> = HashMap::new();
        for path in gone {
            changes.deleted += 1;
            if let Some(before) = record.found(path) {
                *moved_from.entry(before.moved_identity()).or_default() += 1;
            }
        }
        for (path, stat) in scan.files.iter().filter(|(path, stat)| record.found(path) != Some(*stat)) {
            match files.get(path) {
                // No sync has recorded size and time, because the memory was restored.
                Some(file) if record.last.is_none() && has_bytes(vault, path, file) => {}
                Some(_) => changes.changed += 1,
                None => match moved_from.get_mut(&stat.moved_identity()).filter(|left| **left > 0) {
                    Some(left) => {
                        *left -= 1;
                        changes.deleted -= 1;
                        changes.moved += 1;
                    }
                    None => changes.new += 1,
                },
            }
        }
        changes
    }
}

/// Whether a file has the bytes that its record describes.
fn has_bytes(vault: &VaultBinding, path: &str, file: &VaultFile) -> bool {
    let bytes = regular_file::read(&vault.folder.join(path));
    bytes.is_ok_and(|bytes| *blake3::hash(&bytes).as_bytes() == file.digest.bytes)
}

/// The number of notes that do not have the text of their file, because they were changed in the memory.
fn edited(memory: &Memory, files: &VaultFiles, undone: &BTreeSet<String>) -> Result<u64> {
    let view = memory.store.view();
    let mut edited = 0;
    for (path, file) in files {
        // A note that replaced the one of the file has a text of its own.
        let has_text = file.digest.has_hash() && file.write_back.replaced != Some(file.node);
        let is_source = file.is_own && file.is_source && has_text && !undone.contains(path);
        // The first version of a note has the text of its file.
        let is_later = |ix| view.is_live(ix) && view.version(ix) > 1;
        if is_source && view.find(file.node).is_some_and(is_later) {
            let note = memory.store.node(file.node)?;
            edited += u64::from(note.is_some_and(|note| !file.digest.is_text_of(&note)));
        }
    }
    Ok(edited)
}
