//! The state of the vaults, determined without reading their files.

use super::binding::{self, VaultBinding};
use super::report::{AmbiguousLink, FileError, UnresolvedVaultLink};
use super::scan::{FolderState, VaultScan};
use super::scan_record::ScanRecord;
use crate::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Number of files that have a note.
    pub files: u64,
    /// Number of files that are new, changed or deleted since the last sync.
    pub behind: u64,
    /// Number of files that differ from their notes because their last sync was undone. They are read again when they
    /// change, or by a sync that a person starts.
    #[serde(default)]
    pub undone: u64,
    /// When it was last synchronised.
    pub synchronised: Option<Timestamp>,
    /// Files that the last sync could not read.
    pub refused: Vec<FileError>,
    /// Links that are ambiguous because several notes have the name.
    pub ambiguous: Vec<AmbiguousLink>,
    /// Links to notes that do not exist.
    pub unresolved: Vec<UnresolvedVaultLink>,
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
    let files = binding::files(&memory.store, vault)?;
    let live: Vec<&String> =
        files.iter().filter(|(_, file)| file.deleted_at.is_none()).map(|(path, _)| path).collect();
    let scan = VaultScan::of(&vault.folder);
    let state = if scan.is_ok() { FolderState::Present } else { FolderState::Missing };
    let scan = scan.unwrap_or_default();
    let last = record.last.as_ref();
    let refused = last.map(|last| last.refused.clone()).unwrap_or_default();
    let (behind, undone) = match state {
        FolderState::Missing => (0, 0),
        FolderState::Present => {
            let mut undone = record.undone(memory, vault, &files)?;
            // The others have changed since that sync.
            undone.retain(|path| match scan.files.get(path) {
                Some(stat) => record.found(path) == Some(stat),
                None => record.synced(path).is_none(),
            });
            let deleted = live.iter().filter(|path| {
                !scan.files.contains_key(**path) && !scan.is_unknown(path) && !undone.contains(**path)
            });
            let changed = scan.files.iter().filter(|(path, stat)| record.found(path) != Some(*stat));
            ((deleted.count() + changed.count()) as u64, undone.len() as u64)
        }
    };
    Ok(VaultStatus {
        name: vault.name.clone(),
        folder: vault.folder.display().to_string(),
        state,
        write_back: vault.write_back,
        files: live.len() as u64,
        behind,
        undone,
        synchronised: last.map(|last| last.at),
        refused,
        ambiguous: last.map(|last| last.ambiguous.clone()).unwrap_or_default(),
        unresolved: last.map(|last| last.unresolved.clone()).unwrap_or_default(),
    })
}
