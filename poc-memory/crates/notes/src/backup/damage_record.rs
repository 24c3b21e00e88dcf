//! Remembers the damage that a check found in the folder of the generation, so that lists show it without reading every
//! file.

use poc_graph::error::Result;
use poc_store::atomic_file;
use std::fs;
use std::path::Path;

/// Name of the file with the problems, one per line. It is missing if the last check found none.
const FILE: &str = "damage.txt";

/// The problems that the last check of a generation found, one line each.
pub(super) fn read(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join(FILE)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Replaces the problems of a generation. A failure is only logged, because the disk of a backup may be read-only.
pub(super) fn write(folder: &Path, problems: &[String]) {
    if read(folder) != problems
        && let Err(error) = replace(&folder.join(FILE), problems)
    {
        tracing::warn!("the damage of `{}` is not remembered: {error}", folder.display());
    }
}

fn replace(file: &Path, problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        return atomic_file::remove(file);
    }
    let text: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    atomic_file::write_plain(file, &[text.as_bytes()])
}
