//! Deletes the beginning of a shared log: history that is no longer needed, or erased texts.
//!
//! First a snapshot with the state at the end of the deleted part is stored, so that a new copy can begin there. Copies
//! that already have later records are not affected; they delete history when they are compacted. A copy that ends within
//! the deleted part begins with a snapshot at its next open.

use super::Store;
use super::compact::CompactionCallbacks;
use super::shared_log::DeletedHistory;
use super::shared_log_copy::SharedLogCopy;
use super::shared_snapshot::{delete_unneeded, upload};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use std::time::{Duration, Instant};

/// Why history cannot be deleted from a shared log.
#[derive(Debug, thiserror::Error)]
enum SharedHistoryError {
    /// The time after which the claim of the other writer ends, if it is known.
    #[error(
        "another daemon is storing a snapshot or deletes history, so the history cannot be deleted from the shared log now{}",
        claim_clause(*.0)
    )]
    Claimed(Option<Duration>),
    /// The number is that of the last transaction that should be deleted.
    #[error(
        "the history up to change {0} cannot be deleted from the shared log: it has no more records than its state needs"
    )]
    NoState(u64),
    #[error("the shared log was replaced, or it has lost its snapshot")]
    Replaced,
}

/// When a claim ends if nobody renews it.
fn claim_clause(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| {
        format!("; if its process has ended, its claim ends within {} s", left.as_secs() + 1)
    })
}

impl From<SharedHistoryError> for Error {
    fn from(error: SharedHistoryError) -> Error {
        let message = error.to_string();
        match error {
            SharedHistoryError::Claimed(_) => {
                Error::unavailable(message).hint("repeat it when that claim has ended")
            }
            SharedHistoryError::NoState(_) => Error::internal(message),
            SharedHistoryError::Replaced => Error::conflict(message),
        }
    }
}

/// Maximum time to wait until all live writers have read what an erasure keeps. A writer that has not must begin with a
/// snapshot.
const READERS_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time between two checks of what they have read.
const READERS_INTERVAL: Duration = Duration::from_millis(500);

impl Store {
    /// Deletes the records of the shared log that were made before a time and that all live writers have read, if these
    /// are at least `min_records`. Returns the number of the last deleted record; `None` if nothing was deleted,
    /// another writer is storing a snapshot, or there is no shared log.
    ///
    /// # Errors
    /// Like [`Store::make_snapshot`].
    pub fn delete_shared_history(
        &self,
        before: Timestamp,
        min_records: u64,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Option<u64>> {
        let Some(copy) = &self.shared.shared_log else { return Ok(None) };
        let log = self.shared.log.as_ref();
        let deleted = copy.deleted()?;
        // One record shows whether the deletion is due, so that the history is not read every time.
        let due = deleted.last.saturating_add(min_records.max(1));
        if log.last() <= due
            || due > log.base_seq() && log.read(due)?.is_none_or(|(txn, _)| txn.cause.at >= before)
        {
            return Ok(None);
        }
        let until = log.last() - 1;
        let Some((seq, at)) = log.last_before(before, until, callbacks.check_cancelled)? else {
            return Ok(None);
        };
        // A copy without earlier history does not know which of it is old enough.
        if at >= before {
            return Ok(None);
        }
        let live = copy.peers()?.into_iter().filter(|peer| peer.is_alive() && peer.head > 0);
        let last = live.map(|peer| peer.head - 1).fold(seq, u64::min);
        if last < deleted.last.saturating_add(min_records).max(log.base_seq()).max(1) {
            return Ok(None);
        }
        let done = self.replace_shared_beginning(copy, DeletedHistory { last, ..deleted }, callbacks)?;
        Ok((done == Some(true)).then_some(last))
    }

    /// Deletes the records of the shared log that this store has deleted from its own copy, because they contain erased
    /// texts. Waits until the live writers have read the later ones. Does nothing if there is no shared log.
    ///
    /// # Errors
    /// `unavailable` if another writer is storing a snapshot, and as [`Store::make_snapshot`]. The records may then
    /// still be in the shared log.
    pub fn erase_shared_history(&self, callbacks: &CompactionCallbacks<'_>) -> Result<()> {
        let (Some(copy), Some(base)) = (&self.shared.shared_log, self.shared.log.base()) else {
            return Ok(());
        };
        let since = Instant::now();
        while since.elapsed() < READERS_TIMEOUT
            && copy.peers()?.iter().any(|peer| peer.is_alive() && peer.head <= base.seq)
        {
            (callbacks.check_cancelled)()?;
            copy.wait(READERS_INTERVAL)?;
        }
        let erased = DeletedHistory { last: base.seq, erased: base.seq, ..copy.deleted()? };
        match self.replace_shared_beginning(copy, erased, callbacks)? {
            Some(true) => Ok(()),
            Some(false) => Err(SharedHistoryError::NoState(base.seq).into()),
            // Without an answer, the error just does not say when the claim ends.
            None => {
                let left = copy.snapshots(|snapshots| snapshots.claimed_for()).ok().flatten();
                Err(SharedHistoryError::Claimed(left).into())
            }
        }
    }

    /// The number of the first record of the shared log if earlier ones were deleted; `None` otherwise, and if there is
    /// no shared log.
    ///
    /// # Errors
    /// Those of the shared log.
    pub fn first_shared(&self) -> Result<Option<u64>> {
        let Some(copy) = &self.shared.shared_log else { return Ok(None) };
        let last = copy.deleted()?.last;
        Ok((last > 0).then_some(last + 1))
    }

    /// The number of the last record that another writer has erased from the shared log, if this copy still has history
    /// up to it.
    ///
    /// # Errors
    /// Those of the shared log.
    pub fn erased_elsewhere(&self) -> Result<Option<u64>> {
        let Some(copy) = &self.shared.shared_log else { return Ok(None) };
        let erased = copy.deleted()?.erased;
        let (base, last) = (self.shared.log.base_seq(), self.published_seq());
        Ok((base < erased && erased < last).then_some(erased))
    }

    /// Stores a snapshot of the state after record `deleted.last`, and deletes the records up to it. Returns `false` if
    /// the state needs as many records as it would replace, and `None` if another writer is storing a snapshot.
    fn replace_shared_beginning(
        &self,
        copy: &SharedLogCopy,
        deleted: DeletedHistory,
        callbacks: &CompactionCallbacks<'_>,
    ) -> Result<Option<bool>> {
        let last = deleted.last;
        self.with_claim(callbacks, &|work, folder| {
            // Another writer may have deleted more in the meantime, or have stored the same state.
            if copy.deleted()?.last < last && copy.snapshots(|snapshots| snapshots.find(last + 1))?.is_none()
            {
                // Nearly all new copies begin with the newest snapshot.
                let newest = copy.snapshots(|snapshots| snapshots.newest())?;
                let has_files = newest.is_none_or(|newest| newest.seq <= last);
                let Some(prepared) = work.prepare_snapshot(folder, last + 1, has_files)? else {
                    return Ok(Some(false));
                };
                upload(&prepared, copy, callbacks)?;
            }
            // A power failure may remove what is not synced. If this copy then had no later record than the deleted ones, a
            // snapshot would replace it at the next open.
            self.shared.log.sync(last + 1)?;
            let origin = self.shared.log.origin()?.unwrap_or_default();
            let is_deleted = copy.delete_until(DeletedHistory { origin, ..deleted })?;
            is_deleted.then_some(()).ok_or(SharedHistoryError::Replaced)?;
            // Earlier snapshots may have erased texts.
            delete_unneeded(copy)?;
            Ok(Some(true))
        })
    }
}
