//! Group commit: a single thread writes to the log, the engine and the indexes.
//!
//! The committer takes all waiting transactions, writes and syncs them together, applies them to the engine and the
//! indexes, publishes the newest view and wakes the waiting writers. Many writers share one sync, and readers see
//! only durable data. With a shared log, data is durable as soon as the shared log has it.
//!
//! If the disk fails a write, every transaction that is not durable is rolled back and its writer gets the error. The
//! committer then repeatedly tries to restore the files to a consistent state: at intervals, and before every further
//! write.

mod gathering;
mod shared_log;
mod tenant_memory;
mod view_loads;
mod view_saves;

pub(super) use gathering::Gathering;
pub(super) use tenant_memory::TenantMemory;

use super::commit_outcome::Rejection;
use super::disk;
use super::disk_reserve::Reserve;
use super::engine::lazy::LazyEngine;
use super::engine::{Engine, Watermark, changes};
use super::index_workers::IndexWorkers;
use super::lock::Lock;
use super::log::{Appender, ChangedLog};
use super::pending_transaction::PendingTransaction;
use super::read_only::ReadOnlyReason;
use super::shared_log_copy::SharedLogCopy;
use super::tenant_view_files::TenantViewFiles;
use super::tenant_views::TenantViews;
use super::views::Views;
use super::watchdog;
use super::writer_state::{Writer, WriterState};
use parking_lot::{Condvar, Mutex, RwLock};
use poc_graph::View;
use poc_graph::error::{Error, Result};
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use view_loads::ViewLoads;

/// Maximum time that a check of the files waits for the committer, which may itself wait for a slow disk.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Queue {
    waiting: Vec<PendingTransaction>,
    /// The committer is woken when this number of transactions waits. It is 0 unless the committer gathers some.
    wanted: usize,
    closed: bool,
    /// Whether the shared log may have records that the store lacks, or is not reachable.
    has_remote_records: bool,
    /// The number of attempts to resume writing that were requested so far.
    attempts_wanted: u64,
    /// The number of checks of the log's files that were requested so far.
    checks_wanted: u64,
    /// The result of a verification of the log that the committer has not seen yet; the error says what is damaged.
    verified: Option<Result<(), String>>,
}

/// Whether the store accepts writes.
struct Writability {
    /// Why the store accepts no writes; `None` if it does.
    reason: Option<ReadOnlyReason>,
    /// The number of requested attempts that are finished.
    attempts_made: u64,
    /// The number of requested checks of the log's files that are finished.
    checks_made: u64,
}

/// The next work of the committer.
enum CommitterTask {
    Commit(Vec<PendingTransaction>),
    /// Apply the new records of other writers in the shared log.
    ApplyRemote,
    /// Try to resume writing, on behalf of all attempts requested so far.
    Resume(u64),
    /// Check the files of the log, on behalf of all checks requested so far.
    Check(u64),
    End,
}

/// The state shared by writers, readers and the committer.
pub(super) struct CommitQueue {
    queue: Mutex<Queue>,
    work: Condvar,
    writability: Mutex<Writability>,
    attempted: Condvar,
    published: RwLock<PublishedState>,
    // The last transaction that readers see, for threads that wait for one.
    newest: Mutex<u64>,
    newer: Condvar,
    // Notifies the watcher of the shared log that the committer has applied its new records.
    remote_applied: Condvar,
    // The view of tenants that have never written anything.
    empty: Arc<View>,
    loads: ViewLoads,
    // `None` if no file may be read or written, because the store is damaged.
    view_files: Option<TenantViewFiles>,
}

/// The state that readers see.
struct PublishedState {
    seq: u64,
    views: TenantViews,
}

impl CommitQueue {
    /// Creates a queue over views in which everything up to `seq` is durable and visible. With a reason, it accepts no
    /// transactions. Without files, no view is saved.
    pub(super) fn new(
        seq: u64,
        views: TenantViews,
        view_files: Option<TenantViewFiles>,
        reason: Option<ReadOnlyReason>,
    ) -> Self {
        CommitQueue {
            queue: Mutex::default(),
            work: Condvar::new(),
            writability: Mutex::new(Writability { reason, attempts_made: 0, checks_made: 0 }),
            attempted: Condvar::new(),
            published: RwLock::new(PublishedState { seq, views }),
            newest: Mutex::new(seq),
            newer: Condvar::new(),
            remote_applied: Condvar::new(),
            empty: Arc::new(View::new()),
            loads: ViewLoads::default(),
            view_files,
        }
    }

