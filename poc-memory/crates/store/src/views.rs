//! The views of all tenants.

use poc_graph::{Tenant, View};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The views of the default tenant and of all tenants that have ever written anything.
pub(super) type Views = FxHashMap<Tenant, Arc<View>>;
