//! Checks the agents with `agent check`.

use super::{CheckState, Diagnostic};
use crate::dispatch::Connection;
use crate::ops;
use serde_json::{Map, Value};

const CHECK: &str = "agents";

pub(super) fn check(mut memory: Connection) -> Vec<Diagnostic> {
    let Some(op) = ops::find("agent check") else { return Vec::new() };
    match memory.call(op, Value::Object(Map::new()), &|_| {}) {
        Ok(report) => read(&report),
        Err(error) => vec![Diagnostic::of(CHECK, CheckState::Failed, &error)],
    }
}

fn read(report: &Value) -> Vec<Diagnostic> {
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
        findings.extend(errors.iter().map(finding(&name, CheckState::Failed)));
        findings.extend(list(&agent, "warnings").iter().map(finding(&name, CheckState::Warning)));
    }
    let problems = list(report, "problems");
    let problems = problems.iter().filter_map(Value::as_str);
    findings.extend(problems.map(|problem| Diagnostic::new(CHECK, CheckState::Warning, problem.to_owned())));
    if findings.is_empty() && good.is_empty() {
        let nobody = Diagnostic::new(
            CHECK,
            CheckState::Warning,
            "there are none: notes are not linked or merged automatically",
        );
        let hint = "`poc-memory agent new NAME` begins one, `poc-memory init` writes the bundled ones";
        findings.push(Diagnostic { hint: Some(hint.to_owned()), ..nobody });
    }
    if !good.is_empty() {
        findings.insert(0, Diagnostic::new(CHECK, CheckState::Ok, format!("good: {}", good.join(", "))));
    }
    findings
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Converts a problem of an agent's file.
fn finding(agent: &str, state: CheckState) -> impl Fn(&Value) -> Diagnostic {
    move |problem| {
        let message = format!("`{agent}`: {}", text(problem, "message").unwrap_or_default());
        Diagnostic { hint: text(problem, "hint"), ..Diagnostic::new(CHECK, state, message) }
    }
}
