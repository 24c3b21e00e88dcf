//! The state that transactions are built on.

use super::commit_outcome::CommitOutcome;
use super::logged_transaction::LoggedTransaction;
use super::overlay::Overlay;
use super::table::Table;
use super::views::Views;
use parking_lot::ReentrantMutex;
use poc_graph::{Delta, Tenant, Tuple, View};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// The shared state of all writers. The committer resets it to the durable state when the disk fails.
pub(super) type Writer = Arc<ReentrantMutex<RefCell<WriterState>>>;

/// The state after the last transaction that was built, whether it is durable or not.
pub(super) struct WriterState {
    pub(super) seq: u64,
    /// The views of the tenants with transactions that are not published yet. The views of the others are the
    /// published ones.
    pub(super) views: Views,
    pub(super) overlay: Overlay,
    /// Tenants whose names the store is known to have.
    pub(super) named: FxHashSet<Tenant>,
    /// The outcome of that transaction; `None` if it is durable.
    pub(super) last: Option<Arc<CommitOutcome>>,
}

impl WriterState {
    /// Creates the state after the durable transaction `seq`.
    pub(super) fn new(seq: u64) -> WriterState {
        WriterState {
            seq,
            views: Views::default(),
            overlay: Overlay::default(),
            named: FxHashSet::default(),
            last: None,
        }
    }

    /// Drops what is only needed for transactions up to `seq`, which are published.
    pub(super) fn advance(&mut self, seq: u64) {
        self.overlay.advance(seq);
        self.views.retain(|_, view| view.seq > seq);
    }

    /// Adds a transaction that was built on `view`, the newest view of its tenant, and made the changes `deltas`.
    /// Returns the view after it. If `name` is the name of this tenant, the store has that name from now on.
    pub(super) fn add(
        &mut self,
        txn: &Arc<LoggedTransaction>,
        deltas: &[Delta],
        mut view: Arc<View>,
        name: &Tuple,
        outcome: Arc<CommitOutcome>,
    ) -> Weak<View> {
        let tenant = txn.tenant;
        if txn.writes.iter().any(|write| write.table == Table::Tenants && write.after.is_none()) {
            self.named.clear();
        } else if !self.named.contains(&tenant) && name.id() == tenant {
            self.named.insert(tenant);
        }
        self.overlay.add(txn.clone());
        // Without this reference, a view that nobody reads is changed in place. Otherwise every transaction of a group
        // would copy a part of each column.
        self.views.remove(&tenant);
        Arc::make_mut(&mut view).apply(txn.seq, deltas);
        let newest = Arc::downgrade(&view);
        self.views.insert(tenant, view);
        self.seq = txn.seq;
        self.last = Some(outcome);
        newest
    }

    /// Like [`WriterState::new`], shared by all writers.
    pub(super) fn shared(seq: u64) -> Writer {
        Arc::new(ReentrantMutex::new(RefCell::new(WriterState::new(seq))))
    }
}
