//! The stored result of the last sync of a vault: which files need not be read again, and what was reported.
//!
//! The record is a file below the data directory. Without it, the next sync reads every file.

use super::binding::VaultBinding;
use super::report::SyncSummary;
use super::scan::FileStat;
use crate::Memory;
use poc_config::files;
use poc_config::paths::create_private;
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
}

impl ScanRecord {
    /// The record of a vault; empty if there is none.
    pub(super) fn of(memory: &Memory, vault: &VaultBinding) -> ScanRecord {
        let bytes = std::fs::read(file(memory, vault)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
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

    /// A file as the last sync found it.
    pub(super) fn found(&self, path: &str) -> Option<&FileStat> {
        self.files.get(path).or_else(|| self.reread.get(path))
    }

    /// Records that a sync begins to change notes.
    pub(super) fn begin(&mut self, memory: &Memory, vault: &VaultBinding) -> Result<()> {
        // Without a complete sync, the next one updates all links anyway.
        if self.last.is_none() || self.is_unfinished {
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
