//! Which records of the log are on disk.
//!
//! Without a shared log, every append syncs its records. The records of a shared log are acknowledged as soon as the
//! shared log has them, and their copy in the local log is synced later. A power failure may then remove them from the
//! local log. What is derived from the log must not be ahead of it on disk, because an open would take such a log for
//! damaged. Therefore derived files are written only after [`Log::sync`], or while a [`SyncedLog`] exists.

use super::{Appender, Log, LogError};
use parking_lot::Mutex;
use poc_graph::error::Result;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, Weak};

/// Which records are known to be on disk, and what is needed to sync the others.
#[derive(Default)]
pub(super) struct SyncState {
    /// Whether everything that earlier processes have written is on disk.
    is_recovered: AtomicBool,
    /// Whether appends may end before their records are on disk.
    is_deferred: AtomicBool,
    /// The number of the last record that is known to be on disk.
    last: AtomicU64,
    /// The number of [`SyncedLog`]s that exist.
    kept: AtomicUsize,
    /// Not set while the store opens. Until then, nobody derives files from records that are not synced.
    appender: OnceLock<Weak<Mutex<Appender>>>,
}

/// While this exists, everything that readers see of the log is on disk, also what is appended meanwhile.
pub(crate) struct SyncedLog<'a>(&'a Log);

impl<'a> SyncedLog<'a> {
    /// The log.
    pub(crate) fn log(&self) -> &'a Log {
        self.0
    }
}

impl Drop for SyncedLog<'_> {
    fn drop(&mut self) {
        self.0.synced.kept.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Log {
    /// Whether everything that earlier processes have written is on disk. A killed process may have written records
    /// that it had not synced. Until they are synced, a power failure may remove them, so nothing that is derived from
    /// the log may be saved.
    pub(crate) fn is_recovered(&self) -> bool {
        self.synced.is_recovered.load(Ordering::Acquire)
    }

    /// Makes the records up to number `seq` durable, unless they are.
    ///
    /// # Errors
    /// `read_only` if the disk fails the sync.
    pub(crate) fn sync(&self, seq: u64) -> Result<()> {
        if self.synced_seq() >= seq { Ok(()) } else { self.sync_all() }
    }

    /// Makes all records durable. While the result exists, every append syncs its records.
    ///
    /// # Errors
    /// Like [`Log::sync`].
    pub(crate) fn keep_synced(&self) -> Result<SyncedLog<'_>> {
        // This comes first: an append that does not see it ends before the sync.
        self.synced.kept.fetch_add(1, Ordering::SeqCst);
        let kept = SyncedLog(self);
        self.sync_all()?;
        Ok(kept)
    }

    fn sync_all(&self) -> Result<()> {
        // Without a shared log, readers see only records that are on disk, so nobody waits for an append.
        if !self.defers_syncs() && self.is_recovered() {
            return Ok(());
        }
        let synced = match self.synced.appender.get().and_then(Weak::upgrade) {
            // Even if all records seem to be synced, this waits for an append that has not ended.
            Some(appender) => appender.lock().sync(),
            None if self.synced_seq() >= self.last() => Ok(()),
            None => Err(io::Error::other("it is not open for writing")),
        };
        Ok(synced.map_err(LogError::Unsynced)?)
    }

    /// The number of the last record that is known to be on disk.
    pub(super) fn synced_seq(&self) -> u64 {
        self.synced.last.load(Ordering::Acquire)
    }

    /// Lets appends end before their records are on disk, unless a [`SyncedLog`] exists.
    pub(super) fn defer_syncs(&self) {
        self.synced.is_deferred.store(true, Ordering::Release);
    }

    fn defers_syncs(&self) -> bool {
        self.synced.is_deferred.load(Ordering::Acquire)
    }

    /// Whether an append must sync its records: syncs are not deferred, or files may be derived from the records now.
    pub(super) fn must_sync(&self) -> bool {
        !self.defers_syncs() || self.synced.kept.load(Ordering::SeqCst) > 0
    }

    /// Notes that all records are on disk.
    pub(super) fn set_synced(&self) {
        self.synced.last.store(self.last(), Ordering::Release);
    }

    /// Notes that all records are on disk, including those of earlier processes.
    pub(super) fn set_recovered(&self) {
        self.set_synced();
        self.synced.is_recovered.store(true, Ordering::Release);
    }

    /// Lets [`Log::sync`] use an appender, which must be the only one of the log.
    pub(super) fn set_appender(&self, appender: Weak<Mutex<Appender>>) {
        // A log has one appender, so none is replaced.
        let _ = self.synced.appender.set(appender);
    }
}
