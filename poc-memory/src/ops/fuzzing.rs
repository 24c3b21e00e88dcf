//! Decoding for the fuzz targets: see `fuzz/` at the root of the repository.

use super::OpDef;
use poc_config::TenantSchema;
use poc_graph::error::Result;
use serde_json::Value;

/// Decodes a request of an op and does not run it.
///
/// # Errors
/// The errors that [`OpDef::run`] would return for the arguments.
pub fn decode(op: &OpDef, request: Value, tenants: &TenantSchema) -> Result<()> {
    op.read_arguments(request, tenants).map(drop)
}
