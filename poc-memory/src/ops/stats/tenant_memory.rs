//! How many tenants are in memory.

use crate::ops::text::{plural, size};
use poc_store::LoadedTenants;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tenants whose notes or indexes are in memory.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TenantMemory")]
pub(super) struct TenantMemoryOutput {
    /// The number of tenants in memory, without the default one.
    loaded: u64,
    /// Approximate size of their notes and indexes in memory, in bytes.
    bytes: u64,
    /// The size from which tenants that were used longest ago are unloaded, in bytes; `tenant-memory` in `[store]`.
    limit: u64,
}

impl From<LoadedTenants> for TenantMemoryOutput {
    fn from(loaded: LoadedTenants) -> TenantMemoryOutput {
        TenantMemoryOutput { loaded: loaded.count as u64, bytes: loaded.bytes, limit: loaded.limit }
    }
}

impl TenantMemoryOutput {
    /// A line for people about a store with a number of tenants besides the default one.
    pub(super) fn line(&self, tenants: usize) -> String {
        let tenants = plural(tenants as u64, "tenant");
        format!("{} of {tenants}, {} of {}", self.loaded, size(self.bytes), size(self.limit))
    }
}
