//! The state of a store's shared log.

use super::Store;
use super::shared_log::{Peer, WriterId};
use poc_graph::error::Result;
use std::time::Duration;

/// The state of the shared log as known to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLogStatus {
    /// The address of the log, without a password.
    pub address: String,
    /// The highest known number of a record.
    pub head: u64,
    /// The number of records that readers of this store do not see yet.
    pub behind: u64,
    /// The number of appends of this store that failed because another writer had moved the head.
    pub conflicts: u64,
}

impl Store {
    /// The state of the shared log; `None` if the store has none.
    pub fn shared_log(&self) -> Option<SharedLogStatus> {
        let copy = self.shared.shared_log.as_ref()?;
        let head = copy.head();
        Some(SharedLogStatus {
            address: copy.shared().address(),
            head,
            behind: head.saturating_sub(self.published_seq()),
            conflicts: copy.conflicts(),
        })
    }

    /// Whether the shared log has responded for so long that every live writer has renewed its heartbeat. `true` if there
    /// is no shared log.
    ///
    /// # Errors
    /// Those of the shared log.
    pub fn has_current_heartbeats(&self) -> Result<bool> {
        self.shared.shared_log.as_ref().map_or(Ok(true), |copy| copy.is_steady())
    }

    /// The writer id of this store in its shared log, which is new at each open; `None` if there is no shared log.
    pub fn writer(&self) -> Option<WriterId> {
        self.shared.shared_log.as_ref().map(|copy| copy.shared().writer())
    }

    /// Whether the shared log has deleted records that this copy of it lacks. The store then accepts no writes until it
    /// is opened again, which begins with a snapshot.
    pub fn is_outdated(&self) -> bool {
        self.shared.shared_log.as_ref().is_some_and(|copy| copy.is_outdated())
    }

    /// Whether this is a damaged copy of a shared log that could not be reached when the store was opened. The store
    /// accepts no writes until it is opened again, which restores the copy if the shared log can be reached then.
    pub fn awaits_shared_log(&self) -> bool {
        self.shared.awaits_shared_log
    }

    /// The other stores of the shared log that were seen recently; empty if there is no shared log.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        self.shared.shared_log.as_ref().map_or(Ok(Vec::new()), |copy| copy.peers())
    }

    /// Waits until readers see transaction `seq`, at most for `timeout`. Returns whether they do.
    pub fn wait_published(&self, seq: u64, timeout: Duration) -> bool {
        self.shared.commits.wait_published(seq, timeout)
    }
}
