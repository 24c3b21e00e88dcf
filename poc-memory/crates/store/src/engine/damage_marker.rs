//! A file in a directory of records that tells the next open that they are damaged.

use std::fs::File;
use std::path::Path;

const NAME: &str = "damaged";

/// Whether damage was found in a directory.
pub(super) fn exists(directory: &Path) -> bool {
    directory.join(NAME).exists()
}

/// Marks a directory as damaged.
pub(super) fn write(directory: &Path) {
    if let Err(error) = File::create(directory.join(NAME)).and_then(|file| file.sync_all()) {
        tracing::error!("it cannot be noted that the records are damaged: {error}");
    }
}