    /// The number of the last transaction in the published views.
    pub(super) fn published_seq(&self) -> u64 {
        self.published.read().seq
    }

    /// Why the store accepts no transactions; `None` if it does.
    pub(super) fn read_only(&self) -> Option<ReadOnlyReason> {
        self.writability.lock().reason.clone()
    }

    /// Fails if the store accepts no transactions.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.read_only().map_or(Ok(()), |reason| Err(reason.error()))
    }

    /// If the disk has failed a write, lets the committer try to resume writing and waits for the result. Fails like
    /// [`CommitQueue::check_writable`] if the store still accepts no transactions.
    pub(super) fn resume(&self) -> Result<()> {
        let may_end = |reason: &Option<ReadOnlyReason>| {
            matches!(reason, Some(ReadOnlyReason::Disk(_) | ReadOnlyReason::ChangedLog(_)))
        };
        if !may_end(&self.read_only()) {
            return self.check_writable();
        }
        let attempt = {
            let mut queue = self.queue.lock();
            queue.attempts_wanted += 1;
            queue.attempts_wanted
        };
        self.work.notify_one();
        let is_pending = |writability: &mut Writability| {
            writability.attempts_made < attempt && may_end(&writability.reason)
        };
        self.attempted.wait_while(&mut self.writability.lock(), is_pending);
        self.check_writable()
    }

    /// Lets the committer check the files of the log, and waits for the result unless the committer is busy.
    pub(super) fn check_files(&self) {
        let check = {
            let mut queue = self.queue.lock();
            queue.checks_wanted += 1;
            queue.checks_wanted
        };
        self.work.notify_one();
        let is_pending = |writability: &mut Writability| {
            let has_ended = matches!(writability.reason, Some(ReadOnlyReason::Failure(_)));
            writability.checks_made < check && !has_ended
        };
        self.attempted.wait_while_for(&mut self.writability.lock(), is_pending, CHECK_TIMEOUT);
    }

    /// Gives the committer the result of a verification of the log; the error says what is damaged. The store accepts
    /// no transactions from then on, until a verification finds no damage.
    pub(super) fn report_verified(&self, result: Result<(), String>) {
        self.queue.lock().verified = Some(result);
        self.check_files();
    }

    /// Queues a transaction. Callers must hold the writer lock and submit in the order of sequence numbers.
    pub(super) fn submit(&self, pending: PendingTransaction) {
        let is_enough = {
            let mut queue = self.queue.lock();
            queue.waiting.push(pending);
            queue.waiting.len() >= queue.wanted
        };
        if is_enough {
            self.work.notify_one();
        }
    }

    /// Makes the committer end after it has committed every queued transaction.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_one();
        self.remote_applied.notify_all();
    }

    /// Waits for work. While the store is read-only because of its disk, a new attempt is due after `retry_delay`.
    fn next(&self, retry_delay: Duration) -> CommitterTask {
        let (attempts_made, checks_made, is_waiting) = {
            let writability = self.writability.lock();
            (writability.attempts_made, writability.checks_made, writability.reason.is_some())
        };
        let mut queue = self.queue.lock();
        loop {
            if !queue.waiting.is_empty() {
                return CommitterTask::Commit(std::mem::take(&mut queue.waiting));
            }
            if queue.closed {
                return CommitterTask::End;
            }
            if queue.has_remote_records {
                return CommitterTask::ApplyRemote;
            }
            if queue.attempts_wanted > attempts_made {
                return CommitterTask::Resume(queue.attempts_wanted);
            }
            if queue.checks_wanted > checks_made {
                return CommitterTask::Check(queue.checks_wanted);
            }
            if !is_waiting {
                self.work.wait(&mut queue);
            } else if self.work.wait_for(&mut queue, retry_delay).timed_out() {
                return CommitterTask::Resume(queue.attempts_wanted);
            }
        }
    }

    /// Adds queued transactions to a batch until it has `expected`, and waits for them at most for `limit`, unless
    /// another writer has moved the head. Returns whether it has them.
    fn gather(&self, batch: &mut Vec<PendingTransaction>, expected: usize, limit: Duration) -> bool {
        let mut queue = self.queue.lock();
        queue.wanted = expected.saturating_sub(batch.len());
        let must_wait = |queue: &mut Queue| {
            queue.waiting.len() < queue.wanted && !queue.closed && !queue.has_remote_records
        };
        self.work.wait_while_for(&mut queue, must_wait, limit);
        queue.wanted = 0;
        batch.append(&mut queue.waiting);
        batch.len() >= expected
    }

    /// Makes a batch of transactions visible to readers, all at once.
    fn publish(&self, batch: Vec<PendingTransaction>) {
        let Some(seq) = batch.last().map(|newest| newest.txn.seq) else { return };
        let views = self.views_after(&batch);
        // Old views are freed after the lock is released.
        let mut replaced = Vec::with_capacity(views.len());
        {
            let mut published = self.published.write();
            published.seq = seq;
            for (tenant, view) in views {
                replaced.extend(published.views.publish(tenant, view));
            }
        }
        // This ends the pins: as soon as a writer has its answer, its tenant may be unloaded.
        let outcomes: Vec<_> = batch.into_iter().map(|pending| pending.outcome).collect();
        self.announce(seq);
        outcomes.iter().for_each(|outcome| outcome.set(Ok(())));
    }

    /// The views after a batch, of all tenants that it changes.
    fn views_after(&self, batch: &[PendingTransaction]) -> Views {
        let mut views = Views::default();
        for newest in batch.iter().rev() {
            let tenant = newest.txn.tenant;
            if views.contains_key(&tenant) {
                continue;
            }
            let view = newest.view.upgrade().unwrap_or_else(|| {
                // A transaction that was built after the batch has changed it in place.
                let mut view = self.pinned_view(tenant);
                let published = Arc::make_mut(&mut view);
                for pending in batch.iter().filter(|pending| pending.txn.tenant == tenant) {
                    published.apply(pending.txn.seq, &pending.deltas);
                }
                view
            });
            views.insert(tenant, view);
        }
        views
    }

    /// Wakes the threads that wait for a transaction.
    fn announce(&self, seq: u64) {
        *self.newest.lock() = seq;
        self.newer.notify_all();
    }

    /// Waits until readers see transaction `seq`, at most for `timeout`. Returns whether they do.
    pub(super) fn wait_published(&self, seq: u64, timeout: Duration) -> bool {
        let mut newest = self.newest.lock();
        !self.newer.wait_while_for(&mut newest, |newest| *newest < seq, timeout).timed_out() || *newest >= seq
    }

    /// Ends an attempt to resume writing. Without a reason, the store accepts writes again.
    fn end_attempt(&self, attempts_made: u64, reason: Option<ReadOnlyReason>) {
        let mut writability = self.writability.lock();
        writability.reason = reason;
        writability.attempts_made = attempts_made;
        self.attempted.notify_all();
    }
}

