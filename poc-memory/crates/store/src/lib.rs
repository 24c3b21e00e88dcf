//! The store: the log as the source of truth, the record engine that materialises it, and transactions.
//!
//! A change is acknowledged as soon as its log record is on disk. The engine, the view and the indexes
//! are materialisations of the log. Each records the last transaction that it reflects, catches up from there when
//! the store opens, and can be rebuilt at any time. `schema/store.md` describes the format on disk.

pub mod atomic_file;
mod catch_up;
mod commit_outcome;
mod compact;
mod compaction_error;
mod compactor;
mod compression;
mod copy_to_shared_log;
mod creation;
mod delta;
mod derived_files;
mod derived_index;
mod disk;
mod disk_reserve;
mod empty_store;
mod encoding_error;
mod engine;
mod engine_key;
mod file_integrity;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod group_commit;
mod index_entries;
mod index_workers;
mod keys;
mod loaded_tenants;
mod lock;
mod log;
mod log_head;
mod logged_change;
mod logged_transaction;
mod open;
mod overlay;
mod past_snapshot;
mod pending_transaction;
mod quarantine;
mod read_only;
mod rebuilt_files;
mod record_access;
mod record_encoding;
mod records;
mod recovery_report;
mod repair;
mod salvaged_records;
mod scans;
mod shared_history;
mod shared_log;
mod shared_log_copy;
mod shared_log_status;
mod shared_snapshot;
mod shared_state;
mod suspect_log;
mod table;
mod tenant_counts;
mod tenant_loads;
mod tenant_view_files;
mod tenant_views;
mod tenants;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod transaction;
mod transaction_range;
mod vector_counts;
mod vector_encoding;
mod verify;
mod view_file;
mod views;
mod watchdog;
mod write_path;
mod writer_state;

pub use compact::{Compaction, CompactionCallbacks, DeletableHistory, StoreSizes};
pub use copy_to_shared_log::{copy_log, may_have_own_changes, require_continued};
pub use derived_index::{DerivedIndex, LoadedIndex, NoteDigests, TenantSource};
pub use disk::FileId;
pub use empty_store::{delete_empty_store, is_empty_store};
pub use index_entries::LostNote;
pub use index_workers::{CHECKPOINT_MIN_CHANGES, CHECKPOINT_URGENT_CHANGES};
pub use loaded_tenants::LoadedTenants;
pub use log::{
    LogSnapshot, SegmentExtent, SegmentState, check_segment, each_transaction_of_segment,
    last_transaction_before,
};
pub use logged_change::{LoggedChange, LoggedChangeKind};
pub use logged_transaction::{Cause, LogBase, LoggedTransaction, Write, WriteRange};
pub use past_snapshot::{MIGRATION_OP, PastSnapshot, PastState};
pub use read_only::ReadOnlyReason;
pub use rebuilt_files::RebuiltFiles;
pub use record_encoding::Record;
pub use records::Records;
pub use recovery_report::RecoveryReport;
pub use repair::{
    IntactContents, QuarantineFile, QuarantineNote, QuarantinePart, QuarantineRecord, QuarantineTenant,
    REPAIR_OP, ReadablePart, Repair, RepairOption, RepairReport, RepairSource, RestorableRecords,
    delete_quarantine_part, for_each_quarantine_record, has_undoable_repair, is_replaced_copy,
    quarantine_contents, quarantine_files, quarantine_lost_notes, quarantine_names, quarantine_parts,
    repair_folders, undo_repair,
};
pub use scans::parse_keyword_key;
pub use shared_log::{
    AppendOutcome, DeletedHistory, FIRST_FILE_PART, NewSharedRecord, PEER_HEARTBEAT, Peer, SharedLog,
    SharedRecord, SharedSnapshot, SnapshotStore, WriterId,
};
pub use shared_log_status::SharedLogStatus;
pub use shared_snapshot::CopyStart;
pub use table::{Table, UnknownTable};
pub use tenant_counts::TenantCounts;
pub use tenant_loads::TenantLoads;
pub use tenants::NamedTenant;
pub use transaction::Transaction;
pub use transaction_range::TransactionRange;
pub use vector_counts::EmbedderCount;
pub use verify::{DamagedPart, StorePart, VerifyCallbacks};
pub use write_path::Commit;

