//! The layout of earlier releases, in which sled held all records, in the directory itself.

use crate::engine::sled;
use std::path::Path;

/// Whether the records in a directory have this layout. They are built again from the log.
pub(crate) fn is_in(directory: &Path) -> bool {
    directory.join(sled::FILE).exists()
}
