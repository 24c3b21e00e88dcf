//! The interface of the indexes, which are derived from the log and kept up to date with it.
//!
//! The indexes of the product are in `poc-index`. `index_workers` brings each of them up to date on a thread of its own.

use poc_graph::error::{Error, Result};
use poc_graph::{Delta, NodeId, Tenant};
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Weak;

/// A hash of an index's data about each note. The hash depends only on the data, not on the order of changes.
pub type NoteDigests = FxHashMap<NodeId, u64>;

/// Bytes of text that take about as long to index as any other change.
const TEXT_OF_A_CHANGE: usize = 1 << 10;

/// The number of changes that count towards a checkpoint. A note with a long text counts as several, so that the time
/// to index the changes after the last checkpoint again has a limit.
pub(super) fn count_changes(deltas: &[Delta]) -> usize {
    let count = |delta: &Delta| match delta {
        Delta::Node(node) => 1 + (node.title.len() + node.body.len()) / TEXT_OF_A_CHANGE,
        _ => 1,
    };
    deltas.iter().map(count).sum()
}

/// The source of the notes of single tenants.
pub trait TenantSource: Send + Sync {
    /// Calls `take` with all nodes and vectors of a tenant, in batches. They may include changes that are not published
    /// yet.
    ///
    /// # Errors
    /// Those of the records, and those of `take`.
    fn feed(&self, tenant: Tenant, take: &mut dyn FnMut(&[Delta]) -> Result<()>) -> Result<()>;

    /// Names a saved file that was damaged when it was loaded, and whose content the index builds again.
    fn report_damaged(&self, file: PathBuf) {
        let _ = file;
    }
}

/// An index's data of one tenant in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedIndex {
    /// The tenant, which is not the default one.
    pub tenant: Tenant,
    /// The approximate size in bytes.
    pub bytes: u64,
}

/// An index: data that is derived from the log and kept up to date with it.
pub trait DerivedIndex: Send + Sync {
    /// The name used in messages.
    fn name(&self) -> &'static str;
    /// The sequence number of the last transaction that the index reflects; 0 if it is empty and must be fed
    /// everything.
    fn applied(&self) -> u64;
    /// Gives the index access to the notes of tenants, so that it can load data of a tenant when it is needed. It is
    /// called before any other method. The index must not keep the source alive, because it belongs to the store.
    fn connect(&self, source: Weak<dyn TenantSource>) {
        let _ = source;
    }
    /// Loads the saved state. It is called before all other methods except [`DerivedIndex::connect`]. The log ends with
    /// transaction `last`; saved state that reflects a later transaction must be discarded.
    fn load(&self, last: u64) -> Result<()> {
        let _ = last;
        Ok(())
    }
    /// Loads the saved state of a store in which no file may be changed, in place of [`DerivedIndex::load`]. State that
    /// does not reflect one of the transactions in `usable`, which may be empty, must be left out: it has changes that
    /// the records have lost, or lacks changes that the log has lost. Whatever is not loaded is fed from the records.
    fn load_read_only(&self, usable: RangeInclusive<u64>) {
        let _ = usable;
    }
    /// Whether [`DerivedIndex::load`] found a damaged file, which the next checkpoint replaces. A checkpoint is then due
    /// even if little has changed.
    fn has_damaged_file(&self) -> bool {
        false
    }
    /// Whether the index must be fed all data of a tenant, because it has no saved state for that tenant. This is
    /// only asked about the default tenant and tenants with many notes. The data of the others is loaded from the
    /// source that [`DerivedIndex::connect`] gave, when it is needed.
    fn lacks(&self, tenant: Tenant) -> bool {
        let _ = tenant;
        self.applied() == 0
    }
    /// The saved state is loaded and will not be reset. From now on, data of tenants may be loaded when it is needed.
    fn admit(&self) {}
    /// Prepares for being fed all data of a tenant.
    fn start_feed(&self, tenant: Tenant) {
        let _ = tenant;
    }
    /// Loads the data of a tenant if it is not in memory, so that [`DerivedIndex::apply`] does not have to.
    fn prepare(&self, tenant: Tenant) {
        let _ = tenant;
    }
    /// The tenants other than the default one whose data is in memory and can be unloaded.
    fn loaded(&self) -> Vec<LoadedIndex> {
        Vec::new()
    }
    /// The number of times that data of a tenant was loaded.
    fn loads(&self) -> u64 {
        0
    }
    /// Saves the data of a tenant and unloads it. Returns whether it is no longer in memory: data that is in use stays.
    ///
    /// # Errors
    /// If it cannot be saved. It then stays in memory.
    fn unload(&self, tenant: Tenant) -> Result<bool> {
        let _ = tenant;
        Ok(true)
    }
    /// Why the last load of a tenant's data failed; `None` if it did not. For the default tenant, the failure of any
    /// tenant.
    fn load_failure(&self, tenant: Tenant) -> Option<Error> {
        let _ = tenant;
        None
    }
    /// Lets readers proceed. Until this call they wait. It comes when the index is complete, or earlier if
    /// completing it takes long; then answers are incomplete at first.
    fn release(&self) {}
    /// Discards the state in memory and on disk, so that `applied` is 0, also at the next open. It is called if the
    /// index reflects another log.
    fn reset(&self) -> Result<()>;
    /// Applies the changes of one transaction of a tenant. While the index is fed everything, `seq` is 0; only the
    /// last batch has the sequence number that the index then reflects.
    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()>;
    /// Discards what the index still has of deleted and replaced content. It is called before a checkpoint, after
    /// which no file of the index may have any of it.
    ///
    /// # Errors
    /// If saved files that are not in memory cannot be changed.
    fn discard_deleted(&self) -> Result<()> {
        Ok(())
    }
    /// Saves the state to disk, so that the next open is fast.
    fn checkpoint(&self) -> Result<()>;
    /// A hash of the index's data about each note of a tenant; `None` if the index cannot be compared.
    fn digests(&self, tenant: Tenant) -> Option<NoteDigests> {
        let _ = tenant;
        None
    }
    /// The hashes of an index that received only these changes.
    fn digests_of(&self, deltas: &[Delta]) -> Result<NoteDigests> {
        let _ = deltas;
        Ok(NoteDigests::default())
    }
    /// The saved files that are damaged or were deleted.
    fn damaged_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
