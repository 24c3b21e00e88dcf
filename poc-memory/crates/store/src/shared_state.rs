//! The state that all handles of a store share, and how a store is closed.

use super::compactor::Compactor;
use super::engine::Engine;
use super::engine::lazy::{EngineOpener, LazyEngine};
use super::group_commit::{CommitQueue, TenantMemory};
use super::index_workers::{CHECKPOINT_MIN_CHANGES, IndexWorkers};
use super::lock::Lock;
use super::log::{Log, SyncedLog};
use super::read_only::ReadOnlyReason;
use super::rebuilt_files::RebuiltFiles;
use super::shared_log_copy::SharedLogCopy;
use super::tenant_views::TenantPin;
use super::view_file;
use super::writer_state::Writer;
use parking_lot::Mutex;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Tenant, View};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Like [`CHECKPOINT_MIN_CHANGES`], in bytes of records that the engine lacks, such as the rows of agents, which are
/// not in any view.
const CHECKPOINT_MIN_BYTES: usize = 1 << 20;

/// A store whose folder was moved or replaced while it was open.
#[derive(Debug, thiserror::Error)]
#[error("`{}` was moved or replaced while it was open", .0.display())]
struct MovedStore(PathBuf);

impl From<MovedStore> for Error {
    fn from(error: MovedStore) -> Error {
        Error::new(Code::ReadOnly, error.to_string())
            .hint("restart the program: it opens the store that is there now")
    }
}

/// The state that all handles of a store share.
pub(super) struct StoreState {
    // The lock is reentrant, so that a nested transaction fails to borrow instead of deadlocking.
    pub(super) writer: Writer,
    pub(super) commits: Arc<CommitQueue>,
    pub(super) committer: Option<JoinHandle<()>>,
    pub(super) shared_log: Option<Arc<SharedLogCopy>>,
    /// The thread that waits for records of the shared log.
    pub(super) watcher: Option<JoinHandle<()>>,
    pub(super) engine: Arc<LazyEngine>,
    pub(super) log: Arc<Log>,
    pub(super) index_workers: Arc<IndexWorkers>,
    pub(super) tenant_memory: Arc<TenantMemory>,
    pub(super) embedder: String,
    pub(super) directory: PathBuf,
    // Messages about the recovery of the log.
    pub(super) messages: Vec<String>,
    /// If files are damaged, why the store is read-only.
    pub(super) damage: Option<String>,
    /// Whether it is a damaged copy of a shared log that could not be reached.
    pub(super) awaits_shared_log: bool,
    /// `None` in a damaged store.
    pub(super) compactor: Option<Compactor>,
    pub(super) rebuilt: Arc<RebuiltFiles>,
    // The last transaction in the saved views, or 0 if none are saved. The lock is held while a checkpoint is written,
    // so that there is only one at a time.
    pub(super) saved: Mutex<u64>,
    pub(super) _opener: EngineOpener,
    // This must be the last field: fields drop in order, and the lock must be released after everything else is closed.
    pub(super) lock: Arc<Lock>,
}

impl StoreState {
    /// Whether derived files may be saved: the store is not damaged, and its log is open for writing.
    pub(super) fn may_save(&self) -> bool {
        self.damage.is_none() && self.log.is_recovered()
    }

    /// The newest published view of a tenant. If it cannot be loaded, it is empty, and every answer is reported as
    /// incomplete.
    pub(super) fn view(&self, tenant: Tenant) -> Arc<View> {
        let view = self.commits.view(tenant, self.engine.as_ref());
        self.make_room();
        view.unwrap_or_else(|error| {
            tracing::error!("the notes of a tenant cannot be read: {error}");
            Arc::new(View::new())
        })
    }

    /// Keeps the view of a tenant in memory.
    pub(super) fn pin(&self, tenant: Tenant) -> Result<TenantPin> {
        let pin = self.commits.pin(tenant, self.engine.as_ref());
        self.make_room();
        pin
    }

    /// Unloads tenants if too much is in memory.
    pub(super) fn make_room(&self) {
        self.tenant_memory.make_room(&self.commits, &self.index_workers);
    }

    pub(super) fn checkpoint(&self) -> Result<()> {
        if !self.may_save() {
            return Ok(());
        }
        if !self.lock.is_current() {
            return Err(MovedStore(self.directory.clone()).into());
        }
        let mut saved_seq = self.saved.lock();
        let synced = self.log.keep_synced()?;
        let unsaved = self.index_workers.take_unsaved();
        let saved = self.save(&mut saved_seq, &synced);
        if saved.is_err() {
            self.index_workers.add_unsaved(unsaved);
        }
        saved
    }

    fn save(&self, saved_seq: &mut u64, synced: &SyncedLog<'_>) -> Result<()> {
        let indexes = self.index_workers.checkpoint(synced);
        let viewed = match self.log.lost_bytes() {
            Some(problem) => Err(ReadOnlyReason::changed_log(&problem).error()),
            None => self.save_views(saved_seq, synced),
        };
        let flushed = self.engine.flush().inspect_err(|_| self.engine.reopen_if_failed());
        self.delete_replaced_segments();
        indexes.and(viewed).and(flushed).and(self.log.save_checked(synced))
    }

    /// Deletes the segments of the log that a compaction has replaced, unless they are being read.
    pub(super) fn delete_replaced_segments(&self) {
        if let Some(compactor) = &self.compactor {
            self.log.delete_obsolete(compactor.disk.as_ref());
        }
    }

    fn save_views(&self, saved_seq: &mut u64, synced: &SyncedLog<'_>) -> Result<()> {
        let (seq, main, others) = self.commits.main_and_counts();
        if seq != *saved_seq {
            view_file::write(&self.directory, seq, &main, &others, synced)?;
            *saved_seq = seq;
        }
        self.commits.save_views(synced)
    }

    /// The number of changes since the last checkpoint. It is enough for a checkpoint if the view of a tenant with many
    /// notes would otherwise have to be built from its records again.
    pub(super) fn unsaved(&self) -> usize {
        let unsaved = self.index_workers.unsaved();
        let must_save = self.may_save() && self.commits.lacks_view_file();
        if must_save { unsaved.max(CHECKPOINT_MIN_CHANGES) } else { unsaved }
    }
}

impl Drop for StoreState {
    fn drop(&mut self) {
        self.commits.close();
        for thread in self.committer.take().into_iter().chain(self.watcher.take()) {
            // The threads catch their own panics.
            let _ = thread.join();
        }
        self.index_workers.finish();
        if !self.may_save() || !self.lock.is_current() {
            return;
        }
        let is_log_lost = self.log.lost_bytes().is_some();
        let buffered = self.engine.buffered() >= CHECKPOINT_MIN_BYTES;
        let is_due = is_log_lost || buffered || self.unsaved() >= CHECKPOINT_MIN_CHANGES;
        let saved = match is_due {
            true => self.checkpoint(),
            false => self.log.keep_synced().and_then(|synced| self.log.save_checked(&synced)),
        };
        if let Err(error) = saved {
            tracing::warn!("not everything was saved; the next open takes longer: {error}");
        }
    }
}
