//! The tenant that an MCP session is bound to. Over HTTP, its URL names the tenant, and the daemon adds it to the
//! `_meta` of each request.

use crate::ops::tenancy;
use poc_graph::Tuple;
use poc_graph::error::{Error, Result};
use rmcp::model::RequestMetaObject;
use std::sync::OnceLock;

/// The key in the `_meta` of a request whose value is a tenant, such as `{"user": "ann"}`. All calls of the request are
/// for this tenant, and their arguments may not name one.
pub const TENANT_KEY: &str = "poc-memory/tenant";

/// The tenant that the first request of a session names; `None` if it names none, so that each call may name its own.
#[derive(Debug, Default)]
pub(super) struct SessionTenant(OnceLock<Option<Tuple>>);

impl SessionTenant {
    /// The tenant that a request names in its `_meta`.
    ///
    /// # Errors
    /// `invalid_argument` if it is not a tenant, or not the one that the first request of the session named.
    pub(super) fn of(&self, meta: &RequestMetaObject) -> Result<Option<Tuple>> {
        let named = meta.0.0.get(TENANT_KEY).map(tenancy::decode).transpose()?;
        // What a session remembers of a tenant must not reach another one.
        if *self.0.get_or_init(|| named.clone()) != named {
            return Err(other_tenant());
        }
        Ok(named)
    }
}

/// The error for a request that names another tenant than the first request of its session: `invalid_argument` with the
/// field `tenant`.
pub fn other_tenant() -> Error {
    Error::invalid("this session was started for another tenant")
        .hint("start a session for each tenant, and use the same URL for all of its requests")
        .field(tenancy::FIELD)
}
