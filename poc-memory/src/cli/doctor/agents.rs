//! Checks the agents with `agent check`, and lists those that are paused after failures if no daemon does.

use crate::dispatch::Connection;
use crate::ops;
use crate::ops::checks::{CheckResult, CheckState, agents};
use serde_json::{Map, Value};

pub(super) fn check(mut memory: Connection) -> Vec<CheckResult> {
    let Some(op) = ops::find("agent check") else { return Vec::new() };
    let checked = memory.call(op, Value::Object(Map::new()), &|_| {});
    match checked.and_then(|report| Ok((report, memory.paused_agents()?))) {
        Ok((report, paused)) => {
            let mut results = agents::read(&report);
            let warning = |line: String| CheckResult::new(agents::CHECK, CheckState::Warning, line);
            results.extend(paused.into_iter().map(warning));
            results
        }
        Err(error) => vec![CheckResult::of(agents::CHECK, CheckState::Failed, &error)],
    }
}
