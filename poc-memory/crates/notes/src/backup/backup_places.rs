//! Remembers the folders and archives that a memory was backed up into, so that an erasure can report which
//! backups still contain the erased text.
//!
//! They are listed in a file next to the log, one per line, because a backup does not write to the log.

use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_store::atomic_file;
use std::path::{Path, PathBuf};

fn file(paths: &Paths) -> PathBuf {
    paths.store().join("backups")
}

/// Reads the remembered folders and archives; none if the file is missing.
pub(super) fn places(paths: &Paths) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file(paths)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Remembers a folder or an archive. A failure is only logged, because the backup itself is complete.
pub(super) fn remember(paths: &Paths, place: &Path) {
    if let Err(error) = add(paths, place) {
        tracing::warn!("the place of this backup is not remembered: {error}");
    }
}

fn add(paths: &Paths, place: &Path) -> Result<()> {
    let mut known = places(paths);
    if known.iter().any(|other| other == place) {
        return Ok(());
    }
    known.push(place.to_owned());
    let text: String = known.iter().map(|place| format!("{}\n", place.display())).collect();
    atomic_file::write_plain(&file(paths), &[text.as_bytes()])
}
