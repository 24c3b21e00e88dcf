//! Where readers wait until an index is ready to answer.

use std::sync::OnceLock;

/// Closed until it is opened, once.
#[derive(Debug, Default)]
pub(super) struct Latch(OnceLock<()>);

impl Latch {
    /// Lets everybody through from now on.
    pub(super) fn open(&self) {
        self.0.get_or_init(|| ());
    }

    /// Waits until the gate is open.
    pub(super) fn wait(&self) {
        self.0.wait();
    }
}