/// The state of the thread that commits transactions.
pub(super) struct Committer {
    pub(super) commits: Arc<CommitQueue>,
    pub(super) writer: Writer,
    pub(super) appender: Arc<Mutex<Appender>>,
    pub(super) engine: Arc<LazyEngine>,
    pub(super) lock: Arc<Lock>,
    pub(super) index_workers: Arc<IndexWorkers>,
    pub(super) tenant_memory: Arc<TenantMemory>,
    pub(super) reserve: Arc<Reserve>,
    /// The delay between two attempts to write to a disk that has failed.
    pub(super) retry_delay: Duration,
    pub(super) shared_log: Option<Arc<SharedLogCopy>>,
    /// The name of the embedder whose vectors the indexes receive.
    pub(super) embedder: String,
    /// The number of consecutive appends that were lost to another writer of the shared log.
    pub(super) lost_appends: usize,
    /// How long appends to the shared log wait for further transactions.
    pub(super) gathering: Gathering,
}

impl Committer {
    /// Commits transactions until the store is closed.
    pub(super) fn run(mut self) {
        let (commits, writer) = (self.commits.clone(), self.writer.clone());
        let work = AssertUnwindSafe(|| -> Result<()> {
            self.index_workers.wait_loaded();
            // If the disk has failed the log too, that reason says more.
            if let Some(why) = self.engine.substituted()
                && !matches!(self.commits.read_only(), Some(ReadOnlyReason::Disk(_)))
            {
                self.refuse(ReadOnlyReason::Disk(why), Vec::new());
            }
            loop {
                match commits.next(self.retry_delay) {
                    CommitterTask::Commit(batch) => match self.shared_log.clone() {
                        Some(copy) => self.commit_shared(&copy, batch)?,
                        None => drop(self.commit(batch)?),
                    },
                    CommitterTask::ApplyRemote => self.apply_remote()?,
                    CommitterTask::Resume(attempt) => self.resume(attempt)?,
                    CommitterTask::Check(check) => self.check_files(check)?,
                    CommitterTask::End => return Ok(()),
                }
            }
        });
        let failure = match catch_unwind(work) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.message,
            Err(panic) => format!("panic: {}", watchdog::panic_message(&*panic)),
        };
        refuse(&commits, &writer, ReadOnlyReason::Failure(failure), Vec::new());
    }

    fn commit(&mut self, batch: Vec<PendingTransaction>) -> Result<()> {
        match self.append(&batch) {
            Ok(()) => self.apply(batch),
            Err(reason) => {
                self.refuse(reason, batch);
                Ok(())
            }
        }
    }

    /// Appends transactions to the log, which is synced unless there is a shared log.
    fn append(&self, batch: &[PendingTransaction]) -> Result<(), ReadOnlyReason> {
        let records: Vec<_> =
            batch.iter().map(|pending| (pending.txn.seq, pending.record.as_slice())).collect();
        self.appender.lock().append(&records).map_err(|error| self.disk_cause(&error))
    }

    fn disk_cause(&self, error: &io::Error) -> ReadOnlyReason {
        if disk::is_full(error) {
            self.reserve.release();
        }
        log_failure(error)
    }

    /// Applies transactions that are in the log to everything derived from it, and makes them visible.
    fn apply(&mut self, batch: Vec<PendingTransaction>) -> Result<()> {
        let mut write_error = None;
        for PendingTransaction { txn, checksum, .. } in &batch {
            let watermark = Watermark { seq: txn.seq, checksum: *checksum };
            let changes = changes(txn)?;
            // An error means that earlier changes could not be written. The new ones are in memory and in the log.
            if let Err(error) = self.engine.apply(changes.into(), watermark) {
                write_error = Some(error);
            }
        }
        for pending in &batch {
            self.index_workers.apply(pending.txn.seq, pending.txn.tenant, &pending.deltas);
        }
        self.commits.publish(batch);
        self.tenant_memory.make_room(&self.commits, &self.index_workers);
        if let Some(error) = write_error {
            self.records_unwritten(&error);
        }
        Ok(())
    }

    fn records_unwritten(&self, error: &Error) {
        self.reserve.release();
        self.refuse(records_failure(error), Vec::new());
        self.engine.reopen_if_failed();
    }

    /// Restores the files to a consistent state after the disk has failed. If that succeeds, the store accepts writes
    /// again.
    fn resume(&mut self, attempt: u64) -> Result<()> {
        let reason = self.commits.read_only();
        if !reason.as_ref().is_some_and(ReadOnlyReason::may_end) {
            self.commits.end_attempt(attempt, reason);
            return Ok(());
        }
        self.restore_files(attempt, reason.as_ref())
    }

    /// An attempt to make the store accept writes again, which it refuses for the reason `before`.
    fn restore_files(&mut self, attempt: u64, before: Option<&ReadOnlyReason>) -> Result<()> {
        let reason = match self.try_to_resume() {
            Ok(()) => self.apply_missing()?,
            Err(found) => Some(self.saved(found, before)),
        };
        match &reason {
            Some(reason) => tracing::debug!("the store still accepts no writes: {}", reason.message()),
            None => tracing::info!("the store accepts writes again"),
        }
        self.commits.end_attempt(attempt, reason);
        Ok(())
    }

    fn try_to_resume(&mut self) -> Result<(), ReadOnlyReason> {
        self.appender.lock().resume().map_err(|error| log_failure(&error))?;
        // The records come before the reserve, because both need space and the records are more urgent.
        self.engine.restore().map_err(|error| records_failure(&error))?;
        self.engine.retry().map_err(|error| records_failure(&error))?;
        let held = self.reserve.renew();
        held.map_err(|error| ReadOnlyReason::Disk(format!("there is not enough space on its disk: {error}")))
    }

    /// Checks the files of the log, and takes note of the result of a verification. If they were changed, the store
    /// accepts no further transactions until they are restored.
    fn check_files(&mut self, check: u64) -> Result<()> {
        let verified = self.commits.queue.lock().verified.take();
        let attempts_made = self.commits.writability.lock().attempts_made;
        match (self.commits.read_only(), verified) {
            (_, Some(Err(damage))) => self.refuse(ReadOnlyReason::Damage(damage), Vec::new()),
            (Some(reason @ ReadOnlyReason::Damage(_)), Some(Ok(()))) => {
                self.restore_files(attempts_made, Some(&reason))?;
            }
            (None, _) => {
                let checked = self.appender.lock().check_files();
                if let Err(error) = checked.as_ref()
                    && ChangedLog::is_cause(error)
                {
                    self.refuse(log_failure(error), Vec::new());
                } else {
                    self.restore_reserve();
                }
            }
            (Some(ReadOnlyReason::ChangedLog(_)), _) => self.resume(attempts_made)?,
            (Some(_), _) => {}
        }
        self.commits.writability.lock().checks_made = check;
        self.commits.attempted.notify_all();
        Ok(())
    }

    /// Creates the reserve that a store lacks if it was opened on a full disk, once there is enough space.
    fn restore_reserve(&self) {
        // Another store may be in its folder.
        let is_missing = !self.reserve.is_held() && self.lock.is_current();
        if is_missing && self.reserve.renew().is_ok() {
            tracing::info!("space is reserved for a full disk again");
        }
    }

    fn refuse(&self, reason: ReadOnlyReason, batch: Vec<PendingTransaction>) {
        refuse(&self.commits, &self.writer, self.saved(reason, None), batch);
    }

    /// If the log has lost data that was written to it, saves the records. Does nothing if they were saved for the
    /// reason `before`, or if another store has replaced this one.
    fn saved(&self, reason: ReadOnlyReason, before: Option<&ReadOnlyReason>) -> ReadOnlyReason {
        let is_saved = matches!(before, Some(ReadOnlyReason::ChangedLog(_)));
        let has_lost = matches!(reason, ReadOnlyReason::ChangedLog(_) | ReadOnlyReason::Damage(_));
        if !has_lost || is_saved || !self.lock.is_current() {
            return reason;
        }
        let Err(error) = self.engine.flush() else { return reason };
        let message = format!("{}; the records cannot be saved: {}", reason.message(), error.message);
        match reason {
            ReadOnlyReason::Damage(_) => ReadOnlyReason::Damage(message),
            _ => ReadOnlyReason::ChangedLog(message),
        }
    }
}

