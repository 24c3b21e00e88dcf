//! Reports a remote that cannot be synchronised, for example because its profile was deleted.

use crate::dispatch::Connection;
use crate::ops;
use crate::ops::checks::{CheckResult, CheckState};
use poc_graph::error::{Code, Result};
use serde_json::{Map, Value};

const CHECK: &str = "remote";

pub(super) fn check(memory: &mut Connection) -> Vec<CheckResult> {
    match problem(memory) {
        Ok(found) => found.into_iter().collect(),
        // With a schema that demands a tenant, the default tenant has no remote.
        Err(error) if error.code == Code::TenantMissingRequired => Vec::new(),
        Err(error) => vec![CheckResult::of(CHECK, CheckState::Failed, &error)],
    }
}

fn problem(memory: &mut Connection) -> Result<Option<CheckResult>> {
    let Some(op) = ops::find("profile remote status") else { return Ok(None) };
    let answer = memory.call(op, Value::Object(Map::new()), &|_| {})?;
    let text = |at: &str| answer.pointer(at).and_then(Value::as_str);
    let (Some(name), Some(why)) = (text("/remote/name"), text("/remote/problem/message")) else {
        return Ok(None);
    };
    let message = format!("`{name}` cannot be synchronised: {why}");
    let hint = text("/remote/problem/hint").map(|hint| format!("{hint}; ")).unwrap_or_default();
    let warning = CheckResult::new(CHECK, CheckState::Warning, message);
    Ok(Some(warning.hint(format!("{hint}`poc-memory profile remote detach` unbinds it"))))
}
