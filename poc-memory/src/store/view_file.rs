//! The view as it is saved in the store's folder, so that an open need not read every record.
//!
//! It names the transaction it contains by number and by the checksum of its record, so that one of
//! another log is found out. What does not fit is built again from the records.

use super::catch_up;
use super::log::Log;
use super::sealed::{self, Fingerprint};
use crate::error::{Error, Result};
use crate::graph::View;
use std::path::{Path, PathBuf};

fn file(store: &Path) -> PathBuf {
    store.join("view")
}

/// Another meaning of what is in a view, or another form of it, is another revision.
fn fingerprint() -> Fingerprint {
    Fingerprint::of("view 2")
}

/// A saved view and the checksum of the record of its last transaction.
pub(super) struct Saved {
    view: View,
    checksum: u32,
}

/// What is saved in a store's folder; `None` when it is missing or not whole.
pub(super) fn read(store: &Path) -> Option<Saved> {
    let (seq, bytes) = sealed::read(&file(store), fingerprint())?;
    let (checksum, bytes) = bytes.split_first_chunk()?;
    Some(Saved { view: View::decode(bytes, seq)?, checksum: u32::from_le_bytes(*checksum) })
}

impl Saved {
    /// The last transaction in it.
    pub(super) fn seq(&self) -> u64 {
        self.view.seq
    }

    /// The view brought to the end of the log, and by how many changes; `None` when it is of another
    /// log or ahead of this one, or the log cannot be read.
    pub(super) fn caught_up(self, log: &Log) -> Option<(View, usize)> {
        let Saved { mut view, checksum } = self;
        let found = log.read(view.seq).ok().flatten();
        found.filter(|(_, found)| *found == checksum)?;
        let taken = catch_up::saved_view(&mut view, log)
            .inspect_err(|error| tracing::warn!("the saved view is built again: {error}"));
        Some((view, taken.ok()?))
    }
}

/// Saves a view. The log must hold its last transaction.
pub(super) fn write(store: &Path, view: &View, log: &Log) -> Result<()> {
    let Some((_, checksum)) = log.read(view.seq)? else {
        return Err(Error::internal(format!("the log does not hold transaction {}", view.seq)));
    };
    sealed::write(&file(store), fingerprint(), view.seq, &[&checksum.to_le_bytes(), &view.encode()?])
}