/// Makes the store read-only, and rolls back the transactions that are queued or in `batch`. None of them is durable.
fn refuse(commits: &CommitQueue, writer: &Writer, reason: ReadOnlyReason, batch: Vec<PendingTransaction>) {
    let error = reason.error();
    tracing::error!("{}", error.message);
    let rolled_back = {
        let writer = writer.lock();
        let rolled_back = roll_back(commits, &writer, batch);
        let mut writability = commits.writability.lock();
        writability.reason = Some(reason);
        commits.attempted.notify_all();
        rolled_back
    };
    let rejection = Rejection::Failed(error);
    rolled_back.iter().for_each(|pending| pending.outcome.set(Err(rejection.clone())));
}

/// Rolls back the transactions that are queued or in `batch`. The next transaction is built on the published state.
fn roll_back(
    commits: &CommitQueue,
    writer: &RefCell<WriterState>,
    mut batch: Vec<PendingTransaction>,
) -> Vec<PendingTransaction> {
    batch.append(&mut commits.queue.lock().waiting);
    // The state is borrowed only by a thread that holds the writer lock, so this succeeds.
    if let Ok(mut writer) = writer.try_borrow_mut() {
        *writer = WriterState::new(commits.published_seq());
    }
    batch
}

fn log_failure(error: &io::Error) -> ReadOnlyReason {
    match ChangedLog::is_cause(error) {
        true => ReadOnlyReason::changed_log(error),
        false => ReadOnlyReason::Disk(format!("its log cannot be written: {error}")),
    }
}

fn records_failure(error: &Error) -> ReadOnlyReason {
    ReadOnlyReason::Disk(format!("its records cannot be written: {}", error.message))
}
