//! Checks the agents with `agent check`.

use crate::dispatch::Connection;
use crate::ops;
use crate::ops::checks::{CheckResult, CheckState, agents};
use serde_json::{Map, Value};

pub(super) fn check(mut memory: Connection) -> Vec<CheckResult> {
    let Some(op) = ops::find("agent check") else { return Vec::new() };
    match memory.call(op, Value::Object(Map::new()), &|_| {}) {
        Ok(report) => agents::read(&report),
        Err(error) => vec![CheckResult::of(agents::CHECK, CheckState::Failed, &error)],
    }
}
