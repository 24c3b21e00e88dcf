//! What an index must be able to do to follow the log.

use poc_graph::error::Result;
use poc_graph::{Delta, Tenant};

/// Something derived from the log that follows it: an index.
pub trait Follower: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;
    /// The sequence number it reflects; 0 when it must be fed everything.
    fn applied(&self) -> u64;
    /// Reads back what it has saved, before anything else is asked of it. The log ends with
    /// transaction `last`: what is saved of a later one must not come back.
    fn load(&self, last: u64) -> Result<()> {
        let _ = last;
        Ok(())
    }
    /// Whether it must be fed everything of a tenant: what it had saved of it is not there any more.
    fn lacks(&self, tenant: Tenant) -> bool {
        let _ = tenant;
        self.applied() == 0
    }
    /// Answers readers from now on. Until then they wait: it is quick to get ready, or else it is let
    /// go with less than everything.
    fn release(&self) {}
    /// Throws away what it holds and has saved, so that `applied` is 0 also at the next open: it
    /// reflects a log that is not this one.
    fn reset(&self) -> Result<()>;
    /// Takes in what a transaction of a tenant did. While it is fed everything, `seq` is 0; the last
    /// batch carries the number it reflects then.
    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()>;
    /// Writes what it holds to disk, so that the next open is quick.
    fn checkpoint(&self) -> Result<()>;
}
