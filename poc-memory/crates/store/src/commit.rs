//! Group commit: one thread writes the log, the engine and the followers.
//!
//! The committer takes all waiting transactions, writes and syncs them together, applies them to the
//! engine and the followers, publishes the newest view and wakes the waiting writers. Many writers
//! share one sync, and readers see only what is durable.
//!
//! When the disk fails a write, every transaction that is not durable is taken back and its writer gets the error. The
//! committer then tries again and again to bring the files into order: at intervals, and before every further write.

pub(super) mod outcome;
mod shared_log;

use super::disk;
use super::disk_reserve::Reserve;
use super::engine::lazy::LazyEngine;
use super::engine::{Engine, Mark, changes};
use super::index_workers::IndexWorkers;
use super::log::{Appender, ChangedLog};
use super::overlay::Overlay;
use super::pending_transaction::PendingTransaction;
use super::read_only::ReadOnlyCause;
use super::shared_log_copy::SharedLogCopy;
use super::views::Views;
use super::watchdog;
use super::writer_state::{Writer, WriterState};
use outcome::Rejection;
use parking_lot::{Condvar, Mutex, RwLock};
use poc_graph::error::{Error, Result};
use poc_graph::{Tenant, View};
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How long a check of the files waits for the committer, which may wait for a slow disk.
const CHECK_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Queue {
    waiting: Vec<PendingTransaction>,
    closed: bool,
    /// Whether the shared log may have records that the store lacks, or does not answer.
    has_news: bool,
    /// How many attempts to write again were asked for.
    attempts_wanted: u64,
    /// How many checks of the files of the log were asked for.
    checks_wanted: u64,
}

/// Whether the store takes writes.
struct Writability {
    /// Why it takes none.
    cause: Option<ReadOnlyCause>,
    /// How many of the attempts that were asked for have been made.
    attempts_made: u64,
    /// The same for checks of the files of the log.
    checks_made: u64,
}

/// What the committer does next.
enum Work {
    Commit(Vec<PendingTransaction>),
    /// Reads on in the shared log.
    Follow,
    /// Tries to write again, for all attempts that were asked for so far.
    Resume(u64),
    /// Checks the files of the log, for all checks that were asked for so far.
    Check(u64),
    End,
}

/// What writers, readers and the committer share.
pub(super) struct CommitQueue {
    queue: Mutex<Queue>,
    work: Condvar,
    writability: Mutex<Writability>,
    attempted: Condvar,
    published: RwLock<PublishedState>,
    // The last transaction that readers see, for those who wait for one.
    newest: Mutex<u64>,
    newer: Condvar,
    // The watcher of the shared log waits for the committer.
    followed: Condvar,
    // The view of tenants that have never written.
    empty: Arc<View>,
}

/// What readers see.
struct PublishedState {
    seq: u64,
    views: Views,
}

impl CommitQueue {
    /// A queue over views in which everything up to `seq` is durable and visible. With a cause, it takes no transactions.
    pub(super) fn new(seq: u64, views: Views, cause: Option<ReadOnlyCause>) -> Self {
        CommitQueue {
            queue: Mutex::default(),
            work: Condvar::new(),
            writability: Mutex::new(Writability { cause, attempts_made: 0, checks_made: 0 }),
            attempted: Condvar::new(),
            published: RwLock::new(PublishedState { seq, views }),
            newest: Mutex::new(seq),
            newer: Condvar::new(),
            followed: Condvar::new(),
            empty: Arc::new(View::new()),
        }
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

    /// Why no transaction is taken, if none is.
    pub(super) fn read_only(&self) -> Option<ReadOnlyCause> {
        self.writability.lock().cause.clone()
    }

    /// Fails when no transaction is taken.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.read_only().map_or(Ok(()), |cause| Err(cause.error()))
    }

