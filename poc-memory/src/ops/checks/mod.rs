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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// Each check on a line of its own, with its hint below.
    pub(crate) fn lines(results: &[CheckResult]) -> String {
        let mut text = String::new();
        for CheckResult { check, state, message, hint } in results {
            text.push_str(&format!("{:<8} {check:<9} {message}\n", state.name()));
            if let Some(hint) = hint {
                text.push_str(&format!("{:<18} hint: {hint}\n", ""));
            }
        }
        text
    }
}
