//! Remembers the folders and archives that a memory was backed up into, so that an erasure can report which
//! backups still contain the erased text, and `repair` can offer them.
//!
//! They are listed in a file next to the log, one per line, because a backup does not write to the log.

use super::unusable;
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_store::atomic_file;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file with the list.
pub(super) fn list_file(paths: &Paths) -> PathBuf {
    paths.store().join("backups")
}

/// Reads the remembered folders and archives; none if the file is missing.
///
/// # Errors
/// `unavailable` when the file cannot be read.
pub(super) fn destinations(paths: &Paths) -> Result<Vec<PathBuf>> {
    let file = list_file(paths);
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unusable(&file, "read", &error)),
    }
}

/// Remembers a folder or an archive. A failure is only logged, because the backup itself is complete.
pub(super) fn remember(paths: &Paths, destination: &Path) {
    if let Err(error) = add(paths, destination) {
        tracing::warn!("the destination of this backup is not remembered: {error}");
    }
}

fn add(paths: &Paths, destination: &Path) -> Result<()> {
    let mut known = destinations(paths)?;
    if known.iter().any(|other| other == destination) {
        return Ok(());
    }
    known.push(destination.to_owned());
    let text: String = known.iter().map(|known| format!("{}\n", known.display())).collect();
    atomic_file::write_plain(&list_file(paths), &[text.as_bytes()])
}