    /// Lets the committer try to write again if the disk has failed a write, and waits for the result. Fails as
    /// [`CommitQueue::check_writable`] does.
    pub(super) fn resume(&self) -> Result<()> {
        let may_end = |cause: &Option<ReadOnlyCause>| {
            matches!(cause, Some(ReadOnlyCause::Disk(_) | ReadOnlyCause::ChangedLog(_)))
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
            writability.attempts_made < attempt && may_end(&writability.cause)
        };
        self.attempted.wait_while(&mut self.writability.lock(), is_pending);
        self.check_writable()
    }

    /// Lets the committer check the files of the log, and waits for the result unless it is busy.
    pub(super) fn check_files(&self) {
        let check = {
            let mut queue = self.queue.lock();
            queue.checks_wanted += 1;
            queue.checks_wanted
        };
        self.work.notify_one();
        let is_pending = |writability: &mut Writability| {
            let has_ended = matches!(writability.cause, Some(ReadOnlyCause::Failure(_)));
            writability.checks_made < check && !has_ended
        };
        self.attempted.wait_while_for(&mut self.writability.lock(), is_pending, CHECK_PATIENCE);
    }

    /// Queues a transaction. Callers must submit in order of sequence numbers, with the writer lock.
    pub(super) fn submit(&self, pending: PendingTransaction) {
        self.queue.lock().waiting.push(pending);
        self.work.notify_one();
    }

    /// Ends the committer once every queued transaction is committed.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_one();
        self.followed.notify_all();
    }

    /// Waits for work. While the store is read-only because of its disk, there is some after `pause`.
    fn next(&self, pause: Duration) -> Work {
        let (attempts_made, checks_made, is_waiting) = {
            let writability = self.writability.lock();
            (writability.attempts_made, writability.checks_made, writability.cause.is_some())
        };
        let mut queue = self.queue.lock();
        loop {
            if !queue.waiting.is_empty() {
                return Work::Commit(std::mem::take(&mut queue.waiting));
            }
            if queue.closed {
                return Work::End;
            }
            if queue.has_news {
                return Work::Follow;
            }
            if queue.attempts_wanted > attempts_made {
                return Work::Resume(queue.attempts_wanted);
            }
            if queue.checks_wanted > checks_made {
                return Work::Check(queue.checks_wanted);
            }
            if !is_waiting {
                self.work.wait(&mut queue);
            } else if self.work.wait_for(&mut queue, pause).timed_out() {
                return Work::Resume(queue.attempts_wanted);
            }
        }
    }

    /// Makes transactions visible to readers, all at once.
    fn publish(&self, batch: Vec<PendingTransaction>) {
        let Some(seq) = batch.last().map(|newest| newest.txn.seq) else { return };
        // Old views are freed after the lock is released.
        let mut replaced = Vec::with_capacity(batch.len());
        let mut outcomes = Vec::with_capacity(batch.len());
        {
            let mut published = self.published.write();
            published.seq = seq;
            for pending in batch {
                replaced.extend(published.views.insert(pending.txn.tenant, pending.view));
                outcomes.push(pending.outcome);
            }
        }
        self.announce(seq);
        outcomes.iter().for_each(|outcome| outcome.set(Ok(())));
    }

    /// Wakes those who wait for a transaction.
    fn announce(&self, seq: u64) {
        *self.newest.lock() = seq;
        self.newer.notify_all();
    }

    /// Waits until readers see transaction `seq`, but not longer than `timeout`. Returns whether they do.
    pub(super) fn wait_published(&self, seq: u64, timeout: Duration) -> bool {
        let mut newest = self.newest.lock();
        !self.newer.wait_while_for(&mut newest, |newest| *newest < seq, timeout).timed_out() || *newest >= seq
    }

    /// Ends an attempt to write again: the store takes writes if there is no cause.
    fn end_attempt(&self, attempts_made: u64, cause: Option<ReadOnlyCause>) {
        let mut writability = self.writability.lock();
        writability.cause = cause;
        writability.attempts_made = attempts_made;
        self.attempted.notify_all();
    }
}

