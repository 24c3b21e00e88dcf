//! Tests of tool definitions, answers and errors.

use super::*;
use crate::ops::{OPS, find};
use poc_config::Config;
use rmcp::handler::server::ServerHandler;
use serde_json::json;
use std::sync::Arc;

/// Offers everything up to an access, and does nothing.
struct Offers(Access, TenantSchema);

fn tenants() -> TenantSchema {
    Config::defaults().unwrap().tenant_schema
}

impl Caller for Offers {
    fn call(&self, op: &'static OpDef, _: Value) -> Result<Value> {
        panic!("`{}` was called", op.name)
    }

    fn offers(&self, access: Access) -> bool {
        let order = [Access::Read, Access::Write, Access::Retract, Access::Destroy, Access::Person];
        let rank = |access| order.iter().position(|known| *known == access);
        rank(access) <= rank(self.0)
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&self.1)
    }
}

/// Every schema within a schema.
fn within(schema: &Value, seen: &mut dyn FnMut(&Value)) {
    seen(schema);
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| within(value, seen)),
        Value::Array(items) => items.iter().for_each(|item| within(item, seen)),
        _ => {}
    }
}

#[test]
fn every_tool_schema_is_accepted_by_strict_clients() {
    for op in OPS.iter().filter(|op| op.tool.is_some()) {
        let input = Value::Object(schema::input(op, Some(&tenants())));
        assert_eq!(input["type"], "object", "{}", op.name);
        assert_eq!(input["additionalProperties"], false, "{}", op.name);
        within(&input, &mut |part| {
            assert_ne!(part.get("default"), Some(&Value::Null), "{}: {part}", op.name);
            assert!(part.get("$ref").is_none(), "{}: {part}", op.name);
            let types = part.get("type");
            assert!(types.is_none_or(|types| !types.is_array() && types != "null"), "{}: {part}", op.name);
        });
        let output = Value::Object(schema::output(op));
        assert_eq!(output["type"], "object", "{}", op.name);
        assert_eq!(output["properties"]["schema_version"]["type"], "integer", "{}", op.name);
        assert!(output.get("additionalProperties").is_none(), "{}: fields may be added", op.name);
    }
}

#[test]
fn strict_removes_null() {
    let given = json!({"type": "object", "properties": {
        "count": {"type": ["integer", "null"], "format": "uint", "default": null, "minimum": 0},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "description": "when"},
    }});
    let expected = json!({"type": "object", "properties": {
        "count": {"type": "integer", "minimum": 0},
        "at": {"description": "when", "type": "string", "format": "date-time"},
    }});
    assert_eq!(Value::Object(schema::strict(given)), expected);
}

#[test]
fn destructive_tools_are_offered_only_if_enabled() {
    let names = |most| tools::offered(&Offers(most, tenants())).map(|(name, _)| name).collect::<Vec<_>>();
    let (read, write, destroy) = (names(Access::Read), names(Access::Write), names(Access::Destroy));
    assert!(!write.contains(&"graft_delete") && destroy.contains(&"graft_delete"));
    assert!(!read.contains(&"graft_insert") && write.contains(&"graft_insert"));
    assert!(!read.contains(&"memory_forget") && names(Access::Retract).contains(&"memory_forget"));
    assert!(read.contains(&"graft_query"));
    let told = |most| Server::new(Arc::new(Offers(most, tenants()))).get_info().instructions.unwrap();
    assert!(!told(Access::Read).contains("graft_insert") && told(Access::Write).contains("graft_insert"));
}

#[test]
fn tools_have_read_only_and_destructive_hints() {
    let hints = |name: &str| tools::tool("x", find(name).unwrap(), Some(&tenants())).annotations.unwrap();
    let of = |name| (hints(name).read_only_hint, hints(name).destructive_hint);
    assert_eq!(of("retrieve"), (Some(true), Some(false)));
    assert_eq!(of("insert"), (Some(false), Some(false)));
    assert_eq!(of("delete"), (Some(false), Some(true)));
    assert_eq!(of("forget"), (Some(false), Some(true)));
    assert_eq!(of("recall"), (Some(false), Some(false)));
}

#[test]
fn an_invalid_argument_returns_the_expected_schema() {
    let op = find("retrieve").unwrap();
    let error = poc_graph::error::Error::invalid("257 is out of range").field("top_k");
    let result = tools::failed(op, Some(&tenants()), &error);
    assert_eq!(result.is_error, Some(true));
    let text = result.content.first().and_then(|block| block.as_text()).unwrap();
    let told: Value = serde_json::from_str(&text.text).unwrap();
    assert_eq!(told["error"]["code"], "invalid_argument");
    assert_eq!((&told["expected"]["type"], &told["expected"]["maximum"]), (&json!("integer"), &json!(256)));
    // A field that is not there: all of them.
    let error = poc_graph::error::Error::invalid("unknown field").field("colour");
    let text = tools::failed(op, Some(&tenants()), &error)
        .content
        .first()
        .and_then(|block| block.as_text())
        .unwrap()
        .text
        .clone();
    let told: Value = serde_json::from_str(&text).unwrap();
    assert!(told["expected"]["properties"]["query"].is_object());
}
