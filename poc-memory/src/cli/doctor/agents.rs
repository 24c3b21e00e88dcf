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
    let mut findings = Vec::new();
    let mut good = Vec::new();
    for agent in list(report, "agents") {
        let name = text(&agent, "name").unwrap_or_default();
        let errors = list(&agent, "errors");
        if errors.is_empty() {
            good.push(name.clone());
        }
        findings.extend(errors.iter().map(finding(&name, State::Failed)));
        findings.extend(list(&agent, "warnings").iter().map(finding(&name, State::Warning)));
    }
    let problems = list(report, "problems");
    let problems = problems.iter().filter_map(Value::as_str);
    findings.extend(problems.map(|problem| Finding::new(CHECK, State::Warning, problem.to_owned())));
    if findings.is_empty() && good.is_empty() {
        let nobody =
            Finding::new(CHECK, State::Warning, "there are none: nothing is tied or merged by itself");
        let hint = "`poc-memory agent new NAME` begins one, `poc-memory init` writes the bundled ones";
        findings.push(Finding { hint: Some(hint.to_owned()), ..nobody });
    }
    if !good.is_empty() {
        findings.insert(0, Finding::new(CHECK, State::Ok, format!("good: {}", good.join(", "))));
    }
    findings
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// What a problem of an agent's file is as a finding.
fn finding(agent: &str, state: State) -> impl Fn(&Value) -> Finding {
    move |problem| {
        let message = format!("`{agent}`: {}", text(problem, "message").unwrap_or_default());
        Finding { hint: text(problem, "hint"), ..Finding::new(CHECK, state, message) }
    }
}