/// The thread that commits.
pub(super) struct Committer {
    pub(super) commits: Arc<CommitQueue>,
    pub(super) writer: Writer,
    pub(super) appender: Arc<Mutex<Appender>>,
    pub(super) engine: Arc<LazyEngine>,
    pub(super) index_workers: Arc<IndexWorkers>,
    pub(super) reserve: Arc<Reserve>,
    /// How long it waits before it tries again to write to a disk that has failed.
    pub(super) pause: Duration,
    pub(super) shared_log: Option<Arc<SharedLogCopy>>,
    /// The embedder whose vectors the indexes get.
    pub(super) embedder: String,
    /// How often in a row another writer of the shared log was faster.
    pub(super) lost_appends: usize,
}

impl Committer {
    /// Runs until the store is closed.
    pub(super) fn run(mut self) {
        let (commits, writer) = (self.commits.clone(), self.writer.clone());
        let work = AssertUnwindSafe(|| -> Result<(), String> {
            self.index_workers.wait_loaded();
            if let Some(why) = self.engine.substituted() {
                self.refuse(ReadOnlyCause::Disk(why), Vec::new());
            }
            loop {
                match commits.next(self.pause) {
                    Work::Commit(batch) => match self.shared_log.clone() {
                        Some(copy) => self.commit_shared(&copy, batch)?,
                        None => drop(self.commit(batch)?),
                    },
                    Work::Follow => self.follow_news()?,
                    Work::Resume(attempt) => self.resume(attempt)?,
                    Work::Check(check) => self.check_files(check)?,
                    Work::End => return Ok(()),
                }
            }
        });
        let failure = match catch_unwind(work) {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(panic) => format!("panic: {}", watchdog::panic_message(&*panic)),
        };
        refuse(&commits, &writer, ReadOnlyCause::Failure(failure), Vec::new());
    }

    fn commit(&mut self, batch: Vec<PendingTransaction>) -> Result<(), String> {
        match self.append(&batch) {
            Ok(()) => self.apply(batch),
            Err(cause) => {
                self.refuse(cause, batch);
                Ok(())
            }
        }
    }

    /// Writes transactions to the log.
    fn append(&self, batch: &[PendingTransaction]) -> Result<(), ReadOnlyCause> {
        let records: Vec<_> =
            batch.iter().map(|pending| (pending.txn.seq, pending.record.as_slice())).collect();
        self.appender.lock().append(&records).map_err(|error| self.disk_cause(&error))
    }

    fn disk_cause(&self, error: &io::Error) -> ReadOnlyCause {
        if disk::is_full(error) {
            self.reserve.release();
        }
        log_failure(error)
    }

    /// Brings what is derived from the log to transactions that are in it, and makes them visible.
    fn apply(&mut self, batch: Vec<PendingTransaction>) -> Result<(), String> {
        let mut unwritten = None;
        for PendingTransaction { txn, checksum, .. } in &batch {
            let mark = Mark { seq: txn.seq, checksum: *checksum };
            let changes = changes(txn).map_err(|error| error.message)?;
            // An error says that earlier changes could not be written. These are in memory and in the log.
            if let Err(error) = self.engine.apply(changes.into(), mark) {
                unwritten = Some(error);
            }
        }
        for pending in &batch {
            self.index_workers.apply(pending.txn.seq, pending.txn.tenant, &pending.deltas);
        }
        self.commits.publish(batch);
        if let Some(error) = unwritten {
            self.records_unwritten(&error);
        }
        Ok(())
    }

    fn records_unwritten(&self, error: &Error) {
        self.reserve.release();
        self.refuse(records_failure(error), Vec::new());
        self.engine.reopen_if_failed();
    }

    /// Brings the files into order after the disk has failed, and takes writes again if that succeeds.
    fn resume(&mut self, attempt: u64) -> Result<(), String> {
        let cause = self.commits.read_only();
        if !cause.as_ref().is_some_and(ReadOnlyCause::may_end) {
            self.commits.end_attempt(attempt, cause);
            return Ok(());
        }
        let cause = match self.try_to_resume() {
            Ok(()) => self.follow()?,
            Err(found) => Some(self.saved(found, cause.as_ref())),
        };
        match &cause {
            Some(cause) => tracing::debug!("the store still takes no writes: {}", cause.message()),
            None => tracing::info!("the store takes writes again"),
        }
        self.commits.end_attempt(attempt, cause);
        Ok(())
    }

