//! Finds the backups of a memory that contain something.

use super::files::FileId;
use super::generations::{BackupGeneration, generations};
use super::{archive, backup_places};
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_store::LoggedTransaction;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A part of a backup.
pub(crate) enum BackupPart<'a> {
    /// A change in the log.
    Transaction(&'a LoggedTransaction),
    /// The content of another file.
    File(&'a [u8]),
}

/// The backups of a memory that were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundBackups {
    /// Generations and archives with a part that fits.
    pub(crate) found: Vec<PathBuf>,
    /// Generations, archives and folders that cannot be read, or not completely.
    pub(crate) unread: Vec<PathBuf>,
}

/// Searches the places that the memory was backed up into. A file that several generations share is read once.
///
/// # Errors
/// Those of `check_cancelled`, which is called before each file.
pub(crate) fn search(
    paths: &Paths,
    fits: &dyn Fn(BackupPart<'_>) -> bool,
    check_cancelled: &dyn Fn() -> Result<()>,
) -> Result<FoundBackups> {
    let (mut result, mut known) = (FoundBackups::default(), BTreeMap::new());
    for place in backup_places::places(paths) {
        let Ok(all) = generations(&place) else {
            result.unread.push(place);
            continue;
        };
        for generation in all {
            let found = match generation.path.is_file() {
                true => in_archive(&generation, fits, check_cancelled)?,
                false => in_folder(&generation, fits, check_cancelled, &mut known)?,
            };
            match found {
                Some(true) => result.found.push(generation.path),
                Some(false) => {}
                None => result.unread.push(generation.path),
            }
        }
    }
    Ok(result)
}

/// Whether a generation has a part that fits; `None` if none was found and not all of it can be read.
fn in_folder(
    generation: &BackupGeneration,
    fits: &dyn Fn(BackupPart<'_>) -> bool,
    check_cancelled: &dyn Fn() -> Result<()>,
    known: &mut BTreeMap<FileId, Option<bool>>,
) -> Result<Option<bool>> {
    let Ok(manifest) = &generation.manifest else { return Ok(None) };
    let mut all_read = true;
    for file in manifest.all_files() {
        check_cancelled()?;
        let path = generation.path.join(&file.path);
        let id = FileId::of(&path);
        let found = match id.as_ref().and_then(|id| known.get(id)) {
            Some(found) => *found,
            None => fs::read(&path).ok().map(|bytes| in_file(&file.path, &bytes, fits)),
        };
        known.extend(id.map(|id| (id, found)));
        match found {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => all_read = false,
        }
    }
    Ok(all_read.then_some(false))
}

/// The same for the generation of an archive.
fn in_archive(
    generation: &BackupGeneration,
    fits: &dyn Fn(BackupPart<'_>) -> bool,
    check_cancelled: &dyn Fn() -> Result<()>,
) -> Result<Option<bool>> {
    let mut found = false;
    let read = archive::each_file(&generation.path, &mut |path, bytes| {
        check_cancelled()?;
        found = found || in_file(path, bytes, fits);
        Ok(())
    });
    check_cancelled()?;
    Ok(if found { Some(true) } else { read.ok().map(|()| false) })
}

/// Whether a file of a generation has a part that fits.
fn in_file(path: &str, bytes: &[u8], fits: &dyn Fn(BackupPart<'_>) -> bool) -> bool {
    if !path.starts_with("log/") {
        return fits(BackupPart::File(bytes));
    }
    let mut found = false;
    poc_store::each_logged_transaction(bytes, &mut |txn| {
        found = found || fits(BackupPart::Transaction(&txn));
    });
    found
}
