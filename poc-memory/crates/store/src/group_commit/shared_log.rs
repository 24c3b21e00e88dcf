//! Commits to a shared log and reads the records of other writers from it.
//!
//! Transactions are appended together with the head that they were built on. If another writer was faster, all queued
//! transactions are rolled back, the other writer's records are applied, and the writers build their transactions
//! again.
//!
//! The local log gets the same records before they are acknowledged, but is synced later: after a power failure, the
//! next open reads from the shared log what the local one has lost.

use super::{CommitQueue, Committer, ReadOnlyReason, roll_back};
use crate::commit_outcome::Rejection;
use crate::delta::deltas;
use crate::engine::{Engine, Watermark, changes};
use crate::logged_transaction::LoggedTransaction;
use crate::pending_transaction::PendingTransaction;
use crate::records::TenantRecords;
use crate::shared_log_copy::{self, AppendFailure, CopiedRecord, SharedLogCopy};
use crate::tenant_counts::TenantTable;
use crate::views::Views;
use poc_graph::Delta;
use poc_graph::error::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of consecutive lost appends after which a writer requests a lease on the head.
const LOSSES_BEFORE_LEASE: usize = 3;

/// Maximum time of one wait for new records. Closing the store may take as long.
const WATCH_TIMEOUT: Duration = Duration::from_millis(100);

