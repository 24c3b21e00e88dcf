//! Answers and errors as results of tools.

use super::tools::{OfferedTool, offered};
use super::{OpExecutor, hints};
use crate::ops;
use poc_graph::error::Error;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// An answer as a result.
pub(super) fn success(caller: &dyn OpExecutor, mut answer: Value) -> CallToolResult {
    hints::rewrite_warnings(&mut answer, &offered(caller));
    CallToolResult::structured(ops::versioned(answer))
}

/// An error as a result. For an invalid argument it includes the expected schema, so that a model can correct
/// itself.
pub(super) fn failure(caller: &dyn OpExecutor, tool: &OfferedTool, error: &Error) -> CallToolResult {
    let mut body = json!({ "error": hints::for_models(error, &offered(caller)) });
    if error.code.is_invalid() {
        let mut expected = Value::Object(tool.input(caller.tenants()));
        let field = error.at.as_ref().and_then(|at| at.field.as_deref()?.split(['.', '[']).next());
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
