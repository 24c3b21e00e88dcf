//! Tools, derived from the op table.

use super::{Caller, schema};
use crate::ops::{self, Access, OPS, OpDef};
use poc_config::TenantSchema;
use poc_graph::error::Error;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// The ops that a model may call, with their tool names.
pub(super) fn offered(caller: &dyn Caller) -> impl Iterator<Item = (&'static str, &'static OpDef)> {
    let allowed = move |op: &&OpDef| op.access != Access::Person && caller.offers(op.access);
    OPS.iter().filter(allowed).filter_map(|op| Some((op.tool?, op)))
}

/// The MCP definition of a tool.
pub(super) fn tool(name: &'static str, op: &OpDef, tenants: Option<&TenantSchema>) -> Tool {
    let (input, output) = (schema::input(op, tenants), schema::output(op));
    let description = input.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let read = op.access == Access::Read;
    let hints = ToolAnnotations::with_title(title(op.name))
        .read_only(read)
        .destructive(matches!(op.access, Access::Retract | Access::Destroy))
        .idempotent(read)
        .open_world(false);
    Tool::new(name, description, Arc::new(input))
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(hints)
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The answer of an op as a tool result.
pub(super) fn answered(answer: Value) -> CallToolResult {
    CallToolResult::structured(ops::versioned(answer))
}

/// An error as a tool result. For an invalid argument it includes the expected schema, so that a model can
/// correct itself.
pub(super) fn failed(op: &OpDef, tenants: Option<&TenantSchema>, error: &Error) -> CallToolResult {
    let mut body = json!({ "error": error });
    if error.code.is_invalid() {
        let mut expected = Value::Object(schema::input(op, tenants));
        let field = error.at.as_ref().and_then(|at| at.field.as_deref()?.split('.').next());
        let one = field.and_then(|field| expected.get("properties")?.get(field).cloned());
        if let Some(one) = one {
            expected = one;
        }
        if let Value::Object(body) = &mut body {
            body.insert("expected".into(), expected);
        }
    }
    CallToolResult::error(vec![ContentBlock::text(body.to_string())])
}
