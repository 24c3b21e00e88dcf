//! The newest backup in each place that a memory was backed up into.

use super::backup_places;
use super::generation::BackupGeneration;
use super::generations::generations;
use poc_config::paths::Paths;
use poc_graph::time::Timestamp;
use std::path::PathBuf;

/// The newest complete backup in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBackup {
    /// The folder or the archive that `backup` was given.
    pub place: PathBuf,
    /// The name of the generation.
    pub generation: String,
    /// The last transaction.
    pub seq: u64,
    /// Checksum of its record, as in the log. A log that was repaired after the backup may have another transaction
    /// with that number.
    pub checksum: Option<u32>,
    /// The last transaction that a compaction had dropped from the log; 0 if the log is complete.
    pub base: u64,
    /// When the backup began.
    pub at: Timestamp,
    /// The number of live notes of all tenants.
    pub notes: u64,
}

/// The backups of a memory, as far as it remembers where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBackups {
    /// The newest complete backup of each place.
    pub found: Vec<KnownBackup>,
    /// Places without a readable backup, for example because their disk is not mounted.
    pub unread: Vec<PathBuf>,
}

/// The newest backup in each remembered place. Only manifests and lengths of files are read.
pub fn known_backups(paths: &Paths) -> KnownBackups {
    let mut known = KnownBackups::default();
    for place in backup_places::places(paths) {
        let all = generations(&place).unwrap_or_default();
        let mut complete = all.iter().filter(|generation| generation.incomplete_files().is_empty());
        let newest = complete.find_map(|generation: &BackupGeneration| {
            let manifest = generation.manifest.as_ref().ok()?;
            Some(KnownBackup {
                place: place.clone(),
                generation: generation.name.clone(),
                seq: manifest.seq,
                checksum: manifest.log.last().map(|segment| segment.checksum),
                base: manifest.base,
                at: manifest.at,
                notes: manifest.notes,
            })
        });
        match newest {
            Some(backup) => known.found.push(backup),
            None => known.unread.push(place),
        }
    }
    known
}
