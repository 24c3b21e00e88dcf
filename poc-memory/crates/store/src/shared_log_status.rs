//! What a store knows of its shared log.

use super::Store;
use super::shared_log::{Peer, WriterId};
use poc_graph::error::Result;
use std::time::Duration;

/// The shared log of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLogStatus {
    /// Where it is, without a password.
    pub address: String,
    /// The number of its last record that is known.
    pub head: u64,
    /// How many of its records readers of this store do not see yet.
    pub behind: u64,
    /// How many appends of this store found another head than expected.
    pub conflicts: u64,
    /// Whether it has answered for so long that a writer that is alive has renewed its heartbeat.
    pub is_steady: bool,
}

impl Store {
    /// The shared log; `None` if there is none.
    pub fn shared_log(&self) -> Option<SharedLogStatus> {
        let copy = self.shared.shared_log.as_ref()?;
        let head = copy.head();
        Some(SharedLogStatus {
            address: copy.shared().address(),
            head,
            behind: head.saturating_sub(self.published_seq()),
            conflicts: copy.conflicts(),
            is_steady: copy.is_steady(),
        })
    }

    /// The id of this opening of the store in its shared log; `None` if there is none.
    pub fn writer(&self) -> Option<WriterId> {
        self.shared.shared_log.as_ref().map(|copy| copy.shared().writer())
    }

    /// The other stores over the shared log that were seen lately; none if there is no shared log.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        self.shared.shared_log.as_ref().map_or(Ok(Vec::new()), |copy| copy.peers())
    }

    /// Waits until readers see transaction `seq`, but not longer than `timeout`. Returns whether they do.
    pub fn wait_published(&self, seq: u64, timeout: Duration) -> bool {
        self.shared.commits.wait_published(seq, timeout)
    }
}
