//! Restores a generation, or an earlier transaction of it, into a profile without notes.

mod placement;
mod selection;

use super::archive;
use super::backup_destinations;
use super::create::resolved_path;
use super::files;
use super::generation::BackupGeneration;
use super::generations::{generations, is_of_system};
use super::{BackupCallbacks, damaged, no_backups, unusable};
use crate::folder_entries::first_other;
use crate::history::UnfinishedCall;
use crate::resolve::quoted;
use placement::{STAGING, put_in_place};
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::is_empty_store;
use selection::{StateAvailability, candidates, hint_after_damage, no_such_state, select};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the folder beside the store into which an archive is unpacked.
const UNPACKED: &str = "restore-archive.partial";

/// The state to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// The last state of the newest generation.
    Newest,
    /// The state after a transaction.
    Seq(u64),
    /// The state after the last transaction that was made at or before the end of a period, such as a second. A backup
    /// that began within the period is new enough.
    Within {
        /// The start of the period.
        first: Timestamp,
        /// The end of the period.
        last: Timestamp,
    },
}

impl RestorePoint {
    /// The state at a time.
    pub fn at(time: Timestamp) -> RestorePoint {
        RestorePoint::Within { first: time, last: time }
    }
}

/// The result of a restoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The name of the generation that was restored.
    pub generation: String,
    /// Sequence number of the last restored transaction.
    pub seq: u64,
    /// The time of that transaction.
    pub at: Timestamp,
    /// Number of live notes of all tenants.
    pub notes: u64,
    /// The folder of the store.
    pub store: PathBuf,
    /// Files and folders that were restored in addition to the store.
    pub restored: Vec<PathBuf>,
    /// Files and folders that existed already and were left as they are.
    pub kept: Vec<PathBuf>,
    /// Newer generations with the state that were skipped because they are damaged, with the first problem of
    /// each.
    pub skipped: Vec<String>,
    /// Damaged files next to the log that were left out, with the problem of each.
    pub left_out: Vec<String>,
    /// The import or other change of which the state has only a part, if any; the backup has all of it.
    pub unfinished: Option<UnfinishedCall>,
}

/// Options of a restoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreOptions {
    /// The state.
    pub point: RestorePoint,
    /// Whether damaged settings, agents, prompts and runs are left out. Otherwise the generation counts as damaged.
    pub skip_damaged_files: bool,
}

/// Restores the newest intact generation of a folder or archive that has a state into the directories of a profile,
/// which have no store or an empty one. The store appears last, complete and opened once; settings, agents, prompts and
/// runs appear only where there are none.
///
/// # Errors
/// `conflict` when there is a store with content, `locked` when a process has it open, `not_found` when no generation
/// has the state, `damaged` when those that have it are damaged. The directories are unchanged then.
pub fn restore(
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    require_elsewhere(backup, target)?;
    let all = generations(backup)?;
    if all.is_empty() {
        return Err(no_backups(backup));
    }
    require_no_store(backup, target)?;
    let data = target.store().parent().map(Path::to_owned);
    let new_folder = data.filter(|data| !data.exists());
    let restored = match all.first() {
        Some(archived) if archived.path.is_file() => {
            restore_archive(archived, &all, backup, options, target, callbacks)
        }
        _ => restore_of(&all, backup, options, target, callbacks),
    };
    match (&restored, new_folder) {
        // Later erasures must search this backup, because it contains the same texts.
        (Ok(_), _) => backup_destinations::remember(target, backup),
        // The folder is not removed if it is not empty.
        (Err(_), Some(created)) => drop(fs::remove_dir(created)),
        (Err(_), None) => {}
    }
    restored
}

