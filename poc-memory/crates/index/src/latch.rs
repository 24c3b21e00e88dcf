//! A one-shot latch: readers wait until an index is ready.

use std::sync::OnceLock;

/// A latch that is closed at first and can be opened once.
#[derive(Debug, Default)]
pub(super) struct Latch(OnceLock<()>);

impl Latch {
    /// Opens the latch permanently.
    pub(super) fn open(&self) {
        self.0.get_or_init(|| ());
    }

    /// Blocks until the latch is open.
    pub(super) fn wait(&self) {
        self.0.wait();
    }
}
