//! Deletes old generations of a backup folder, and finds damaged ones among those that remain.

use super::generations;
use super::manifest::BackupManifest;
use super::verify::Checker;
use super::{BackupCallbacks, damage_record};
use poc_graph::error::Result;
use poc_store::Store;
use std::path::Path;

/// The generations of a folder after a backup, by name.
#[derive(Debug, Default)]
pub(super) struct RetentionResult {
    /// Generations that were deleted because there are newer ones.
    pub(super) removed: Vec<String>,
    /// Generations with changes that the store lacks.
    pub(super) diverged: Vec<String>,
    /// Generations that remain and are known to be damaged.
    pub(super) damaged: Vec<String>,
}

/// Deletes the generations that are older than the newest `keep` intact ones. Damaged generations do not count, nor do
/// those with changes that the store lacks, which are not deleted.
///
/// The generations that remain are read if others are deleted for them, or if `check_all` is set. Files that they share
/// with the generation `newest` are not read, because the backup has just read them.
pub(super) fn remove_old(
    store: &Store,
    folder: &Path,
    keep: usize,
    newest: &str,
    check_all: bool,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RetentionResult> {
    let mut result = RetentionResult::default();
    let mut checker = Checker::new(callbacks);
    let mut own = Vec::new();
    for generation in generations::in_folder(folder)? {
        let Ok(manifest) = &generation.manifest else { continue };
        if has_other_changes(manifest, store)? {
            result.diverged.push(generation.name);
            continue;
        }
        if generation.name == newest {
            checker.add_intact(&generation.path, manifest);
        }
        own.push(generation);
    }
    let reads_files = check_all || own.len() > keep;
    let mut intact = 0;
    for generation in own {
        if intact == keep {
            generations::remove(folder, &generation)?;
            result.removed.push(generation.name);
            continue;
        }
        let problems = if reads_files {
            match checker.problems(&generation.path, generation.readable()?) {
                Ok(problems) => {
                    damage_record::write(&generation.path, &problems);
                    problems
                }
                // The new generation is complete. The next backup deletes what this one does not.
                Err(error) if (callbacks.check_cancelled)().is_err() => {
                    tracing::warn!("older backups were not checked, and none was deleted: {error}");
                    return Ok(result);
                }
                // What cannot be read cannot be restored. It must not keep older generations forever.
                Err(error) => vec![error.message],
            }
        } else {
            generation.known_problems()
        };
        if problems.is_empty() {
            intact += 1;
        } else {
            result.damaged.push(generation.name);
        }
    }
    Ok(result)
}

/// Whether a generation has changes that the store lacks.
pub(super) fn has_other_changes(manifest: &BackupManifest, store: &Store) -> Result<bool> {
    let last = manifest.log.last().map(|segment| segment.checksum);
    // A compaction rewrote the transactions up to its base, so their checksums cannot be compared.
    let is_written_anew = store.history_base().is_some_and(|base| manifest.seq <= base.seq);
    let is_other =
        !is_written_anew && store.checksum(manifest.seq)?.is_some_and(|checksum| Some(checksum) != last);
    Ok(is_other || manifest.seq > store.last_seq())
}
