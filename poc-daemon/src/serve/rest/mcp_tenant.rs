//! The tenant that the URL of MCP names, as in the query of a REST request: `/mcp?tenant=user=ann`. It is mapped to a
//! field of `_meta`, which binds the session.

use super::message_meta;
use super::query::Fields;
use super::request;
use poc_config::TenantSchema;
use poc_graph::error::{Error, Result};
use poc_memory::mcp::TENANT_KEY;
use poc_memory::ops::tenancy;
use serde_json::Value;

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
