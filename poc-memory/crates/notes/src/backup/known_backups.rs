//! The newest backup in each folder or archive that a memory was backed up into.

use super::backup_destinations::{self, list_file};
use super::generation::BackupGeneration;
use super::generations::generations;
use poc_config::paths::Paths;
use poc_graph::time::Timestamp;
use std::path::PathBuf;

/// The newest backup in a destination whose log is not known to be damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBackup {
    /// The folder or the archive that `backup` was given.
    pub destination: PathBuf,
    /// The name of the generation.
    pub generation: String,
    /// The last transaction.
    pub seq: u64,
    /// Checksum of its record, as in the log. A log that was repaired after the backup may have another transaction
    /// with that number.
    pub checksum: Option<u32>,
    /// The last transaction that a compaction had deleted from the log; 0 if the log is complete.
    pub base: u64,
    /// When the backup began.
    pub at: Timestamp,
    /// The number of live notes of all tenants.
    pub notes: u64,
}

/// The backups of a memory, as far as it remembers where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBackups {
    /// The newest backup in each destination whose log is not known to be damaged.
    pub found: Vec<KnownBackup>,
    /// Destinations without a readable backup, for example because their disk is not mounted. The list of
    /// destinations itself if it cannot be read.
    pub unread: Vec<PathBuf>,
}

/// The newest backup in each remembered destination. Only manifests, lengths of files and remembered damage are read.
pub fn known_backups(paths: &Paths) -> KnownBackups {
    let destinations = match backup_destinations::destinations(paths) {
        Ok(destinations) => destinations,
        Err(error) => {
            tracing::warn!("no backup is known: {error}");
            return KnownBackups { found: Vec::new(), unread: vec![list_file(paths)] };
        }
    };
    let mut known = KnownBackups::default();
    for destination in destinations {
        let all = generations(&destination).unwrap_or_default();
        let mut usable = all.iter().filter(|generation| !generation.has_damaged_log());
        let newest = usable.find_map(|generation: &BackupGeneration| {
            let manifest = generation.manifest.as_ref().ok()?;
            Some(KnownBackup {
                destination: destination.clone(),
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
            None => known.unread.push(destination),
        }
    }
    known
}
