//! The stored result of the last sync of a vault: which files need not be read again, and what was reported.
//!
//! The record is a file below the data directory. Without it, the next sync reads every file, also those whose last sync
//! was undone.

use super::binding::{VaultBinding, VaultFile, VaultFiles};
use super::report::SyncSummary;
use super::restored_files::restored_since;
use super::scan::FileStat;
use crate::Memory;
use poc_config::files;
use poc_config::paths::create_private;
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file that changed less than this many nanoseconds before it was read is read again: a second change
/// within one tick of the file system's clock would not change its times.
const UNCERTAIN: i64 = 1_000_000_000;

/// The stored result of the last sync.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ScanRecord {
    /// The files as they were read.
    #[serde(default)]
    pub(super) files: BTreeMap<String, FileStat>,
    /// The other files that were found. The next sync reads them again.
    #[serde(default)]
    reread: BTreeMap<String, FileStat>,
    /// The last sync.
    #[serde(default)]
    pub(super) last: Option<SyncSummary>,
    /// Whether a later sync began to change notes and was interrupted. The next one updates all links.
    #[serde(default)]
    pub(super) is_unfinished: bool,
    /// The versions of the files that had a note after the last sync; `None` if an earlier release wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    synced: Option<BTreeMap<String, FileVersion>>,
    /// The files that the last sync left alone, because a change was undone or their notes were deleted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    held: BTreeSet<String>,
    /// The last transaction before the last sync. `held` has no files whose sync was undone after it.
    #[serde(default)]
    before_sync: u64,
}

/// The first eight bytes of the hash of a file.
pub(super) type FileVersion = u64;

/// The version of a file with this hash.
pub(super) fn version(hash: &[u8; 32]) -> FileVersion {
    hash.first_chunk().map_or(0, |first| FileVersion::from_le_bytes(*first))
}

/// The versions of the recorded files that exist.
fn versions(records: &VaultFiles) -> BTreeMap<String, FileVersion> {
    let live = records.iter().filter(|(_, record)| record.deleted_at.is_none());
    live.map(|(path, record)| (path.clone(), version(&record.digest.bytes))).collect()
}

impl ScanRecord {
    /// The record of a vault; empty if there is none, or if the store is in an earlier state, because a backup was
    /// restored.
    pub(super) fn of(memory: &Memory, vault: &VaultBinding) -> ScanRecord {
        let bytes = std::fs::read(file(memory, vault)).unwrap_or_default();
        let record: ScanRecord = serde_json::from_slice(&bytes).unwrap_or_default();
        let is_newer = record.last.as_ref().is_some_and(|last| last.seq > memory.store.published_seq());
        if is_newer { ScanRecord::default() } else { record }
    }

    /// Records the files that were found. The next sync can recognise those that are settled as unchanged. `began`
    /// is the start of the scan by the clock of the file system.
    pub(super) fn set_files(
        &mut self,
        settled: impl Iterator<Item = (String, FileStat)>,
        found: BTreeMap<String, FileStat>,
        began: i64,
    ) {
        self.files =
            settled.filter(|(_, stat)| stat.last_change().saturating_add(UNCERTAIN) < began).collect();
        self.reread = found.into_iter().filter(|(path, _)| !self.files.contains_key(path)).collect();
    }

    /// The files whose records are no longer those of the last sync, because it was undone. Records that differ for
    /// another reason, such as an interrupted sync, a repair or a sync by another daemon, are not among them.
    pub(super) fn undone(
        &self,
        memory: &Memory,
        vault: &VaultBinding,
        records: &VaultFiles,
    ) -> Result<BTreeSet<String>> {
        let Some(synced) = &self.synced else { return Ok(BTreeSet::new()) };
        let versions = versions(records);
        let paths = synced.keys().chain(versions.keys());
        let mut undone: BTreeSet<String> =
            paths.filter(|path| synced.get(*path) != versions.get(*path)).cloned().collect();
        if !undone.is_subset(&self.held) {
            let restored = restored_since(memory, vault, self.before_sync)?;
            undone.retain(|path| self.held.contains(path) || restored.contains(path));
        }
        Ok(undone)
    }

    /// Whether the file of a record must be read again, because a sync was interrupted after it wrote the record.
    pub(super) fn is_interrupted(&self, path: &str, record: &VaultFile) -> bool {
        self.is_unfinished && self.synced(path) != Some(version(&record.digest.bytes))
    }

    /// The version of a file that the last sync read; `None` if the file had no note after it.
    pub(super) fn synced(&self, path: &str) -> Option<FileVersion> {
        self.synced.as_ref()?.get(path).copied()
    }

    /// Records the files that a sync leaves alone, and the last transaction before the sync.
    pub(super) fn set_held(&mut self, held: BTreeSet<String>, before_sync: u64) {
        (self.held, self.before_sync) = (held, before_sync);
    }

    /// Records the files after a sync. Those that it left alone are still undone.
    pub(super) fn set_synced(&mut self, records: &VaultFiles) {
        let mut synced = versions(records);
        for path in &self.held {
            match self.synced(path) {
                Some(version) => synced.insert(path.clone(), version),
                None => synced.remove(path),
            };
        }
        self.synced = Some(synced);
    }

    /// A file as the last sync found it.
    pub(super) fn found(&self, path: &str) -> Option<&FileStat> {
        self.files.get(path).or_else(|| self.reread.get(path))
    }

    /// Records that a sync begins to change notes.
    pub(super) fn begin(&mut self, memory: &Memory, vault: &VaultBinding) -> Result<()> {
        // Without a complete sync, the next one updates all links anyway.
        if self.last.is_none() {
            return Ok(());
        }
        self.is_unfinished = true;
        self.write(memory, vault)
    }

    pub(super) fn write(&self, memory: &Memory, vault: &VaultBinding) -> Result<()> {
        let file = file(memory, vault);
        create_private(file.parent().unwrap_or(Path::new(".")))?;
        let text = serde_json::to_string(self)
            .map_err(|error| Error::internal(format!("the record of a scan cannot be written: {error}")))?;
        files::write(&file, &text)
    }
}

/// The time now by the clock of the file system, in nanoseconds since 1970.
pub(super) fn file_time(memory: &Memory) -> Result<i64> {
    let folder = memory.paths.vaults();
    create_private(&folder)?;
    let wrong = |error: std::io::Error| {
        Error::unavailable(format!("a file cannot be created: {error}")).file(folder.display().to_string())
    };
    let mut probe = tempfile::NamedTempFile::new_in(&folder).map_err(wrong)?;
    probe.write_all(b"\n").map_err(wrong)?;
    Ok(FileStat::of(&probe.as_file().metadata().map_err(wrong)?).modified)
}

/// Deletes the record of a vault.
pub(super) fn remove(memory: &Memory, vault: &VaultBinding) {
    // A record without a vault is never read.
    let _ = std::fs::remove_file(file(memory, vault));
}

fn file(memory: &Memory, vault: &VaultBinding) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    hasher.update(memory.store.tuple().to_string().as_bytes()).update(&vault.number.to_be_bytes());
    hasher.update(vault.folder.as_os_str().as_encoded_bytes());
    let name = hasher.finalize().to_hex();
    memory.paths.vaults().join(format!("{}.json", name.get(..32).unwrap_or(&name)))
}
