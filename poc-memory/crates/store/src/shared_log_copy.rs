//! The copy of a shared log in the folder of a store.

use super::log::{Appender, FRAME, Log, frame};
use super::logged_transaction::LoggedTransaction;
use super::pending_transaction::PendingTransaction;
use super::read_only::ReadOnlyReason;
use super::shared_log::{
    AppendOutcome, DEAD_AFTER, DeletedHistory, NewSharedRecord, Peer, SharedLog, SharedRecord, SnapshotStore,
};
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of records read or appended at once.
const PART_RECORDS: usize = 1000;
/// Records are appended together until their total size reaches this number of bytes.
const PART_BYTES: usize = 8 << 20;
/// Number of attempts to append if the shared log does not respond.
const ATTEMPTS: usize = 3;
/// Maximum duration of a lease on the head; it ends earlier if its holder appends.
const LEASE: Duration = Duration::from_secs(2);
/// Delay between attempts while another writer has a lease.
const LEASE_WAIT: Duration = Duration::from_millis(50);
/// Maximum number of these delays.
const LEASE_WAITS: usize = 100;

/// Why the shared log and its copy do not match.
#[derive(Debug, thiserror::Error)]
enum SharedLogError {
    #[error("change {seq} of the shared log `{address}` {problem}")]
    DamagedRecord { seq: u64, address: String, problem: String },
    #[error(
        "the store's folder and the shared log `{address}` are different memories: they diverge at or before change {last}"
    )]
    Diverged { address: String, last: u64 },
    /// The folder is the copy of a shared log that has lost changes, or a memory that was never copied into this one.
    #[error("the shared log `{address}` {}, but the store's folder has changes up to {last}", end_clause(*.head))]
    Shorter { address: String, head: u64, last: u64 },
    /// The number is that of the last record in the copy.
    #[error(
        "the shared log `{address}` begins after change {last}, where this copy of it ends: earlier changes were deleted"
    )]
    Outdated { address: String, last: u64 },
    /// The number is that of the last record in the folder.
    #[error(
        "the shared log `{address}` begins after change {last}, where the store's folder ends, and the folder was used without the shared log: its own changes would be lost"
    )]
    OwnChanges { address: String, last: u64 },
    #[error("the head is not known")]
    UnknownHead,
}

/// Where a shared log ends.
fn end_clause(head: u64) -> String {
    if head == 0 { "is empty".to_owned() } else { format!("ends at change {head}") }
}

impl From<SharedLogError> for Error {
    fn from(error: SharedLogError) -> Error {
        let message = error.to_string();
        match error {
            SharedLogError::DamagedRecord { .. } => Error::damaged(message),
            SharedLogError::Shorter { head: 0, .. } => Error::conflict(message).hint(
                "copy the folder into the database first: `poc-memory store copy --from FOLDER --to postgres://…`",
            ),
            SharedLogError::Shorter { .. } => Error::conflict(message).hint(
                "if an older state of the database was restored, \
                 `poc-memory store copy --from FOLDER --to postgres://…` adds what it lacks; do not delete the folder \
                 before that, because it may be the only one with these changes",
            ),
            SharedLogError::Diverged { .. } | SharedLogError::OwnChanges { .. } => Error::conflict(message)
                .hint(
                    "use another profile or another `[store] name`; a folder that is only a copy can be deleted; \
                     without `log` in `[store]`, `poc-memory export` shows what it has",
                ),
            SharedLogError::Outdated { .. } => {
                Error::unavailable(message).hint("restart the program: the copy then begins with a snapshot")
            }
            SharedLogError::UnknownHead => Error::unavailable(message),
        }
    }
}

/// A record of the shared log in the format of the local log.
pub(super) struct CopiedRecord {
    pub(super) txn: Arc<LoggedTransaction>,
    /// The record including its frame.
    pub(super) bytes: Vec<u8>,
    pub(super) checksum: u32,
}

/// Why transactions were not appended to the shared log.
pub(super) struct AppendFailure {
    pub(super) error: Error,
    /// Whether an attempt had no answer, so that the transactions may be in the shared log.
    pub(super) is_unknown: bool,
}

/// Why the copy cannot be brought up to the end of the shared log.
pub(super) enum CopyError {
    /// The shared log cannot be read, or is not the one that was copied.
    Log(Error),
    /// The local log cannot be written.
    Disk(io::Error),
}

