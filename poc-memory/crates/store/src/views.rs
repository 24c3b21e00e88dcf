//! The views of all tenants.

use super::tenant_counts::TenantTable;
use poc_graph::{Tenant, View};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The views of the default tenant and of other tenants.
pub(super) type Views = FxHashMap<Tenant, Arc<View>>;

/// What an open needs to know of all tenants.
#[derive(Debug)]
pub(super) struct StoreViews {
    /// The view of the default tenant.
    pub(super) main: Arc<View>,
    /// The counts of the others.
    pub(super) others: TenantTable,
}
