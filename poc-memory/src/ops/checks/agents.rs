//! Converts the answer of `agent check` to results of a check.

use super::{CheckResult, CheckState};
use serde_json::Value;

pub(crate) const CHECK: &str = "agents";

/// The lines of an answer of `agent check`.
pub(crate) fn read(report: &Value) -> Vec<CheckResult> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut results = Vec::new();
    let mut good = Vec::new();
    for agent in list(report, "agents") {
        let name = text(&agent, "name").unwrap_or_default();
        let errors = list(&agent, "errors");
        if errors.is_empty() {
            good.push(name.clone());
        }
        results.extend(errors.iter().map(result(&name, CheckState::Failed)));
        results.extend(list(&agent, "warnings").iter().map(result(&name, CheckState::Warning)));
    }
    let problems = list(report, "problems");
    let problems = problems.iter().filter_map(Value::as_str);
    results.extend(problems.map(|problem| CheckResult::new(CHECK, CheckState::Warning, problem.to_owned())));
    if results.is_empty() && good.is_empty() {
        let none = CheckResult::new(
            CHECK,
            CheckState::Warning,
            "there are none: notes are not linked or merged automatically",
        );
        let hint = "`poc-memory agent new NAME` creates one, `poc-memory init` writes the bundled ones";
        results.push(CheckResult { hint: Some(hint.to_owned()), ..none });
    }
    if !good.is_empty() {
        results.insert(0, CheckResult::new(CHECK, CheckState::Ok, format!("good: {}", good.join(", "))));
    }
    results
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Converts a problem of an agent's file.
fn result(agent: &str, state: CheckState) -> impl Fn(&Value) -> CheckResult {
    move |problem| {
        let message = format!("`{agent}`: {}", text(problem, "message").unwrap_or_default());
        CheckResult { hint: text(problem, "hint"), ..CheckResult::new(CHECK, state, message) }
    }
}
