//! Checks of an installation, which `doctor` and `daemon check` share. Each has its own file and changes nothing.

pub(crate) mod agents;
pub(crate) mod embedder;
pub(crate) mod folders;
pub(crate) mod models;
pub(crate) mod reranker;

use poc_graph::error::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a check.
// The order is from the least to the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckState {
    /// The check passed.
    Ok,
    /// Something optional is missing.
    Note,
    /// It works, but probably not as intended.
    Warning,
    /// It does not work.
    Failed,
}

impl CheckState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Note => "note",
            CheckState::Warning => "warning",
            CheckState::Failed => "failed",
        }
    }
}

/// One line of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CheckResult {
    /// Name of the check.
    pub(crate) check: String,
    pub(crate) state: CheckState,
    pub(crate) message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl CheckResult {
    pub(crate) fn new(check: &str, state: CheckState, message: impl Into<String>) -> CheckResult {
        CheckResult { check: check.to_owned(), state, message: message.into(), hint: None }
    }

    pub(crate) fn of(check: &str, state: CheckState, error: &Error) -> CheckResult {
        CheckResult { hint: error.hint.clone(), ..CheckResult::new(check, state, error.to_string()) }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> CheckResult {
        CheckResult { hint: Some(hint.into()), ..self }
    }

    /// Removes warnings and failures that another one repeats: what the daemon reports and a check finds, too, for
    /// example.
    pub(crate) fn without_repetitions(results: Vec<CheckResult>) -> Vec<CheckResult> {
        let is_repeated = |at: usize, result: &CheckResult| {
            if result.state < CheckState::Warning {
                return false;
            }
            results.iter().enumerate().any(|(other_at, other)| {
                // Of two with the same state, the first one stays.
                let is_preferred = other.state > result.state || other.state == result.state && other_at < at;
                is_preferred && other.repeats(result)
            })
        };
        let repeated: Vec<bool> =
            results.iter().enumerate().map(|(at, result)| is_repeated(at, result)).collect();
        let kept = results.into_iter().zip(repeated).filter(|(_, is_repeated)| !is_repeated);
        kept.map(|(result, _)| result).collect()
    }

    /// Whether the message equals another one, apart from the time of the verification at the end of the other one, or
    /// is about the same disk.
    fn repeats(&self, other: &CheckResult) -> bool {
        other
            .message
            .strip_prefix(self.message.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(" (verified at "))
            || folders::is_about_same_disk(self, other)
    }

    /// Each check on a line of its own, with its hint below.
    pub(crate) fn lines(results: &[CheckResult]) -> String {
        let mut text = String::new();
        for CheckResult { check, state, message, hint } in results {
            // A message about a pipeline marks the error on further lines.
            let message = message.replace('\n', &format!("\n{:<18} ", ""));
            text.push_str(&format!("{:<8} {check:<9} {message}\n", state.name()));
            if let Some(hint) = hint {
                text.push_str(&format!("{:<18} hint: {hint}\n", ""));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_reported_once_by_its_most_severe_result() {
        let result = |check, state, message: &str| CheckResult::new(check, state, message);
        let results = vec![
            result("folders", CheckState::Warning, "the disk of `/m`, `/m/store` has 3 MiB left"),
            result("daemon", CheckState::Warning, "read-only for now: its log cannot be written"),
            result("daemon", CheckState::Warning, "the disk of `/m/store` has only 3 MiB left"),
            result("daemon", CheckState::Warning, "the disk of `/other/store` has only 300 MiB left"),
            result("daemon", CheckState::Warning, "`/m/view`: it is damaged (verified at noon; delete it)"),
            result("store", CheckState::Failed, "read-only for now: its log cannot be written"),
            result("store", CheckState::Warning, "an index is being built"),
            result("store", CheckState::Warning, "an index is being built"),
            result("files", CheckState::Failed, "`/m/view`: it is damaged"),
            result("embedder", CheckState::Ok, "it answers"),
            result("reranker", CheckState::Ok, "it answers"),
        ];
        insta::assert_snapshot!(CheckResult::lines(&CheckResult::without_repetitions(results)), @r"
        warning  folders   the disk of `/m`, `/m/store` has 3 MiB left
        warning  daemon    the disk of `/other/store` has only 300 MiB left
        failed   store     read-only for now: its log cannot be written
        warning  store     an index is being built
        failed   files     `/m/view`: it is damaged
        ok       embedder  it answers
        ok       reranker  it answers
        ");
    }
}
