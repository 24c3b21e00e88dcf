//! How many tenants are in memory.

/// Tenants in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadedTenants {
    /// The number of tenants whose view or an index is in memory, without the default tenant.
    pub count: usize,
    /// The approximate size of their views and indexes in bytes.
    pub bytes: u64,
    /// The limit of the size in bytes.
    pub limit: u64,
}
