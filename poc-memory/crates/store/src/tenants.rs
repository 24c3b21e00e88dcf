//! The names of the tenants that have ever written anything.

use super::record_encoding::Record;
use super::table::Table;
use poc_graph::Tuple;
use serde::{Deserialize, Serialize};

/// The record of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TenantRow {
    /// The keys and values that identify the tenant.
    pub(super) tuple: Tuple,
}

impl Record for TenantRow {
    const TABLE: Table = Table::Tenants;
}
