//! The last change that an MCP session has seen, and the executor of its requests. Over a shared log, another daemon
//! may answer the next call of a session. It then waits for that change, so that the session reads its own writes.

use super::OpExecutor;
use crate::ops::{Access, OpDef, min_seq, tenancy};
use poc_config::{TenantSchema, ToolSet};
use poc_graph::Tuple;
use poc_graph::error::{Error, Result};
use rmcp::model::{MetaObject, RequestMetaObject};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The key in `_meta` whose value is the number of a change. In a result, it is the last change that the session has
/// seen. A request with it waits until the change is visible.
pub const SEQ_KEY: &str = "poc-memory/seq";

/// The number of the last change that a session has seen, shared by its calls; 0 if it has seen none.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionSeq(Arc<AtomicU64>);

impl SessionSeq {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn advance(&self, seq: u64) {
        self.0.fetch_max(seq, Ordering::Relaxed);
    }

    /// The `_meta` of a result; `None` if the session has seen no change.
    pub(super) fn meta(&self) -> Option<MetaObject> {
        let seq = Some(self.get()).filter(|seq| *seq > 0)?;
        let mut meta = MetaObject::new();
        meta.0.insert(SEQ_KEY.to_owned(), seq.into());
        Some(meta)
    }
}

/// Calls ops for one request of a session. Every call waits for the change that the request names and, if the log is
/// shared, for those that the session has seen. If the session is bound to a tenant, every call is for it.
pub(super) struct SessionOpExecutor {
    executor: Arc<dyn OpExecutor>,
    session: SessionSeq,
    /// The number that the request names; 0 if it names none.
    min_seq: u64,
    tenant: Option<Tuple>,
}

impl SessionOpExecutor {
    /// For a request with a `_meta`. `tenant` is the one that the session is bound to.
    ///
    /// # Errors
    /// `invalid_argument` if the value of [`SEQ_KEY`] is not a number.
    pub(super) fn new(
        executor: Arc<dyn OpExecutor>,
        session: SessionSeq,
        meta: &RequestMetaObject,
        tenant: Option<Tuple>,
    ) -> Result<SessionOpExecutor> {
        let min_seq = match meta.0.0.get(SEQ_KEY) {
            Some(given) => min_seq::parse(given).ok_or_else(|| {
                Error::invalid(format!("`{SEQ_KEY}` in `_meta` is not the number of a change: {given}"))
                    .hint("give the number that the `_meta` of a result has")
                    .field(SEQ_KEY)
            })?,
            None => 0,
        };
        Ok(SessionOpExecutor { executor, session, min_seq, tenant })
    }
}

impl OpExecutor for SessionOpExecutor {
    fn call(&self, op: &'static OpDef, mut request: Value) -> Result<Value> {
        if let (Some(tenant), Value::Object(fields), true) =
            (&self.tenant, &mut request, op.tenant_scope.accepts_tenant())
        {
            tenancy::bind(fields, tenant)?;
        }
        let is_shared = self.executor.shares_log();
        let seen = if is_shared { self.session.get() } else { 0 };
        // The arguments may name a number, too.
        let seq = min_seq::take(&mut request)?.unwrap_or(0).max(self.min_seq).max(seen);
        if let Value::Object(fields) = &mut request
            && seq > 0
        {
            fields.insert(min_seq::FIELD.to_owned(), seq.into());
        }
        let answer = self.executor.call(op, request)?;
        if is_shared {
            self.session.advance(seq.max(min_seq::of_answer(&answer)));
        }
        Ok(answer)
    }

    fn spawn_blocking(&self, op: Option<&'static OpDef>, work: Box<dyn FnOnce() + Send>) {
        self.executor.spawn_blocking(op, work);
    }

    fn offers(&self, access: Access) -> bool {
        self.executor.offers(access)
    }

    fn tool_set(&self) -> ToolSet {
        self.executor.tool_set()
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        self.executor.tenants().filter(|_| self.tenant.is_none())
    }

    fn shares_log(&self) -> bool {
        self.executor.shares_log()
    }
}
