//! Where readers wait until an index is ready to answer.

use std::sync::OnceLock;

/// Closed until it is opened, once.
#[derive(Debug, Default)]
pub(super) struct Gate(OnceLock<()>);

impl Gate {
    /// Lets everybody through from now on.
    pub(super) fn open(&self) {
        self.0.get_or_init(|| ());
    }

    /// Waits until the gate is open.
    pub(super) fn pass(&self) {
        self.0.wait();
    }
}