use engine::Engine;
use lock::Lock;
use poc_graph::error::{Error, Result};
use poc_graph::{Tenant, Tuple, View};
use records::TenantRecords;
use shared_state::StoreState;
use std::path::Path;
use std::sync::Arc;

/// A hint for errors about a damaged store.
pub const DAMAGED_HINT: &str = "`poc-memory repair` shows what can be done and changes nothing by itself";

/// An open store as seen by one tenant. Records of other tenants are not visible.
///
/// A clone is another handle. Dropping the last handle closes the store. Only one process can have a store open at a
/// time.
#[derive(Clone)]
pub struct Store {
    shared: Arc<StoreState>,
    tenant: Tenant,
    tuple: Arc<Tuple>,
}

impl Store {
    /// Opens the store in a directory, creating it if it is missing, and returns the handle of the default
    /// tenant.
    ///
    /// The view is available at once. The records open and the `indexes` catch up in the background;
    /// calls that need them wait. Indexes receive the vectors of `embedder`.
    ///
    /// If the log is damaged before intact records, ends before another part of the store does, or is missing although
    /// there is a quarantine, nothing on disk is changed. The store then shows the newest state that can be assembled
    /// from its intact parts, and is read-only; see [`Store::damage`].
    pub fn open(directory: &Path, embedder: &str, indexes: Vec<Arc<dyn DerivedIndex>>) -> Result<Store> {
        Store::open_with(directory, embedder, indexes, open::StoreOptions::default())
    }

    /// Like [`Store::open`], for a folder that need not survive a power failure, such as one that is deleted when the
    /// program ends. Writes are acknowledged before they are on disk.
    pub fn open_temporary(
        directory: &Path,
        embedder: &str,
        indexes: Vec<Arc<dyn DerivedIndex>>,
    ) -> Result<Store> {
        let options =
            open::StoreOptions { disk: Arc::new(disk::UnsyncedDisk), ..open::StoreOptions::default() };
        Store::open_with(directory, embedder, indexes, options)
    }

    /// Like [`Store::open`], for a store whose folder is a copy of a shared log. `start` determines whether an empty
    /// folder starts with the newest snapshot. A damaged copy is restored from the shared log; if that cannot be reached
    /// or is not shown to be the one that was copied, the store is damaged as for [`Store::open`].
    ///
    /// # Errors
    /// `conflict` if the folder belongs to another memory than the shared log. `unavailable` if the shared log cannot
    /// be reached and the folder is empty. With a copy in the folder, the store opens without it and accepts no writes
    /// until the log can be reached.
    pub fn open_shared(
        directory: &Path,
        embedder: &str,
        indexes: Vec<Arc<dyn DerivedIndex>>,
        shared_log: Arc<dyn SharedLog>,
        start: CopyStart,
    ) -> Result<Store> {
        let options =
            open::StoreOptions { shared_log: Some((shared_log, start)), ..open::StoreOptions::default() };
        Store::open_with(directory, embedder, indexes, options)
    }

    fn open_with(
        directory: &Path,
        embedder: &str,
        indexes: Vec<Arc<dyn DerivedIndex>>,
        options: open::StoreOptions,
    ) -> Result<Store> {
        let shared = open::open(directory, embedder, indexes, options)?;
        Ok(Store { shared: Arc::new(shared), tenant: Tenant::default(), tuple: Arc::default() })
    }

    /// The handle of a tenant. A name can be spelled with composed or decomposed characters: the handle has the spelling
    /// of the tenant that exists, the one that is given if several exist, and the composed one for a new tenant.
    pub fn for_tenant(&self, tuple: &Tuple) -> Store {
        self.with_tuple(self.known_spelling(tuple).into_owned())
    }

    /// The tenant of this handle.
    pub fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The keys and values that identify the tenant.
    pub fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    fn view_of(&self, tenant: Tenant) -> Arc<View> {
        self.shared.view(tenant)
    }