    fn try_to_resume(&mut self) -> Result<(), ReadOnlyCause> {
        self.appender.lock().resume().map_err(|error| log_failure(&error))?;
        // Before the reserve is made again: both need space, and the records are more urgent.
        self.engine.restore().map_err(|error| records_failure(&error))?;
        self.engine.retry().map_err(|error| records_failure(&error))?;
        let held = self.reserve.renew();
        held.map_err(|error| ReadOnlyCause::Disk(format!("there is not enough space on its disk: {error}")))
    }

    /// Checks the files of the log. Takes no further transactions if they were changed, and takes them again if they are
    /// back.
    fn check_files(&mut self, check: u64) -> Result<(), String> {
        match self.commits.read_only() {
            None => {
                let checked = self.appender.lock().check_files();
                if let Err(error) = checked.as_ref()
                    && ChangedLog::is_cause(error)
                {
                    self.refuse(log_failure(error), Vec::new());
                }
            }
            Some(ReadOnlyCause::ChangedLog(_)) => {
                let attempts_made = self.commits.writability.lock().attempts_made;
                self.resume(attempts_made)?;
            }
            Some(_) => {}
        }
        self.commits.writability.lock().checks_made = check;
        self.commits.attempted.notify_all();
        Ok(())
    }

    fn refuse(&self, cause: ReadOnlyCause, batch: Vec<PendingTransaction>) {
        refuse(&self.commits, &self.writer, self.saved(cause, None), batch);
    }

    /// Saves the records if the log has lost what was written to it, unless that was the cause before.
    fn saved(&self, cause: ReadOnlyCause, before: Option<&ReadOnlyCause>) -> ReadOnlyCause {
        let (ReadOnlyCause::ChangedLog(message), false) =
            (&cause, matches!(before, Some(ReadOnlyCause::ChangedLog(_))))
        else {
            return cause;
        };
        match self.engine.flush() {
            Ok(()) => cause,
            Err(error) => ReadOnlyCause::ChangedLog(format!(
                "{message}; the records cannot be saved: {}",
                error.message
            )),
        }
    }
}

/// Takes no further transactions, and takes back those that are queued or in `batch`, none of which is durable.
fn refuse(commits: &CommitQueue, writer: &Writer, cause: ReadOnlyCause, batch: Vec<PendingTransaction>) {
    let error = cause.error();
    tracing::error!("{}", error.message);
    let taken = {
        let writer = writer.lock();
        let taken = take_back(commits, &writer, batch);
        let mut writability = commits.writability.lock();
        writability.cause = Some(cause);
        commits.attempted.notify_all();
        taken
    };
    let rejection = Rejection::Failed(error);
    taken.iter().for_each(|pending| pending.outcome.set(Err(rejection.clone())));
}

/// Takes back the transactions that are queued or in `batch`: the next one is built on what is published.
fn take_back(
    commits: &CommitQueue,
    writer: &RefCell<WriterState>,
    mut batch: Vec<PendingTransaction>,
) -> Vec<PendingTransaction> {
    batch.append(&mut commits.queue.lock().waiting);
    let (seq, views) = commits.views();
    // Whoever builds a transaction holds the lock.
    if let Ok(mut writer) = writer.try_borrow_mut() {
        *writer = WriterState { seq, views, overlay: Overlay::default(), last: None };
    }
    batch
}

fn log_failure(error: &io::Error) -> ReadOnlyCause {
    match ChangedLog::is_cause(error) {
        true => ReadOnlyCause::changed_log(error),
        false => ReadOnlyCause::Disk(format!("its log cannot be written: {error}")),
    }
}

fn records_failure(error: &Error) -> ReadOnlyCause {
    ReadOnlyCause::Disk(format!("its records cannot be written: {}", error.message))
}
