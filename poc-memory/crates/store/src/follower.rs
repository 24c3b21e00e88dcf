//! The interface of whatever is derived from the log.

use poc_graph::error::Result;
use poc_graph::{Delta, NodeId, Tenant};
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// A hash of what a follower has of each note. Equal content has an equal hash, whatever happened before.
pub type NoteDigests = FxHashMap<NodeId, u64>;

/// Something that is derived from the log and kept up to date with it, such as an index.
pub trait Follower: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;
    /// The sequence number of the last transaction it reflects; 0 when it is empty and must be fed everything.
    fn applied(&self) -> u64;
    /// Reads back what it has saved; called before any other method. The log ends with transaction
    /// `last`: saved state that reflects a later one must be discarded.
    fn load(&self, last: u64) -> Result<()> {
        let _ = last;
        Ok(())
    }
    /// Whether it must be fed everything of a tenant, because its saved state of that tenant is missing.
    fn lacks(&self, tenant: Tenant) -> bool {
        let _ = tenant;
        self.applied() == 0
    }
    /// Lets readers in. Until this call they wait: the follower is either complete soon, or it is released
    /// early and gives incomplete answers.
    fn release(&self) {}
    /// Discards its state in memory and on disk, so that `applied` is 0, also at the next open. Called when
    /// it reflects another log.
    fn reset(&self) -> Result<()>;
    /// Applies the changes of one transaction of a tenant. While it is fed everything, `seq` is 0; the last
    /// batch carries the sequence number that it reflects from then on.
    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()>;
    /// Saves its state to disk, so that the next open is quick.
    fn checkpoint(&self) -> Result<()>;
    /// A hash of what it has of each note of a tenant; `None` when it cannot be compared with anything.
    fn digests(&self, tenant: Tenant) -> Option<NoteDigests> {
        let _ = tenant;
        None
    }
    /// The same for a follower that got nothing but these changes.
    fn digests_of(&self, deltas: &[Delta]) -> Result<NoteDigests> {
        let _ = deltas;
        Ok(NoteDigests::default())
    }
    /// Its saved files that are not as they were written.
    fn damaged_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
