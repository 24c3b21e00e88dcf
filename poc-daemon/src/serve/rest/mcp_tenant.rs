//! The tenant that the URL of MCP names, as in the query of a REST request: `/mcp?tenant=user=ann`. It is mapped to a
//! field of `_meta`, which binds the session. HTTP requests without a `_meta` are compared with the URL that started
//! their session.

use super::message_meta;
use super::query::Fields;
use super::request;
use parking_lot::Mutex;
use poc_config::TenantSchema;
use poc_graph::error::{Error, Result};
use poc_memory::mcp::{self, TENANT_KEY};
use poc_memory::ops::tenancy;
use rmcp::transport::streamable_http_server::SessionId;
use serde_json::Value;
use std::collections::HashMap;

/// The tenants that the URLs of open sessions named when the sessions started; `None` if a URL named none.
#[derive(Default)]
pub(super) struct SessionTenants(Mutex<HashMap<SessionId, Option<Value>>>);

impl SessionTenants {
    /// Stores the tenant of a new session, and removes those of sessions that are no longer open.
    pub(super) fn insert(&self, session: &str, tenant: Option<Value>, is_open: impl Fn(&str) -> bool) {
        let mut tenants = self.0.lock();
        tenants.retain(|session, _| is_open(session));
        tenants.insert(session.into(), tenant);
    }

    /// Checks that a request of a session names the tenant that its first request named.
    ///
    /// # Errors
    /// `invalid_argument` with the field `tenant` when it names another one.
    pub(super) fn check(&self, session: &str, tenant: Option<&Value>) -> Result<()> {
        match self.0.lock().get(session) {
            Some(first) if first.as_ref() != tenant => Err(mcp::other_tenant()),
            _ => Ok(()),
        }
    }
}

/// The tenant in a query string, as an argument of ops; `None` if it names none.
///
/// # Errors
/// `invalid_argument` for anything else in the query string, and the errors of [`tenancy::check`].
pub(super) fn of_query(query: &str, schema: &TenantSchema) -> Result<Option<Value>> {
    let mut fields = request::only_tenant(&Fields::of(&Value::Null), query, "leave the rest out")?;
    let tenant = fields.shift_remove(tenancy::FIELD);
    if let Some(tenant) = &tenant {
        tenancy::check(tenant, schema)?;
    }
    Ok(tenant)
}

/// Adds the tenant to the `_meta` of a JSON-RPC request.
///
/// # Errors
/// `invalid_argument` when the message names a tenant itself.
pub(super) fn add_to_message(tenant: Option<Value>, message: Vec<u8>) -> Result<Vec<u8>> {
    let Some(tenant) = tenant else { return Ok(message) };
    message_meta::change(message, |meta| match meta.insert(TENANT_KEY.to_owned(), tenant) {
        None => Ok(()),
        Some(_) => Err(Error::invalid("the tenant is given twice, in the URL and in `_meta`")
            .hint("give it in the URL")
            .field(tenancy::FIELD)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use serde_json::json;

    #[test]
    fn a_query_names_a_tenant_or_nothing() {
        let schema = Config::defaults().unwrap().tenant_schema;
        let check = |query: &str, expected: Option<Option<Value>>| {
            assert_eq!(of_query(query, &schema).ok(), expected, "{query}");
        };
        check("", Some(None));
        for query in ["tenant=user=ann", "tenant=user%3Dann", "tenant[user]=ann", "tenant%5Buser%5D=ann"] {
            check(query, Some(Some(json!({"user": "ann"}))));
        }
        check("tenant=user=ann&tenant=app=chat", Some(Some(json!({"user": "ann", "app": "chat"}))));
        for query in ["tenant=", "tenant=ann", "tenant==ann", "tenant=user=ann&tenant=user=bob"] {
            check(query, None);
        }
        // A misspelt name must not lead to the notes of the default tenant.
        check("tennant=user=ann", None);
        check("tenant=user=ann&other=1", None);
    }

    #[test]
    fn requests_of_a_session_name_the_tenant_of_its_first_one() {
        let tenants = SessionTenants::default();
        let (ann, bob) = (json!({"user": "ann", "app": "chat"}), json!({"user": "bob"}));
        tenants.insert("first", Some(ann), |_| true);
        tenants.insert("second", None, |_| true);
        let other_order = json!({"app": "chat", "user": "ann"});
        assert!(tenants.check("first", Some(&other_order)).is_ok() && tenants.check("second", None).is_ok());
        for (session, tenant) in [("first", Some(&bob)), ("first", None), ("second", Some(&bob))] {
            let error = tenants.check(session, tenant).unwrap_err();
            assert_eq!(error.at.unwrap().field.as_deref(), Some("tenant"), "{session}");
        }
        // Sessions that have ended are forgotten.
        tenants.insert("third", None, |session| session != "first");
        assert!(tenants.0.lock().keys().all(|session| &**session != "first"));
    }

    #[test]
    fn a_message_gets_the_tenant_once() {
        let add = |given: &Value| {
            let added = add_to_message(Some(json!({"user": "ann"})), given.to_string().into_bytes());
            added.ok().map(|message| serde_json::from_slice::<Value>(&message).unwrap())
        };
        let request = |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params});
        let bound = request(json!({"_meta": {"poc-memory/tenant": {"user": "ann"}}}));
        for params in [json!({}), json!({"_meta": null}), json!(null)] {
            assert_eq!(add(&request(params)), Some(bound.clone()));
        }
        assert_eq!(add(&bound), None);
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(add(&notification), Some(notification));
    }
}