impl Committer {
    /// Appends transactions to the shared log and then to its copy, and applies them. Their writers get the outcome.
    pub(super) fn commit_shared(
        &mut self,
        copy: &SharedLogCopy,
        mut batch: Vec<PendingTransaction>,
    ) -> Result<()> {
        if let Some((expected, limit)) = self.gathering.next_wait() {
            let is_complete = self.commits.gather(&mut batch, expected, limit);
            self.gathering.end(is_complete);
        }
        while !batch.is_empty() {
            let mut rest = batch.split_off(shared_log_copy::append_count(&batch));
            let begun = Instant::now();
            match copy.append(&batch) {
                Ok(true) => {}
                Ok(false) => {
                    batch.append(&mut rest);
                    return self.roll_back_and_apply_missing(copy, batch);
                }
                Err(failure) => {
                    self.refuse_append(copy, failure, &batch, rest);
                    return Ok(());
                }
            }
            self.lost_appends = 0;
            // Those in the batch have no answers yet, so no writer counts twice.
            let others = rest.len() + self.commits.queue.lock().waiting.len();
            self.gathering.note_append(batch.len(), others, begun.elapsed());
            let appended = self.append(&batch);
            copy.end_append();
            if let Err(reason) = appended {
                self.refuse(reason, rest);
                // The records are in the shared log. They become visible here as soon as the local disk accepts them.
                batch.iter().for_each(|pending| pending.outcome.set(Ok(())));
                return Ok(());
            }
            self.apply(batch)?;
            batch = rest;
            // The writers have their answers, so they do not wait for this sync.
            if let Some(reason) = self.limit_unsynced().or_else(|| self.commits.read_only()) {
                self.refuse(reason, batch);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes the store read-only because `batch` could not be appended. `rest` was not sent to the shared log.
    fn refuse_append(
        &self,
        copy: &SharedLogCopy,
        AppendFailure { error, is_unknown }: AppendFailure,
        batch: &[PendingTransaction],
        rest: Vec<PendingTransaction>,
    ) {
        let reason = copy.read_only_reason(error);
        let mut error = reason.error();
        if is_unknown {
            error.message += "; it is not known whether this write succeeded";
        }
        self.refuse(reason, rest);
        let rejection = Rejection::Failed(error);
        batch.iter().for_each(|pending| pending.outcome.set(Err(rejection.clone())));
    }

    /// Applies the records of other writers, and makes the writers of queued transactions build them again.
    fn roll_back_and_apply_missing(
        &mut self,
        copy: &SharedLogCopy,
        batch: Vec<PendingTransaction>,
    ) -> Result<()> {
        self.lost_appends += 1;
        self.gathering.note_loss();
        let rolled_back = {
            let writer = self.writer.lock();
            roll_back(&self.commits, &writer, batch)
        };
        if self.lost_appends >= LOSSES_BEFORE_LEASE {
            copy.lease();
        }
        let reason = self.apply_missing()?;
        if let Some(reason) = reason {
            self.refuse(reason, Vec::new());
        }
        reject_as_outdated(&rolled_back);
        Ok(())
    }

    /// Applies the records of other writers after the watcher has reported new ones.
    pub(super) fn apply_remote(&mut self) -> Result<()> {
        self.commits.queue.lock().has_remote_records = false;
        let before = self.commits.read_only();
        if matches!(before, None | Some(ReadOnlyReason::SharedLog(_))) {
            match self.apply_missing()? {
                None if before.is_some() => {
                    tracing::info!("the store accepts writes again");
                    let attempts_made = self.commits.writability.lock().attempts_made;
                    self.commits.end_attempt(attempts_made, None);
                }
                None => {}
                // The cause was already reported.
                Some(ReadOnlyReason::SharedLog(_)) if before.is_some() => {}
                Some(reason) => self.refuse(reason, Vec::new()),
            }
        }
        // The watcher holds this lock until it waits. Without the lock, it could miss the notification.
        let _queue = self.commits.queue.lock();
        self.commits.remote_applied.notify_all();
        Ok(())
    }

    /// Applies all records of the shared log that the store lacks. If that fails, returns why the store can accept no
    /// writes.
    pub(super) fn apply_missing(&mut self) -> Result<Option<ReadOnlyReason>> {
        let Some(copy) = self.shared_log.clone() else { return Ok(None) };
        let mut rolled_back = Vec::new();
        let reason = loop {
            match copy.missing() {
                Ok(records) if records.is_empty() => break None,
                Ok(records) => {
                    if let Some(reason) = self.apply_copied(&records, &mut rolled_back)? {
                        break Some(reason);
                    }
                }
                Err(error) => break Some(copy.read_only_reason(error)),
            }
        };
        reject_as_outdated(&rolled_back);
        Ok(reason)
    }

    /// Appends records of other writers to the copy and applies them. Adds the queued transactions to `rolled_back`.
    /// Returns why the store can accept no writes, if the records cannot be appended.
    fn apply_copied(
        &mut self,
        records: &[CopiedRecord],
        rolled_back: &mut Vec<PendingTransaction>,
    ) -> Result<Option<ReadOnlyReason>> {
        let appended = shared_log_copy::append(&mut self.appender.lock(), records);
        if let Err(error) = appended {
            return Ok(Some(self.disk_cause(&error)));
        }
        let mut write_error = None;
        {
            // A thread that is building a transaction must not see records that are newer than its view.
            let writer = self.writer.lock();
            // A view that is loaded meanwhile would be newer than the published ones.
            let _loads = self.commits.loads.records.write();
            let mut seq = self.commits.published_seq();
            let mut changed = ChangedTenants::default();
            for CopiedRecord { txn, checksum, .. } in records {
                seq = txn.seq;
                let changes = changes(txn)?;
                if let Err(error) = self.engine.apply(changes.into(), Watermark { seq, checksum: *checksum })
                {
                    write_error = Some(error);
                }
                let own = TenantRecords { engine: self.engine.as_ref(), tenant: txn.tenant };
                let deltas = deltas(&txn.writes, &self.embedder, &own)?;
                changed.apply(&self.commits, txn, &deltas)?;
                self.index_workers.apply(seq, txn.tenant, &deltas);
            }
            self.commits.publish_changed(seq, changed);
            rolled_back.append(&mut roll_back(&self.commits, &writer, Vec::new()));
        }
        self.tenant_memory.make_room(&self.commits, &self.index_workers);
        if let Some(error) = write_error {
            self.records_unwritten(&error);
        }
        Ok(self.limit_unsynced())
    }

    /// Syncs the local log if much of it is not synced. If that fails, returns why the store can accept no writes.
    fn limit_unsynced(&self) -> Option<ReadOnlyReason> {
        let synced = self.appender.lock().limit_unsynced();
        synced.err().map(|error| self.disk_cause(&error))
    }
}

/// Makes the writers build their transactions again.
fn reject_as_outdated(rolled_back: &[PendingTransaction]) {
    rolled_back.iter().for_each(|pending| pending.outcome.set(Err(Rejection::Outdated)));
}

/// The views and counts that records of other daemons change.
#[derive(Default)]
struct ChangedTenants {
    /// The new views of tenants whose views are in memory.
    views: Views,
    /// The new counts of the others. Their views are built from the records when they are needed.
    counts: TenantTable,
}

impl ChangedTenants {
    /// Applies a transaction to the view of its tenant or, if that is not in memory, to the counts.
    fn apply(&mut self, commits: &CommitQueue, txn: &LoggedTransaction, deltas: &[Delta]) -> Result<()> {
        let tenant = txn.tenant;
        if !self.views.contains_key(&tenant)
            && !self.counts.contains_key(&tenant)
            && let Some(view) = commits.published.read().views.get(tenant)
        {
            self.views.insert(tenant, view);
        }
        if let Some(view) = self.views.get_mut(&tenant) {
            Arc::make_mut(view).apply(txn.seq, deltas);
            return Ok(());
        }
        let counts = self.counts.entry(tenant).or_insert_with(|| commits.counts(tenant).unwrap_or_default());
        counts.apply(txn)
    }
}

impl CommitQueue {
    /// Publishes the state after transaction `seq`.
    fn publish_changed(&self, seq: u64, changed: ChangedTenants) {
        // The old views are freed after the lock is released.
        let mut replaced = Vec::with_capacity(changed.views.len());
        {
            let mut published = self.published.write();
            published.seq = seq;
            for (tenant, view) in changed.views {
                replaced.extend(published.views.publish(tenant, view));
            }
            for (tenant, counts) in changed.counts {
                published.views.set_counts(tenant, counts);
            }
        }
        self.announce(seq);
    }

    /// Reports new records of a shared log to the committer until the store is closed. Waits for `retry_delay` after a
    /// failure.
    pub(crate) fn watch(&self, copy: &SharedLogCopy, retry_delay: Duration) {
        while !self.queue.lock().closed {
            let result = copy.wait(WATCH_TIMEOUT);
            if matches!(result, Ok(false)) {
                continue;
            }
            let mut queue = self.queue.lock();
            queue.has_remote_records = true;
            self.work.notify_one();
            self.remote_applied.wait_while_for(
                &mut queue,
                |queue| queue.has_remote_records && !queue.closed,
                retry_delay,
            );
            if result.is_err() || copy.is_behind() {
                self.remote_applied.wait_while_for(&mut queue, |queue| !queue.closed, retry_delay);
            }
        }
    }
}
