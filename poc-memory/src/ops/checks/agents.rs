//! Converts the answer of `agent check` to results of a check.

use super::{CheckResult, CheckState};
use serde_json::Value;

pub(crate) const CHECK: &str = "agents";

/// The lines of an answer of `agent check`.
pub(crate) fn read(report: &Value) -> Vec<CheckResult> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found: Vec<(CheckState, Value, String)> = Vec::new();
    let mut good = Vec::new();
    for agent in list(report, "agents") {
        let name = text(&agent, "name").unwrap_or_default();
        let errors = list(&agent, "errors");
        if errors.is_empty() {
            good.push(name.clone());
        }
        found.extend(errors.into_iter().map(|error| (CheckState::Failed, error, name.clone())));
        let warnings = list(&agent, "warnings").into_iter();
        found.extend(warnings.map(|warning| (CheckState::Warning, warning, name.clone())));
    }
    let mut results = grouped(found);
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

/// One result for each problem, with the names of all agents that have it: agents of one model lack the same key.
fn grouped(found: Vec<(CheckState, Value, String)>) -> Vec<CheckResult> {
    let mut groups: Vec<(CheckResult, Vec<String>)> = Vec::new();
    for (state, problem, agent) in found {
        let message = text(&problem, "message").unwrap_or_default();
        let result = CheckResult { hint: text(&problem, "hint"), ..CheckResult::new(CHECK, state, message) };
        let agent = format!("`{agent}`");
        match groups.iter_mut().find(|(known, _)| *known == result) {
            Some((_, agents)) => agents.push(agent),
            None => groups.push((result, vec![agent])),
        }
    }
    let named = |(result, agents): (CheckResult, Vec<String>)| {
        let message = format!("{}: {}", agents.join(", "), result.message);
        CheckResult { message, ..result }
    };
    groups.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn agents_with_the_same_problem_share_a_result() {
        let agent = |name: &str, message: &str| {
            let warning = json!({"message": message, "hint": "set it"});
            json!({"name": name, "errors": [], "warnings": [warning]})
        };
        let agents = [agent("facts", "no key"), agent("linker", "no file"), agent("split", "no key")];
        let report = json!({"agents": agents});
        let results = read(&report);
        let messages: Vec<&str> = results.iter().map(|result| result.message.as_str()).collect();
        assert_eq!(messages, ["good: facts, linker, split", "`facts`, `split`: no key", "`linker`: no file"]);
        assert!(results.iter().skip(1).all(|result| result.hint.as_deref() == Some("set it")));
    }
}