/// A shared log and the state of its local copy.
pub(super) struct SharedLogCopy {
    shared: Arc<dyn SharedLog>,
    log: Arc<Log>,
    // The writer's own number of its next record.
    next_number: AtomicU64,
    // The highest known head.
    head: AtomicU64,
    // The number of the last record that was appended to the shared log and is about to be added to the copy; 0 if the
    // copy has it or cannot take it.
    appended: AtomicU64,
    conflicts: AtomicU64,
    // Whether the local log was verified to be a copy of the shared one since the shared one was last unreachable. A
    // database that replaces another one may have lost records.
    is_checked: AtomicBool,
    // Whether the shared log was found to begin after the end of the copy.
    is_outdated: AtomicBool,
    last_failure: Mutex<Option<Instant>>,
}

impl SharedLogCopy {
    pub(super) fn new(shared: Arc<dyn SharedLog>, log: Arc<Log>) -> SharedLogCopy {
        let head = AtomicU64::new(log.last());
        let (next_number, appended, conflicts) =
            (AtomicU64::new(1), AtomicU64::default(), AtomicU64::default());
        let (is_checked, is_outdated, last_failure) =
            (AtomicBool::default(), AtomicBool::default(), Mutex::default());
        SharedLogCopy {
            shared,
            log,
            next_number,
            head,
            appended,
            conflicts,
            is_checked,
            is_outdated,
            last_failure,
        }
    }

    pub(super) fn shared(&self) -> &dyn SharedLog {
        self.shared.as_ref()
    }

