//! The list of the notes that a repair lost, in its folder in the quarantine.
//!
//! It is a file of its own and not a part of the manifest, because keys contain words of texts: it is deleted with the
//! files that the repair replaced, and the manifest stays.

use super::part_files::unreadable;
use crate::atomic_file;
use crate::index_entries::LostNote;
use poc_graph::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The name of the file, in the folder of the store and then in that of the repair.
pub(super) const FILE: &str = "lost-notes.json";

/// Saves a list in a folder. An empty one has no file, and deletes what a killed process has half written.
///
/// # Errors
/// `read_only` or `unavailable` if the file cannot be written.
pub(super) fn save(folder: &Path, notes: &[LostNote]) -> Result<()> {
    let file = folder.join(FILE);
    if notes.is_empty() {
        return atomic_file::remove(&file).and_then(|()| atomic_file::remove(&atomic_file::partial(&file)));
    }
    let bytes = serde_json::to_vec_pretty(notes)
        .map_err(|error| Error::internal(format!("the list of lost notes cannot be encoded: {error}")))?;
    atomic_file::write_plain(&file, &[&bytes])
}

/// The list in a folder; empty if there is none.
///
/// # Errors
/// `unavailable` if the file cannot be read, `damaged` if it does not contain such a list.
pub(super) fn read(folder: &Path) -> Result<Vec<LostNote>> {
    let file = folder.join(FILE);
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| Error::damaged(format!("`{}` cannot be read: {error}", file.display()))),
        // Parts of the quarantine can be files.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(unreadable(&file, &error)),
    }
}
