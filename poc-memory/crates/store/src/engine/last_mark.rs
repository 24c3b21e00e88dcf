//! The number of the last transaction that records may contain, in a file beside them.
//!
//! It is written before the records are, and after the log. So a log that ends before it has lost transactions, and
//! this is known before the engine is opened, which changes its files.

use crate::atomic_file::{self, Fingerprint};
use poc_graph::error::Result;
use std::path::Path;

const NAME: &str = "last";

fn fingerprint() -> Fingerprint {
    Fingerprint::of("last transaction of the records 1")
}

/// The number for the records in a directory; `None` when it is unknown.
pub(crate) fn read(directory: &Path) -> Option<u64> {
    let file = directory.join(NAME);
    let (seq, _) = file.exists().then(|| atomic_file::read(&file, fingerprint()))??;
    Some(seq)
}

/// Saves the number, durably.
pub(crate) fn write(directory: &Path, seq: u64) -> Result<()> {
    atomic_file::write(&directory.join(NAME), fingerprint(), seq, &[])
}