    /// The tenant's records in the current state of the engine.
    fn records(&self) -> TenantRecords<'_> {
        TenantRecords { engine: self.shared.engine.as_ref(), tenant: self.tenant }
    }

    /// The result of the recovery at open. Waits until the records are open. Damaged files that are found after the
    /// first call are also logged as warnings.
    pub fn recovery(&self) -> RecoveryReport {
        let shared = &self.shared;
        let found = shared.engine.opened().map(|opened| opened.messages.clone());
        RecoveryReport {
            // A failure to open is reported by the next read of a record.
            messages: shared.messages.iter().cloned().chain(found.unwrap_or_default()).collect(),
            rebuilt: shared.rebuilt.messages(),
        }
    }

    /// The list of damaged derived files, to which other parts of the program add those that they find.
    pub fn rebuilt_files(&self) -> Arc<RebuiltFiles> {
        self.shared.rebuilt.clone()
    }

    /// If the store is read-only because it was opened with damaged files: what is damaged, and which state it shows.
    pub fn damage(&self) -> Option<&str> {
        self.shared.damage.as_deref()
    }

    /// Why the store accepts no writes at the moment: its files are damaged, its disk does not accept writes, or its
    /// shared log cannot be reached. `None` if it does accept writes. Reads always work.
    pub fn read_only(&self) -> Option<ReadOnlyReason> {
        self.shared.commits.read_only()
    }

    /// Whether the log may contain a write that was refused with `read_only`, because its disk also failed the
    /// truncation that would have removed it. If the process ends meanwhile, the next open may find the write complete.
    pub fn may_have_refused_write(&self) -> bool {
        // Another daemon may see a write that only the local copy of a shared log refused.
        let is_copy = self.shared.shared_log.is_some();
        is_copy || self.shared.compactor.as_ref().is_some_and(|own| own.appender.lock().is_torn())
    }

    /// Checks by their lengths that the files of the log exist and are complete. If they are not, the store becomes
    /// read-only until they are; see [`Store::read_only`]. If the store was opened on a full disk, also creates the file
    /// that reserves disk space, as soon as there is space for it.
    pub fn check_log_files(&self) {
        if self.shared.damage.is_none() {
            self.shared.commits.check_files();
        }
    }

    /// Whether the folder of the store was moved or replaced while it was open: another store may be at its path now.
    pub fn was_moved(&self) -> bool {
        !self.shared.lock.is_current()
    }

    /// Deletes the segments of the log that a compaction has replaced, if it could not because they were being read.
    pub fn delete_replaced_segments(&self) {
        self.shared.delete_replaced_segments();
    }

    /// The newest published view. It contains exactly the acknowledged transactions. The view of a tenant other than
    /// the default one is loaded from its file or from the records if it is not in memory. If that fails, it is empty,
    /// and [`Store::lagging_indexes`] reports the failure.
    pub fn view(&self) -> Arc<View> {
        self.view_of(self.tenant)
    }

    /// A past state, as the tenant sees it.
    ///
    /// # Errors
    /// `not_found` if the tenant had no transaction yet or the log no longer has it.
    pub fn snapshot_at(&self, state: impl Into<PastState>) -> Result<PastSnapshot> {
        let StoreState { engine, log, embedder, shared_log, .. } = self.shared.as_ref();
        let (view, is_copy) = (self.view(), shared_log.is_some());
        PastSnapshot::open(engine.clone(), log.clone(), self.tenant, &view, embedder, state.into(), is_copy)
    }

    /// The tenant's transaction with a sequence number; `None` if the log does not have it.
    pub fn transaction(&self, seq: u64) -> Result<Option<LoggedTransaction>> {
        Ok(self.transaction_of_any_tenant(seq)?.filter(|txn| txn.tenant == self.tenant))
    }

    /// The cause of the transaction with a sequence number; `None` if the tenant's log does not have it. Its writes are
    /// not decoded.
    pub fn cause(&self, seq: u64) -> Result<Option<Cause>> {
        let mut found = None;
        self.shared.log.replay_payloads(seq, seq, &mut |seq, payload, _| {
            let (number, tenant, cause) = LoggedTransaction::decode_cause(&payload)?;
            if number == seq && tenant == self.tenant && !cause.is_state() {
                found = Some(cause);
            }
            Ok(number == seq)
        })?;
        Ok(found)
    }

    /// The transaction with a sequence number, of any tenant; `None` if the log does not have it. It is for decisions
    /// about all tenants, such as which agents are due. Its content must not appear in an answer for a tenant.
    pub fn transaction_of_any_tenant(&self, seq: u64) -> Result<Option<LoggedTransaction>> {
        Ok(self.shared.log.read(seq)?.map(|(txn, _)| txn).filter(|txn| !txn.is_state()))
    }

    /// The checksum of a past transaction's record, of any tenant. It distinguishes the transaction from one with the
    /// same number in another log.
    pub fn checksum(&self, seq: u64) -> Result<Option<u32>> {
        Ok(self.shared.log.read(seq)?.map(|(_, checksum)| checksum))
    }

    /// The sequence number of the last transaction of any tenant that readers see; 0 if there is none.
    pub fn published_seq(&self) -> u64 {
        self.shared.commits.published_seq()
    }

    /// The sequence number of the last transaction of any tenant in the log; 0 if there is none.
    pub fn last_seq(&self) -> u64 {
        self.shared.log.last()
    }

    /// Whether a directory contains a store, or parts of a damaged one.
    pub fn exists(directory: &Path) -> bool {
        directory.join("log").exists() || suspect_log::has_parts(directory)
    }

    /// The files of the log and their lengths. Records appended later are not included.
    pub fn log_snapshot(&self) -> LogSnapshot {
        self.shared.log.snapshot()
    }

    /// Identifies the log by the first 16 bytes of the BLAKE3 hash of its first transaction; `None` for an empty log.
    /// Logs that diverged after one was copied from the other have the same origin.
    pub fn log_origin(&self) -> Result<Option<[u8; 16]>> {
        self.shared.log.origin()
    }

    /// Fails with `conflict` if a newer release wrote the store in a directory. Neither opens nor changes it.
    pub fn check_format(directory: &Path) -> Result<()> {
        log::check_format(&directory.join("log"))
    }

    /// The id of the process that has the store in a directory open: `None` if there is no such process, and 0 if its
    /// id is unknown.
    pub fn holder(directory: &Path) -> Result<Option<u32>> {
        Lock::holder(&directory.join("lock"))
    }

    /// The name, for messages, of a process that [`Store::holder`] returned.
    pub fn holder_name(pid: u32) -> String {
        lock::holder_name(pid)
    }

    /// The sizes on disk of the log and of the records, for all tenants together.
    pub fn sizes(&self) -> Result<StoreSizes> {
        Ok(StoreSizes { log: self.shared.log.bytes(), records: self.shared.engine.size()? })
    }

    /// The indexes whose answers are older than the view, with the reason. They are still being built, or they failed
    /// and will catch up at the next open.
    pub fn lagging_indexes(&self) -> Vec<(&'static str, Error)> {
        let mut lagging = self.shared.index_workers.lagging(self.tenant);
        lagging.extend(self.shared.commits.load_failure(self.tenant).map(|error| ("view", error)));
        lagging
    }

    /// The number of transactions up to `seq` that the slowest index does not reflect yet.
    pub fn lag(&self, seq: u64) -> u64 {
        self.lags(seq).into_iter().map(|(_, lag)| lag).max().unwrap_or(0)
    }

    /// The number of transactions up to `seq` that each index does not reflect yet, by name of the index.
    pub fn lags(&self, seq: u64) -> Vec<(&'static str, u64)> {
        self.shared.index_workers.lags(seq)
    }

    /// The number of indexes that gave incomplete answers after the open and have caught up since. While this number
    /// does not change, [`Store::lagging_indexes`] lists every index with incomplete answers.
    pub fn completed(&self) -> usize {
        self.shared.index_workers.completed()
    }

    /// Waits until every index has loaded its saved state, so that all damaged files of the default tenant are
    /// known.
    pub fn wait_loaded(&self) {
        self.shared.index_workers.wait_loaded();
    }

    /// Waits until every index has caught up or failed. Needed for decisions that require complete answers.
    pub fn settle(&self) {
        self.shared.index_workers.settle();
    }

    /// Whether every index has caught up or failed.
    pub fn is_settled(&self) -> bool {
        self.shared.index_workers.is_settled()
    }

    /// The number of changes since the last checkpoint, which the next open would replay from the log. A note with a
    /// long text counts as several. If a file must be built again, it is at least [`CHECKPOINT_MIN_CHANGES`].
    pub fn unsaved(&self) -> usize {
        self.shared.unsaved()
    }

    /// Saves the views and the indexes, so that the next open is fast. Closing the store does the same if at least
    /// [`CHECKPOINT_MIN_CHANGES`] changes are unsaved. Saves nothing if the store is damaged, or while its log is not
    /// open for writing.
    ///
    /// # Errors
    /// `read_only` if the log cannot be synced up to what would be saved, and errors of the disk.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.checkpoint()
    }
}

impl Records for Store {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.records().raw(table, key)
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.records().raw_range(table, prefix)
    }

    fn may_lack_records(&self) -> bool {
        self.damage().is_some()
    }
}
