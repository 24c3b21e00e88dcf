//! Remembers the folders that a memory was backed up into, so that it can say which backups still have what was erased.
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

fn folders(paths: &Paths) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file(paths)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Remembers a folder.
pub(super) fn remember(paths: &Paths, folder: &Path) -> Result<()> {
    let mut known = folders(paths);
    if known.iter().any(|other| other == folder) {
        return Ok(());
    }
    known.push(folder.to_owned());
    let text: String = known.iter().map(|folder| format!("{}\n", folder.display())).collect();
    atomic_file::write_plain(&file(paths), &[text.as_bytes()])
}

/// The generations in the folders that the memory was backed up into, and the folders that cannot be read now.
pub fn known_generations(paths: &Paths) -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| match generations(&folder) {
        Ok(found) => found.into_iter().map(|generation| generation.path).collect(),
        Err(_) => vec![folder],
    };
    folders(paths).into_iter().flat_map(in_folder).collect()
}
