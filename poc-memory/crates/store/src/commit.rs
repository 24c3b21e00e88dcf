//! Group commit: one thread writes the log, the engine and the followers.
//!
//! The committer takes all waiting transactions, writes and syncs them together, applies them to the
//! engine and the followers, publishes the newest view and wakes the waiting writers. Many writers
//! share one sync, and readers see only what is durable.

use super::engine::{Engine, Mark, changes};
use super::index_workers::IndexWorkers;
use super::log::Appender;
use super::txn::Txn;
use super::views::Views;
use super::watchdog;
use parking_lot::{Condvar, Mutex, RwLock};
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Delta, Tenant, View};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A transaction that is built but not yet in the log.
pub(super) struct PendingTxn {
    pub(super) txn: Arc<Txn>,
    /// The record as it goes into the log, with its checksum.
    pub(super) record: Vec<u8>,
    pub(super) checksum: u32,
    pub(super) deltas: Vec<Delta>,
    /// The view of its tenant that contains it.
    pub(super) view: Arc<View>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<PendingTxn>,
    closed: bool,
}

/// The committer's progress.
struct Progress {
    /// The last transaction that is durable and visible.
    seq: u64,
    /// Why no further transaction will be acknowledged.
    failure: Option<Error>,
}

/// What writers, readers and the committer share.
pub(super) struct CommitQueue {
    queue: Mutex<Queue>,
    work: Condvar,
    progress: Mutex<Progress>,
    advanced: Condvar,
    published: RwLock<Published>,
    // The view of tenants that have never written.
    empty: Arc<View>,
}

/// What readers see.
struct Published {
    seq: u64,
    views: Views,
}

impl CommitQueue {
    /// A queue over views in which everything up to `seq` is durable and visible.
    pub(super) fn new(seq: u64, views: Views) -> Self {
        CommitQueue {
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Mutex::new(Progress { seq, failure: None }),
            advanced: Condvar::new(),
            published: RwLock::new(Published { seq, views }),
            empty: Arc::new(View::new()),
        }
    }

    /// A queue over views that takes no transactions.
    pub(super) fn read_only(seq: u64, views: Views, why: Error) -> Self {
        let queue = CommitQueue::new(seq, views);
        queue.progress.lock().failure = Some(why);
        queue
    }

    /// The newest published view of a tenant.
    pub(super) fn view(&self, tenant: Tenant) -> Arc<View> {
        self.published.read().views.get(&tenant).unwrap_or(&self.empty).clone()
    }

    /// The last transaction in the published views.
    pub(super) fn published_seq(&self) -> u64 {
        self.published.read().seq
    }

    /// The newest published views, and the last transaction in them.
    pub(super) fn views(&self) -> (u64, Views) {
        let published = self.published.read();
        (published.seq, published.views.clone())
    }

    /// Queues a transaction. Callers must submit in order of sequence numbers.
    pub(super) fn submit(&self, pending: PendingTxn) {
        self.queue.lock().waiting.push(pending);
        self.work.notify_one();
    }

    /// Waits until a transaction is durable and visible.
    pub(super) fn wait(&self, seq: u64) -> Result<()> {
        let mut progress = self.progress.lock();
        loop {
            if progress.seq >= seq {
                return Ok(());
            }
            if let Some(failure) = &progress.failure {
                return Err(failure.clone());
            }
            self.advanced.wait(&mut progress);
        }
    }

    /// The last transaction that is durable and visible, unless the store is read-only.
    pub(super) fn last_visible(&self) -> Result<u64> {
        let progress = self.progress.lock();
        progress.failure.clone().map_or(Ok(progress.seq), Err)
    }

    /// Ends the committer once every queued transaction is committed.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_one();
    }

    /// Waits for transactions and takes them all; empty when the store is closed.
    fn next_batch(&self) -> Vec<PendingTxn> {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() && !queue.closed {
            self.work.wait(&mut queue);
        }
        std::mem::take(&mut queue.waiting)
    }

    /// Makes transactions visible to readers, all at once.
    fn publish(&self, batch: Vec<PendingTxn>) {
        let Some(seq) = batch.last().map(|newest| newest.txn.seq) else { return };
        // Old views are freed after the lock is released.
        let mut replaced = Vec::with_capacity(batch.len());
        {
            let mut published = self.published.write();
            published.seq = seq;
            for pending in batch {
                replaced.extend(published.views.insert(pending.txn.tenant, pending.view));
            }
        }
        self.progress.lock().seq = seq;
        self.advanced.notify_all();
    }

    fn fail(&self, why: &str) {
        let failure = Error::new(Code::ReadOnly, format!("the store takes no more writes: {why}"))
            .hint("see to the disk, then start again; everything acknowledged is safe");
        tracing::error!("{}", failure.message);
        self.progress.lock().failure = Some(failure);
        self.advanced.notify_all();
    }
}

/// The thread that commits.
pub(super) struct Committer {
    pub(super) commits: Arc<CommitQueue>,
    pub(super) appender: Appender,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) index_workers: Arc<IndexWorkers>,
}

impl Committer {
    /// Runs until the store is closed or the disk fails.
    pub(super) fn run(mut self) {
        let commits = self.commits.clone();
        let work = AssertUnwindSafe(|| -> Result<(), String> {
            self.index_workers.wait_loaded();
            loop {
                let batch = commits.next_batch();
                if batch.is_empty() {
                    return Ok(());
                }
                self.commit(batch)?;
            }
        });
        match catch_unwind(work) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => commits.fail(&why),
            Err(panic) => commits.fail(&format!("panic: {}", watchdog::panic_message(&*panic))),
        }
    }

    fn commit(&mut self, batch: Vec<PendingTxn>) -> Result<(), String> {
        let records: Vec<_> =
            batch.iter().map(|pending| (pending.txn.seq, pending.record.as_slice())).collect();
        self.appender.append(&records).map_err(|error| format!("its log cannot be written: {error}"))?;
        for PendingTxn { txn, checksum, .. } in &batch {
            let mark = Mark { seq: txn.seq, checksum: *checksum };
            let applied = changes(txn).and_then(|changes| self.engine.apply(changes.into(), mark));
            applied.map_err(|error| error.message)?;
        }
        for pending in &batch {
            self.index_workers.apply(pending.txn.seq, pending.txn.tenant, &pending.deltas);
        }
        self.commits.publish(batch);
        Ok(())
    }
}
