//! Copies the log of a store's folder to a shared log.

use super::log::{self, Log, frame};
use super::log_head;
use super::logged_transaction::LogBase;
use super::shared_log::{AppendOutcome, DeletedHistory, NewSharedRecord, SharedLog, SharedSnapshot};
use super::shared_snapshot;
use poc_graph::error::{Error, Result};
use std::path::Path;
use std::time::Duration;

/// Maximum number of records appended at once.
const MAX_BATCH_RECORDS: usize = 1000;
/// Size of records, in bytes, from which they are appended.
const BATCH_BYTES: usize = 8 << 20;
/// How long a copy that was killed prevents the next one. The claim to write snapshots is taken for the whole copy, and
/// renewed before each append: only one process copies, and no daemon writes a snapshot meanwhile.
const CLAIM: Duration = Duration::from_secs(30);

/// Why a log cannot be copied to a shared log.
#[derive(Debug, thiserror::Error)]
enum LogCopyError {
    #[error("the log is damaged")]
    Damaged,
    /// The number is that of the last deleted transaction.
    #[error(
        "the history up to change {0} was deleted by a compaction, and a part of it is missing in the shared log"
    )]
    Compacted(u64),
    #[error("another process is writing to `{address}`")]
    OtherWriter { address: String },
    /// `left` is how long its claim lasts unless it is renewed.
    #[error("another process is copying to `{address}`, or writes a snapshot there")]
    OtherCopy { address: String, left: Option<Duration> },
    #[error("`{address}` already contains another memory (its last change is {head})")]
    OtherMemory { address: String, head: u64 },
    /// The numbers are those of the last transactions in the database and in the folder.
    #[error(
        "`{address}` was used since the copy: it has all changes of the folder, which ends with {last}, and later ones up \
         to {head}"
    )]
    Newer { address: String, head: u64, last: u64 },
    /// The number is that of the last transaction in the folder.
    #[error(
        "the log `{address}` begins after change {last}, where the folder ends: its history would be replaced"
    )]
    Shortened { address: String, last: u64 },
}

impl From<LogCopyError> for Error {
    fn from(error: LogCopyError) -> Error {
        let message = error.to_string();
        match error {
            LogCopyError::Damaged => Error::invalid(message).hint("repair it first: `poc-memory repair`"),
            LogCopyError::Compacted(_) => Error::invalid(message).hint("copy into an empty `[store] name`"),
            LogCopyError::OtherWriter { .. } => {
                Error::conflict(message).hint("copy into a store that is not in use")
            }
            LogCopyError::OtherCopy { left, .. } => {
                let seconds = left.unwrap_or(CLAIM).as_secs() + 1;
                let hint = "wait until it ends; if it was killed, the next copy can begin in";
                Error::conflict(message).hint(format!("{hint} {seconds} s"))
            }
            LogCopyError::OtherMemory { .. } => {
                Error::conflict(message).hint("choose another `[store] name`")
            }
            LogCopyError::Newer { .. } => Error::conflict(message).hint("there is nothing to copy"),
            LogCopyError::Shortened { .. } => Error::conflict(message).hint("copy into another folder"),
        }
    }
}

/// Copies the log in a store's folder to a shared log, record by record, and returns the number of the last record. The
/// folder may be in use and does not change. Records that the shared log already has are not copied again. A log that
/// was empty cannot be used before it is complete.
///
/// # Errors
/// `conflict` if the shared log belongs to another memory, has later records or others write or copy to it, and
/// `invalid_argument` if the log is damaged, has lost its end, or lacks records after a compaction that the shared log
/// lacks, too.
pub fn copy_log(directory: &Path, to: &dyn SharedLog, progress: &dyn Fn(u64, u64)) -> Result<u64> {
    log::check_format(&directory.join("log"))?;
    to.begin_copy()?;
    let copied = claim(to).and_then(|()| {
        copy_records(directory, to, progress).inspect_err(|_| {
            // Others may use a log into which nothing was copied, unless another process copies into it by now.
            if matches!(to.snapshots().renew(CLAIM), Ok(true))
                && matches!(to.head(), Ok(0))
                && let Err(error) = to.end_copy()
            {
                tracing::debug!("the log stays unusable until the copy is repeated: {error}");
            }
        })
    });
    if let Err(error) = to.snapshots().release() {
        tracing::debug!("the next copy must wait: {error}");
    }
    copied
}

/// Claims the right to copy.
///
/// # Errors
/// `conflict` if another process has it.
fn claim(to: &dyn SharedLog) -> Result<()> {
    match to.snapshots().claim(CLAIM)? {
        true => Ok(()),
        false => Err(other_copy(to)),
    }
}

/// Renews the claim.
///
/// # Errors
/// `conflict` if another process has taken it over, because this one took too long.
fn renew_claim(to: &dyn SharedLog) -> Result<()> {
    match to.snapshots().renew(CLAIM)? {
        true => Ok(()),
        false => Err(other_copy(to)),
    }
}

fn other_copy(to: &dyn SharedLog) -> Error {
    let left = to.snapshots().claimed_for().unwrap_or_default();
    LogCopyError::OtherCopy { address: to.address(), left }.into()
}

