//! Recognises the layout of earlier releases, where sled held all records, directly in the
//! directory.

use crate::engine::sled;
use std::path::Path;

/// Whether the records in a directory have the earlier layout. Such records are rebuilt from the
/// log.
pub(crate) fn is_in(directory: &Path) -> bool {
    directory.join(sled::FILE).exists()
}
