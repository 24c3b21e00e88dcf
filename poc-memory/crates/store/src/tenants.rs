//! The tenants that have ever written, each with what it is called.

use super::{Record, Table};
use poc_graph::Tuple;
use serde::{Deserialize, Serialize};

/// What is kept of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TenantRow {
    /// What it is called.
    pub(super) tuple: Tuple,
}

impl Record for TenantRow {
    const TABLE: Table = Table::Tenants;
}