fn copy_records(directory: &Path, to: &dyn SharedLog, progress: &dyn Fn(u64, u64)) -> Result<u64> {
    let mut copied = to.head()?;
    let (mut number, mut is_checked) = (1, false);
    loop {
        // The number is read first, because the folder may be in use.
        let acknowledged = log_head::read(directory).unwrap_or(0);
        // The next round copies what was written during this one.
        let (log, prefix_end) = log::inspect(&directory.join("log"), false)?;
        if prefix_end.is_some_and(|end| end.precedes_intact_records().unwrap_or(true)) {
            return Err(LogCopyError::Damaged.into());
        }
        // Only the end of a copy of this shared log may be missing: the shared log has it.
        if acknowledged > log.last().max(copied) {
            return Err(LogCopyError::Damaged.into());
        }
        if let Some(LogBase { seq: last, origin, .. }) = log.base() {
            if copied == 0 && to.begin_after(DeletedHistory { last, erased: 0, origin })? {
                copied = last;
            }
            if copied < last {
                return Err(LogCopyError::Compacted(last).into());
            }
        }
        if !is_checked {
            require_same_memory(&log, to, copied)?;
            is_checked = true;
        }
        let last = log.last();
        if copied >= last {
            copy_state(&log, to)?;
            renew_claim(to)?;
            to.end_copy()?;
            return Ok(copied);
        }
        while copied < last {
            let payloads = next_batch(&log, copied)?;
            let records: Vec<NewSharedRecord<'_>> = (number..)
                .zip(&payloads)
                .map(|(writer_seq, payload)| NewSharedRecord { writer_seq, payload })
                .collect();
            renew_claim(to)?;
            if to.append(&records, copied)? != AppendOutcome::Appended {
                return Err(LogCopyError::OtherWriter { address: to.address() }.into());
            }
            number += records.len() as u64;
            copied += records.len() as u64;
            progress(copied, last);
        }
    }
}

/// Fails if a shared log begins after the end of the copy of it in a store's folder. An open would replace the copy,
/// and its history, with a snapshot.
///
/// # Errors
/// `conflict` then, and errors of the log and of the folder.
pub fn require_continued(directory: &Path, shared: &dyn SharedLog) -> Result<()> {
    let (log, _) = log::inspect(&directory.join("log"), false)?;
    let last = log.last();
    if last > 0 && shared.deleted()?.last >= last {
        return Err(LogCopyError::Shortened { address: shared.address(), last }.into());
    }
    Ok(())
}

/// Whether a store's folder was used without a shared log since it was last brought up to the end of one, so that it may
/// have changes that no shared log has.
pub fn may_have_own_changes(directory: &Path) -> bool {
    log_head::exists(directory)
}

/// If the shared log begins after records that it never had, stores the state before its first record as a snapshot.
fn copy_state(log: &Log, to: &dyn SharedLog) -> Result<()> {
    let Some(base) = log.base() else { return Ok(()) };
    let (snapshots, deleted) = (to.snapshots(), to.deleted()?);
    if deleted.last == 0 || snapshots.newest()?.is_some() {
        return Ok(());
    }
    // This also deletes what an interrupted copy has written.
    claim(to)?;
    let mut snapshot = SharedSnapshot { seq: base.seq + 1, parts: 0, bytes: 0 };
    log.each_part_of_beginning(shared_snapshot::PART, &mut |part| {
        let written = snapshots.write_part(snapshot.seq, snapshot.parts, &part, CLAIM)?;
        written.then_some(()).ok_or_else(|| other_copy(to))?;
        snapshot.parts += 1;
        snapshot.bytes += part.len() as u64;
        Ok(())
    })?;
    snapshots.complete(snapshot)?.then_some(()).ok_or_else(|| other_copy(to))?;
    if base.seq > deleted.last {
        // The source was compacted again after an interrupted copy.
        to.delete_until(DeletedHistory { last: base.seq, ..deleted })?;
    }
    Ok(())
}

/// Fails if the last record of the shared log is not in the local log.
fn require_same_memory(log: &Log, shared: &dyn SharedLog, head: u64) -> Result<()> {
    if head == 0 {
        return Ok(());
    }
    let deleted = shared.deleted()?;
    // The shared log has no record yet.
    if deleted.last == head && log.origin()? == Some(deleted.origin) {
        return Ok(());
    }
    if have_same_record(log, shared, head)? {
        return Ok(());
    }
    let (address, last) = (shared.address(), log.last());
    Err(match last > 0 && last < head && have_same_record(log, shared, last)? {
        true => LogCopyError::Newer { address, head, last },
        false => LogCopyError::OtherMemory { address, head },
    }
    .into())
}

/// Whether both logs have a record, and it is the same.
fn have_same_record(log: &Log, shared: &dyn SharedLog, seq: u64) -> Result<bool> {
    let of_shared = shared.read(seq - 1, 1)?.into_iter().next();
    let own = log.read(seq)?.map(|(_, checksum)| checksum);
    Ok(of_shared.is_some_and(|record| Some(frame(seq, &record.payload).1) == own))
}

/// The payloads of the next batch of records after a number.
fn next_batch(log: &Log, after: u64) -> Result<Vec<Vec<u8>>> {
    let (mut payloads, mut bytes) = (Vec::new(), 0);
    let mut next = after + 1;
    while next <= log.last() && payloads.len() < MAX_BATCH_RECORDS && bytes < BATCH_BYTES {
        let end = log.last().min(next + 63);
        log.replay_payloads(next, end, &mut |seq, payload, _| {
            bytes += payload.len();
            payloads.push(payload);
            next = seq + 1;
            Ok(true)
        })?;
    }
    Ok(payloads)
}