    /// The highest known head.
    pub(super) fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed).max(self.log.last())
    }

    /// The number of appends that failed because another writer had moved the head.
    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Whether all calls have succeeded, and the shared log has been running, for at least the time after which a writer
    /// without a heartbeat counts as dead.
    ///
    /// # Errors
    /// Those of the shared log.
    pub(super) fn is_steady(&self) -> Result<bool> {
        if self.last_failure.lock().is_some_and(|at| at.elapsed() < DEAD_AFTER) {
            return Ok(false);
        }
        let uptime = self.track_failure(self.shared.uptime())?;
        Ok(uptime.is_none_or(|uptime| uptime >= DEAD_AFTER))
    }

    /// The number of the last record in the copy.
    pub(super) fn last(&self) -> u64 {
        self.log.last()
    }

    /// Whether the shared log is known to have a record that the copy lacks.
    pub(super) fn is_behind(&self) -> bool {
        self.head.load(Ordering::Relaxed) > self.log.last()
    }

    /// Waits for records that the copy lacks, other than those that are about to be added. Returns whether there are
    /// any.
    pub(super) fn wait(&self, timeout: Duration) -> Result<bool> {
        let last = self.log.last().max(self.appended.load(Ordering::Relaxed));
        let head = self.track_failure(self.shared.wait(last, timeout))?;
        self.head.fetch_max(head, Ordering::Relaxed);
        Ok(head > self.log.last().max(self.appended.load(Ordering::Relaxed)))
    }

    /// Ends the addition of records that were appended. The copy has them, or must read them from the shared log.
    pub(super) fn end_append(&self) {
        self.appended.store(0, Ordering::Relaxed);
    }

    /// Whether the shared log was found to begin after the end of the copy, so that only a snapshot can bring the copy
    /// up to date.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated.load(Ordering::Relaxed)
    }

    /// Why the store can accept no writes after the shared log could not be read or appended to.
    pub(super) fn read_only_reason(&self, error: Error) -> ReadOnlyReason {
        if self.is_outdated() {
            return ReadOnlyReason::Failure(error.message);
        }
        // Not every failure ends by itself: the log may refuse the login, or be another one.
        let advice = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        ReadOnlyReason::SharedLog(format!("{}{advice}", error.message))
    }

    /// The error if the shared log begins after the end of the copy, which is record `last`.
    pub(super) fn outdated(&self, last: u64) -> Error {
        self.is_outdated.store(true, Ordering::Relaxed);
        SharedLogError::Outdated { address: self.shared.address(), last }.into()
    }

    /// The error if the copy is outdated and cannot be replaced, because its folder was in use without the shared log.
    pub(super) fn own_changes(&self) -> Error {
        SharedLogError::OwnChanges { address: self.shared.address(), last: self.log.last() }.into()
    }

    /// Which records of the shared log were deleted.
    pub(super) fn deleted(&self) -> Result<DeletedHistory> {
        self.track_failure(self.shared.deleted())
    }

    /// Deletes records of the shared log; see [`SharedLog::delete_until`].
    pub(super) fn delete_until(&self, deleted: DeletedHistory) -> Result<bool> {
        self.track_failure(self.shared.delete_until(deleted))
    }

    /// The other writers that were seen recently.
    pub(super) fn peers(&self) -> Result<Vec<Peer>> {
        self.track_failure(self.shared.peers())
    }

    /// Calls the storage for snapshots of the shared log.
    pub(super) fn snapshots<T>(&self, call: impl FnOnce(&dyn SnapshotStore) -> Result<T>) -> Result<T> {
        self.track_failure(call(self.shared.snapshots()))
    }

    /// Requests a lease on the head.
    pub(super) fn lease(&self) {
        // Without a lease, another writer may move the head again, which is no error. If the log is unreachable, the
        // following call reports it.
        let _ = self.shared.lease(LEASE);
    }

    /// Brings the local log up to the end of the shared one, on disk.
    pub(super) fn catch_up(&self, appender: &mut Appender) -> Result<(), CopyError> {
        loop {
            let records = self.missing().map_err(CopyError::Log)?;
            if records.is_empty() {
                return Ok(());
            }
            append(appender, &records).and_then(|()| appender.sync()).map_err(CopyError::Disk)?;
        }
    }

    /// Some of the records that the local log lacks; empty if it has all of them.
    pub(super) fn missing(&self) -> Result<Vec<CopiedRecord>> {
        self.check()?;
        let last = self.log.last();
        let records = self.track_failure(self.shared.read(last, PART_RECORDS))?;
        if records.first().is_some_and(|next| next.seq > last + 1) && self.deleted()?.last > last {
            return Err(self.outdated(last));
        }
        let copied: Vec<CopiedRecord> = (last + 1..)
            .zip(records)
            .map(|(seq, record)| self.convert(seq, record))
            .collect::<Result<_>>()?;
        self.head.fetch_max(last + copied.len() as u64, Ordering::Relaxed);
        Ok(copied)
    }

    /// Converts record `seq` of the shared log to the format of the local log.
    ///
    /// # Errors
    /// `damaged` if it is another record or cannot be decoded.
    fn convert(&self, seq: u64, record: SharedRecord) -> Result<CopiedRecord> {
        let damaged =
            |problem: String| SharedLogError::DamagedRecord { seq, address: self.shared.address(), problem };
        if record.seq != seq {
            return Err(damaged(format!("is missing; the next one is {}", record.seq)).into());
        }
        let txn = LoggedTransaction::decode(&record.payload)
            .map_err(|error| damaged(format!("is damaged: {error}")))?;
        if txn.seq != seq {
            return Err(damaged(format!("contains change {}", txn.seq)).into());
        }
        let (bytes, checksum) = frame(seq, &record.payload);
        Ok(CopiedRecord { txn: Arc::new(txn), bytes, checksum })
    }

    /// Returns the result of a call unchanged. After a failure, the copy must be compared with the shared log again.
    fn track_failure<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|_| self.note_failure())
    }

    fn note_failure(&self) {
        self.is_checked.store(false, Ordering::Relaxed);
        *self.last_failure.lock() = Some(Instant::now());
    }

    /// Compares the local log with the shared one, even if they were compared before.
    pub(super) fn check_again(&self) -> Result<()> {
        self.is_checked.store(false, Ordering::Relaxed);
        self.check()
    }

    /// Fails if the local log is not a copy of the shared one.
    fn check(&self) -> Result<()> {
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let last = self.log.last();
        let (own, origin) =
            (self.log.read(last).map_err(local_error)?, self.log.origin().map_err(local_error)?);
        if let (Some((_, checksum)), Some(origin)) = (own, origin) {
            let of_shared = self.shared.read(last - 1, 1)?.into_iter().next();
            // The records of a base state are not in the shared log. One of them is the last record of the copy if the
            // copy was truncated there.
            let is_state = last <= self.log.base_seq();
            let is_same = of_shared.is_some_and(|record| {
                record.seq == last && (is_state || frame(last, &record.payload).1 == checksum)
            });
            let first = self.shared.read(0, 1)?.into_iter().next();
            let has_origin = match first {
                Some(record) if record.seq > 1 => {
                    let deleted = self.shared.deleted()?;
                    if deleted.origin == origin && deleted.last >= last {
                        return Err(self.outdated(last));
                    }
                    deleted.origin == origin
                }
                first => first.is_some_and(|record| Log::origin_of(&record.payload) == origin),
            };
            if !is_same || !has_origin {
                return Err(self.difference(last, has_origin)?.into());
            }
        }
        self.is_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Why the local log, which ends with record `last`, is not a copy of the shared one. `has_origin` says whether
    /// both begin with the same record.
    fn difference(&self, last: u64, has_origin: bool) -> Result<SharedLogError> {
        let (address, head) = (self.shared.address(), self.shared.head()?);
        let is_beginning = match head {
            0 => true,
            head if head >= last => false,
            // The copy began with a snapshot and lacks this record.
            head if head <= self.log.base_seq() => has_origin,
            // A shorter log may also be that of another memory.
            head => {
                let of_shared = self.shared.read(head - 1, 1)?.pop();
                let own = self.log.read(head).map_err(local_error)?;
                let records = of_shared.zip(own);
                records.is_some_and(|(record, (_, checksum))| frame(head, &record.payload).1 == checksum)
            }
        };
        Ok(match is_beginning {
            true => SharedLogError::Shorter { address, head, last },
            false => SharedLogError::Diverged { address, last },
        })
    }

    /// Appends the first transactions of a batch to the shared log, all or none. Returns whether they are in the log;
    /// if not, the head is not the one that they were built on. The caller then adds them to the copy and calls
    /// [`SharedLogCopy::end_append`].
    ///
    /// # Errors
    /// `unavailable` if the shared log does not respond, and errors of the comparison with it.
    pub(super) fn append(&self, batch: &[PendingTransaction]) -> Result<bool, AppendFailure> {
        let Some(first) = batch.first() else { return Ok(true) };
        let expected = first.txn.seq - 1;
        let number = self.next_number.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let payloads = batch.iter().map(|pending| pending.record.get(FRAME..).unwrap_or_default());
        let records: Vec<NewSharedRecord<'_>> = (number..)
            .zip(payloads)
            .map(|(writer_seq, payload)| NewSharedRecord { writer_seq, payload })
            .collect();
        let (mut attempts, mut waits, mut is_unknown) = (0, 0, false);
        // Notifications of own records must not make the committer read them.
        let appended = || {
            self.appended.store(expected + records.len() as u64, Ordering::Relaxed);
            Ok(true)
        };
        loop {
            let outcome = self.check().and_then(|()| {
                let outcome = self.shared.append(&records, expected);
                is_unknown |= matches!(&outcome, Err(error) if error.code == Code::Unavailable);
                outcome
            });
            let failure = match outcome {
                Ok(AppendOutcome::Appended) => return appended(),
                Ok(AppendOutcome::Leased) if waits < LEASE_WAITS => {
                    waits += 1;
                    // This waits for the record of the lease's holder.
                    self.shared.wait(expected, LEASE_WAIT).err()
                }
                // An attempt whose response was lost may have succeeded.
                Ok(_) => match self.next_is_own(expected, number) {
                    Ok(Some(true)) => return appended(),
                    Ok(Some(false)) => {
                        self.conflicts.fetch_add(1, Ordering::Relaxed);
                        return Ok(false);
                    }
                    // The shared log ends before the copy, unless a lease has just ended.
                    Ok(None) => {
                        self.is_checked.store(false, Ordering::Relaxed);
                        self.check().err().or_else(|| Some(SharedLogError::UnknownHead.into()))
                    }
                    Err(error) => Some(error),
                },
                Err(error) => Some(error),
            };
            let Some(error) = failure else { continue };
            self.note_failure();
            attempts += 1;
            if error.code != Code::Unavailable || attempts == ATTEMPTS {
                return Err(AppendFailure { error, is_unknown });
            }
        }
    }

    /// Whether the record after `expected` has this writer's `number`; `None` if there is no such record.
    fn next_is_own(&self, expected: u64, number: u64) -> Result<Option<bool>> {
        let found = self.shared.read(expected, 1)?;
        if found.first().is_some_and(|next| next.seq > expected + 1) {
            // The record may have been appended, applied by others and deleted.
            return Err(self.outdated(expected));
        }
        let writer = self.shared.writer();
        Ok(found.first().map(|record| record.writer == writer && record.writer_seq == number))
    }
}

/// An error of the local log. It must not look like that of an unreachable shared log, after which the call is
/// repeated.
fn local_error(error: Error) -> Error {
    Error { code: Code::ReadOnly, ..error }
}

/// The number of transactions at the start of a batch that are appended together.
pub(super) fn append_count(batch: &[PendingTransaction]) -> usize {
    let mut bytes = 0;
    let fits = |pending: &&PendingTransaction| {
        let fits = bytes < PART_BYTES;
        bytes += pending.record.len();
        fits
    };
    batch.iter().take(PART_RECORDS).take_while(fits).count()
}

/// Appends records of the shared log to the local log.
pub(super) fn append(appender: &mut Appender, records: &[CopiedRecord]) -> io::Result<()> {
    let records: Vec<(u64, &[u8])> =
        records.iter().map(|record| (record.txn.seq, record.bytes.as_slice())).collect();
    appender.append(&records)
}
