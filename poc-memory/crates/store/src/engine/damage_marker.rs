//! A file in a records directory that tells the next open that the records are damaged.

use std::fs::File;
use std::path::Path;

const NAME: &str = "damaged";

/// Whether a directory is marked as damaged.
pub(super) fn exists(directory: &Path) -> bool {
    directory.join(NAME).exists()
}

/// Marks a directory as damaged.
pub(super) fn write(directory: &Path) {
    if let Err(error) = File::create(directory.join(NAME)).and_then(|file| file.sync_all()) {
        tracing::error!("the damage of the records cannot be recorded: {error}");
    }
}
