//! A transaction on its way into the log.

use super::commit::outcome::OutcomeSender;
use super::logged_transaction::LoggedTransaction;
use poc_graph::{Delta, View};
use std::sync::Arc;

/// A transaction that is built but not yet in the log.
pub(super) struct PendingTransaction {
    pub(super) txn: Arc<LoggedTransaction>,
    /// The record as it goes into the log, with its checksum.
    pub(super) record: Vec<u8>,
    pub(super) checksum: u32,
    pub(super) deltas: Vec<Delta>,
    /// The view of its tenant that contains it.
    pub(super) view: Arc<View>,
    pub(super) outcome: OutcomeSender,
}
