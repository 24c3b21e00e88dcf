//! Tests of sessions that are bound to a tenant.

use super::*;
use crate::mcp::session_seq::{SessionOpExecutor, SessionSeq};
use crate::mcp::session_tenant::{SessionTenant, TENANT_KEY};
use crate::ops;
use parking_lot::Mutex;
use poc_graph::Tuple;
use rmcp::model::{MetaObject, RequestMetaObject};

/// Records the tenant of each request.
struct Tenants(Mutex<Vec<Value>>, TenantSchema);

impl OpExecutor for Tenants {
    fn call(&self, _: &'static OpDef, request: Value) -> Result<Value> {
        self.0.lock().push(request["tenant"].clone());
        Ok(json!({}))
    }

    fn offers(&self, _: Access) -> bool {
        true
    }

    fn tool_set(&self) -> ToolSet {
        ToolSet::Default
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&self.1)
    }

    fn shares_log(&self) -> bool {
        false
    }
}

fn meta(tenant: Value) -> RequestMetaObject {
    RequestMetaObject(MetaObject([(TENANT_KEY.to_owned(), tenant)].into_iter().collect()))
}

#[test]
fn calls_of_a_session_that_is_bound_to_a_tenant_are_for_it() {
    let recorded = Arc::new(Tenants(Mutex::default(), tenants()));
    let call = |tenant: Option<Tuple>, request: Value| {
        let (seq, meta) = (SessionSeq::default(), RequestMetaObject::new());
        let executor = SessionOpExecutor::new(recorded.clone(), seq, &meta, tenant.clone()).unwrap();
        assert_eq!(executor.tenants().is_none(), tenant.is_some());
        executor.call(ops::find("link").unwrap(), request)
    };
    let ann = || Some(Tuple::new([("user", "ann")]).unwrap());
    call(ann(), json!({})).unwrap();
    call(None, json!({"tenant": {"user": "bob"}})).unwrap();
    call(None, json!({})).unwrap();
    for named in [json!({"user": "bob"}), json!({"user": "ann"})] {
        let error = call(ann(), json!({ "tenant": named })).unwrap_err();
        assert_eq!(error.at.unwrap().field.as_deref(), Some("tenant"));
    }
    assert_eq!(json!(*recorded.0.lock()), json!([{"user": "ann"}, {"user": "bob"}, null]));
}

#[test]
fn the_first_request_of_a_session_names_its_tenant() {
    let (ann, bob) = (|| meta(json!({"user": "ann"})), || meta(json!({"user": "bob"})));
    let session = SessionTenant::default();
    let named = session.of(&ann()).unwrap().unwrap();
    assert_eq!(named.to_string(), "user=ann");
    assert_eq!(session.of(&ann()).unwrap(), Some(named));
    for other in [bob(), RequestMetaObject::new()] {
        let error = session.of(&other).unwrap_err();
        assert_eq!(error.at.unwrap().field.as_deref(), Some("tenant"));
    }
    let unbound = SessionTenant::default();
    assert_eq!(unbound.of(&RequestMetaObject::new()).unwrap(), None);
    assert!(unbound.of(&bob()).is_err());
    // A request that names no valid tenant decides nothing.
    let session = SessionTenant::default();
    for wrong in [json!("user=ann"), json!({"user": 7}), json!({"": "ann"}), json!(null)] {
        assert!(session.of(&meta(wrong.clone())).is_err(), "{wrong}");
    }
    assert!(session.of(&bob()).is_ok());
}
