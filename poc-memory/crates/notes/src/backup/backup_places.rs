//! Remembers the folders and archives that a memory was backed up into, so that it can say which backups still have what
//! was erased.
//!
//! They are in a file beside the log, one a line, because a backup does not write to the log.

use super::generations::generations;
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_store::atomic_file;
use std::path::{Path, PathBuf};

fn file(paths: &Paths) -> PathBuf {
    paths.store().join("backups")
}

fn places(paths: &Paths) -> Vec<PathBuf> {
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

/// The generations in the places that the memory was backed up into, and the places that cannot be read now.
pub fn known_generations(paths: &Paths) -> Vec<PathBuf> {
    let in_place = |place: PathBuf| match generations(&place) {
        Ok(found) => found.into_iter().map(|generation| generation.path).collect(),
        Err(_) => vec![place],
    };
    places(paths).into_iter().flat_map(in_place).collect()
}
