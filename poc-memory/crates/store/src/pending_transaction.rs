//! Transactions that wait to be written to the log.

use super::commit_outcome::OutcomeSender;
use super::logged_transaction::LoggedTransaction;
use super::tenant_views::TenantPin;
use poc_graph::{Delta, View};
use std::sync::{Arc, Weak};

/// A transaction that was built but is not yet in the log.
pub(super) struct PendingTransaction {
    pub(super) txn: Arc<LoggedTransaction>,
    /// The complete log record, including its checksum.
    pub(super) record: Vec<u8>,
    pub(super) checksum: u32,
    pub(super) deltas: Vec<Delta>,
    /// The view of its tenant after the transaction. It is gone as soon as the tenant's next transaction changes it.
    pub(super) view: Weak<View>,
    /// Keeps the published view of its tenant in memory until the transaction is published or rejected.
    pub(super) _pin: TenantPin,
    pub(super) outcome: OutcomeSender,
}
