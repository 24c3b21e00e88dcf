//! Backups of a profile in a folder or in one file, and their restoration.
//!
//! A backup folder contains generations, one folder each, named by sequence number and time. A generation has
//! the log up to one transaction, the settings, agents and prompts, and the prompts and replies of past runs.
//! It is written under a temporary name, read back, and renamed when it is complete. Files that an earlier
//! generation has with the same content are hard links to it; files of a generation are never changed, except the
//! list of its damage. Data derived from the log, such as indexes, and secrets are left out.

mod archive;
mod backup_destinations;
mod create;
mod create_archive;
mod damage_record;
mod files;
mod folder_lock;
mod generation;
mod generations;
mod known_backups;
mod manifest;
mod restore;
mod retention;
mod search;
#[cfg(test)]
mod tests;
mod verify;

pub use create::{BackupReport, FileTotals, create};
pub use create_archive::{create_archive, is_archive};
pub use files::BackupFile;
pub use generation::BackupGeneration;
pub use generations::generations;
pub(crate) use generations::is_generation;
pub use known_backups::{KnownBackup, KnownBackups, known_backups};
pub use manifest::{BackupManifest, BackupSegment};
pub use restore::{RestoreOptions, RestorePoint, RestoreReport, require_folder_of_memory, restore};
pub(crate) use search::{BackupPart, all_backups, search};
pub use verify::{BackupCheck, verify};

use poc_graph::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Callbacks of a long operation on a backup.
pub struct BackupCallbacks<'a> {
    /// Called with the number of bytes that were read or written, and the total if it is known.
    pub progress: &'a dyn Fn(u64, Option<u64>),
    /// Called often; an error ends the operation, which then removes what it has written.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// The files in a folder and in its subfolders; none if it is missing.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(files::list(folder)?.files)
}

/// The error for a folder without generations.
pub fn no_backups(path: &Path) -> Error {
    Error::not_found(format!("`{}` has no backup", path.display()))
        .hint("name the folder or file that `poc-memory backup` was given")
        .field("path")
}

/// The error for a file or folder that the system refuses.
fn unusable(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be {what}: {error}", path.display()))
}

/// The error for a backup that is damaged.
fn damaged(problem: &str) -> Error {
    Error::damaged(format!("the backup is damaged and was not restored: {problem}"))
        .hint("`poc-memory backup PATH --verify` lists the damage")
}
