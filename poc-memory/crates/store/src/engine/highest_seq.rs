//! The highest transaction number that the records may contain, in a file next to them.
//!
//! The file is written after the log and before the records. If the log ends before this number, it has therefore lost
//! transactions. This must be known before the engine is opened, because opening it changes its files.

use crate::atomic_file::{self, Fingerprint};
use poc_graph::error::Result;
use std::path::Path;

const NAME: &str = "last";

fn fingerprint() -> Fingerprint {
    Fingerprint::of("last transaction of the records 1")
}

/// Reads the number for the records in a directory; `None` if it is missing or damaged.
pub(crate) fn read(directory: &Path) -> Option<u64> {
    let file = directory.join(NAME);
    let (seq, _) = file.exists().then(|| atomic_file::read(&file, fingerprint()))??;
    Some(seq)
}

/// Saves the number durably.
pub(crate) fn write(directory: &Path, seq: u64) -> Result<()> {
    atomic_file::write(&directory.join(NAME), fingerprint(), seq, &[])
}
