//! The path of a write up to its acknowledgement: builds a transaction under the writer lock, queues it for the
//! committer, and waits until it is durable.

use super::commit_outcome::{CommitOutcome, OutcomeSender, Rejection};
use super::log;
use super::logged_transaction::{Cause, LoggedTransaction, MAX_RECORD};
use super::pending_transaction::PendingTransaction;
use super::shared_state::StoreState;
use super::transaction::{Transaction, TransactionError};
use super::writer_state::WriterState;
use super::{Store, delta};
use poc_graph::View;
use poc_graph::error::Result;
use std::cell::Cell;
use std::sync::Arc;

/// Maximum number of times that a transaction is rebuilt because another writer of the shared log moved the head. A
/// writer that keeps losing gets a lease on the head long before.
const MAX_ATTEMPTS: usize = 100;

/// The result of a committed transaction.
#[derive(Debug)]
pub struct Commit<T> {
    /// The sequence number. If the transaction wrote nothing, this is the number of the last transaction built before
    /// it.
    pub seq: u64,
    /// The value that the closure returned.
    pub value: T,
}

/// A transaction that was built but may not be durable yet.
struct BuiltTransaction {
    seq: u64,
    /// The outcome; `None` if the transaction is known to be durable.
    outcome: Option<Arc<CommitOutcome>>,
}

impl Store {
    /// Builds one transaction and waits until it is durable and visible to readers.
    ///
    /// The closure sees every transaction built before it. If it fails, nothing is written. Closures run one at a time,
    /// so slow work should be done before the call.
    ///
    /// If another writer of the shared log was faster, the closure is called again on the newer state. The closure must
    /// therefore have no side effects. It is `Fn`, so it can be called again, but the compiler cannot detect interior
    /// mutability or I/O.
    ///
    /// # Errors
    /// Any error that the closure returns. `read_only` if the disk fails the write or the store is damaged; nothing is
    /// written then. `unavailable` if the shared log does not respond. `internal` if it is called inside the closure of
    /// another transaction of the same store.
    pub fn transact<T>(
        &self,
        cause: Cause,
        build: impl Fn(&mut Transaction) -> Result<T>,
    ) -> Result<Commit<T>> {
        // The value of the last call. Only this closure is compiled again for each caller.
        let returned = Cell::new(None);
        let seq = self.commit(&cause, &|tx| {
            returned.set(Some(build(tx)?));
            Ok(())
        })?;
        let value = returned.take().ok_or(TransactionError::NotBuilt)?;
        Ok(Commit { seq, value })
    }

    /// Builds a transaction, discards its writes and returns the value of the closure. Also works when the store
    /// accepts no writes. Unlike [`Store::transact`], it does not wait until the transactions that the closure sees are
    /// durable.
    ///
    /// # Errors
    /// Any error that the closure returns. `internal` if it is called inside the closure of a transaction of the same
    /// store.
    pub fn preview<T>(&self, build: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
        let StoreState { commits, engine, .. } = self.shared.as_ref();
        let _pin = self.shared.pin(self.tenant)?;
        let lock = self.shared.writer.lock();
        let mut writer = lock.try_borrow_mut().map_err(|_| TransactionError::Nested)?;
        writer.advance(commits.published_seq());
        let view = self.newest_view(&writer);
        build(&mut Transaction::new(engine.as_ref(), self.tenant, writer.seq + 1, &writer.overlay, &view))
    }

    /// Builds a transaction, repeatedly if another writer is faster, and waits until it is durable. Returns its
    /// sequence number.
    fn commit(&self, cause: &Cause, build: &dyn Fn(&mut Transaction) -> Result<()>) -> Result<u64> {
        for _ in 0..MAX_ATTEMPTS {
            let built = self.build(cause.clone(), build)?;
            // This waits even if nothing was written, because the closure may have read data that is not durable yet.
            match built.outcome.map_or(Ok(()), |outcome| outcome.wait()) {
                Ok(()) => return Ok(built.seq),
                Err(Rejection::Outdated) => {}
                Err(Rejection::Failed(error)) => return Err(error),
            }
        }
        Err(TransactionError::Outdated.into())
    }

    /// The tenant's view after the last transaction that was built. The view must be pinned.
    fn newest_view(&self, writer: &WriterState) -> Arc<View> {
        let unpublished = writer.views.get(&self.tenant).cloned();
        unpublished.unwrap_or_else(|| self.shared.commits.pinned_view(self.tenant))
    }

    /// Builds a transaction under the writer lock and queues it for the committer.
    fn build(
        &self,
        cause: Cause,
        build: &dyn Fn(&mut Transaction) -> Result<()>,
    ) -> Result<BuiltTransaction> {
        let StoreState { commits, engine, embedder, .. } = self.shared.as_ref();
        let mut pin = None;
        // Everything that may take long comes before the lock.
        if !self.shared.writer.is_owned_by_current_thread() {
            commits.resume()?;
            self.shared.index_workers.prepare(self.tenant);
            pin = Some(self.shared.pin(self.tenant)?);
        }
        let lock = self.shared.writer.lock();
        let mut writer = lock.try_borrow_mut().map_err(|_| TransactionError::Nested)?;
        let Some(pin) = pin else { return Err(TransactionError::Nested.into()) };
        commits.check_writable()?;
        writer.advance(commits.published_seq());
        let view = self.newest_view(&writer);
        let last = writer.seq;
        let mut tx = Transaction::new(engine.as_ref(), self.tenant, last + 1, &writer.overlay, &view);
        build(&mut tx)?;
        if !tx.has_changes() {
            return Ok(BuiltTransaction { seq: last, outcome: writer.last.clone() });
        }
        if !writer.named.contains(&self.tenant) {
            tx.record_name(&self.tuple)?;
        }
        let deltas = delta::deltas(tx.writes(), embedder, &tx)?;
        let (writes, undoes) = tx.into_parts();
        let cause = Cause { undoes, ..cause };
        let txn = LoggedTransaction { seq: last + 1, tenant: self.tenant, cause, base: None, writes };
        let payload = txn.encode()?;
        if payload.len() > MAX_RECORD {
            return Err(TransactionError::TooLarge(payload.len()).into());
        }
        let (record, checksum) = log::frame(txn.seq, &payload);
        let (seq, txn) = (txn.seq, Arc::new(txn));
        let (sender, outcome) = OutcomeSender::new();
        let view = writer.add(&txn, &deltas, view, &self.tuple, outcome.clone());
        // The writer lock is held here, so that transactions reach the log in order.
        commits.submit(PendingTransaction {
            txn,
            record,
            checksum,
            deltas,
            view,
            _pin: pin,
            outcome: sender,
        });
        Ok(BuiltTransaction { seq, outcome: Some(outcome) })
    }
}