/// Returns an error if a folder contains anything that is not of a memory, because it would be mixed with what is
/// restored.
///
/// # Errors
/// `conflict` if it does, `unavailable` if it cannot be read.
pub fn require_folder_of_memory(folder: &Path) -> Result<()> {
    let paths = Paths::in_folder(folder);
    let is_unfinished = |name: &str| name == STAGING || name == UNPACKED;
    let may_stay = |name: &str| is_of_system(name) || is_unfinished(name);
    let is_own = |name: &OsStr| paths.has_name(name) || name.to_str().is_some_and(may_stay);
    match first_other(folder, is_own).map_err(|error| unusable(folder, "read", &error))? {
        None => Ok(()),
        Some(other) => {
            let (shown, other) = (folder.display(), other.to_string_lossy());
            Err(Error::conflict(format!("`{shown}` is not the folder of a memory: it contains `{other}`"))
                .hint("name a new or empty folder")
                .field("into"))
        }
    }
}

/// Unpacks an archive and restores its generation.
fn restore_archive(
    archived: &BackupGeneration,
    all: &[BackupGeneration],
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    if candidates(all, backup, options.point)?.is_empty() {
        return Err(no_such_state(all, options.point));
    }
    if let Err(problem) = &archived.manifest {
        return Err(damaged(&format!("`{}`: {problem}", backup.display())));
    }
    let unpacked = target.store().with_file_name(UNPACKED);
    files::remove(&unpacked)?;
    create_private(&unpacked)?;
    let restored = archive::unpack(archived, &unpacked, callbacks).and_then(|damage| {
        let restored = restore_of(&generations(&unpacked)?, backup, options, target, callbacks);
        // The error is about the first file that is missing or cut off, which the damage of the archive explains.
        restored.map_err(|error| match damage {
            Some(damage) => Error { message: format!("{}; {damage}", error.message), ..error },
            None => error,
        })
    });
    // The next restoration deletes what cannot be deleted now.
    let _ = files::remove(&unpacked);
    restored
}

/// Restores the newest intact one of the generations of a backup.
fn restore_of(
    all: &[BackupGeneration],
    backup: &Path,
    options: RestoreOptions,
    target: &Paths,
    callbacks: &BackupCallbacks<'_>,
) -> Result<RestoreReport> {
    let (mut skipped, mut is_log_intact) = (Vec::new(), false);
    for generation in candidates(all, backup, options.point)? {
        match select(generation, options, callbacks)? {
            StateAvailability::State { seq, damaged } => {
                let report = put_in_place(backup, generation, seq, &damaged, target, callbacks)?;
                return Ok(RestoreReport { skipped, ..report });
            }
            StateAvailability::DamagedFile(problem) => {
                is_log_intact = true;
                skipped.push(format!("`{}`: {problem}", generation.name));
            }
            StateAvailability::Damaged(problem) => skipped.push(format!("`{}`: {problem}", generation.name)),
            StateAvailability::Absent => {}
        }
    }
    match skipped.first() {
        Some(first) => Err(damaged(first).hint(hint_after_damage(all, is_log_intact, callbacks)?)),
        None => Err(no_such_state(all, options.point)),
    }
}

/// Returns an error if the target is inside the backup, because a restoration must not change the backup.
fn require_elsewhere(backup: &Path, target: &Paths) -> Result<()> {
    let store = resolved_path(&target.store());
    if backup.is_dir() && store.starts_with(resolved_path(backup)) {
        let message = format!("`{}` is inside the backup", store.display());
        return Err(Error::invalid(message).hint("name a folder elsewhere").field("into"));
    }
    Ok(())
}

/// Returns an error if there is a store with content already, or another file at the path of the store.
fn require_no_store(backup: &Path, target: &Paths) -> Result<()> {
    let store = target.store();
    let is_empty = match fs::read_dir(&store) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(unusable(&store, "read", &error)),
    };
    if is_empty || is_empty_store(&store)? {
        return Ok(());
    }
    Err(Error::conflict(format!("`{}` already contains a store", store.display())).hint(format!(
        "`poc-memory restore {} --into OTHER-FOLDER` restores elsewhere; or stop the daemon and move the store away",
        quoted(&backup.display().to_string())
    )))
}
