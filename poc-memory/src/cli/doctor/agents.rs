//! The agents: what `agent check` says of their files.

use super::{Finding, State};
use crate::dispatch::Connection;
use crate::ops;
use serde_json::{Map, Value};

const CHECK: &str = "agents";

pub(super) fn check(mut memory: Connection) -> Vec<Finding> {
    let Some(op) = ops::find("agent check") else { return Vec::new() };
    match memory.call(op, Value::Object(Map::new()), &|_| {}) {
        Ok(report) => read(&report),
        Err(error) => vec![Finding::of(CHECK, State::Failed, &error)],
    }
}

fn read(report: &Value) -> Vec<Finding> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut findings = Vec::new();
    let mut good = Vec::new();
    for agent in list(report, "agents") {
        let name = text(&agent, "name").unwrap_or_default();
        let errors = list(&agent, "errors");
        if errors.is_empty() {
            good.push(name.clone());
        }
        findings.extend(errors.iter().map(|error| {
            let message = format!("`{name}`: {}", text(error, "message").unwrap_or_default());
            Finding { hint: text(error, "hint"), ..Finding::new(CHECK, State::Failed, message) }
        }));
        let warnings = list(&agent, "warnings");
        let warnings = warnings.iter().filter_map(Value::as_str);
        findings.extend(
            warnings.map(|warning| Finding::new(CHECK, State::Warning, format!("`{name}`: {warning}"))),
        );
    }
    let problems = list(report, "problems");
    let problems = problems.iter().filter_map(Value::as_str);
    findings.extend(problems.map(|problem| Finding::new(CHECK, State::Warning, problem.to_owned())));
    if !good.is_empty() {
        findings.insert(0, Finding::new(CHECK, State::Ok, format!("good: {}", good.join(", "))));
    }
    findings
}
