//! Compares the outcome of a test with its expectation.

use super::sandbox::TestOutcome;
use crate::definition::TestExpectation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One difference from the expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestDifference {
    /// `run`, `selected`, `applied`, `proposed`, `rejected` or `prompt-contains`.
    pub what: String,
    /// Expected but missing items.
    pub missing: Vec<String>,
    /// Unexpected items.
    pub unexpected: Vec<String>,
    /// The actual items, when only the order differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// Refused actions that the test does not expect to be refused, each with the reason, if actions are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// The differences between expectation and outcome.
pub(super) fn compare(expect: &TestExpectation, outcome: &TestOutcome) -> Vec<TestDifference> {
    let mut found = Vec::new();
    if let Some(why) = &outcome.failed {
        found.push(TestDifference { unexpected: vec![why.clone()], ..empty("run") });
    }
    let selected: Option<Vec<String>> =
        expect.selected.as_ref().map(|keys| keys.iter().map(|key| key.text.clone()).collect());
    for (what, expected, actual) in [
        ("selected", &selected, &outcome.selected),
        ("applied", &expect.applied, &outcome.applied),
        ("proposed", &expect.proposed, &outcome.proposed),
        ("rejected", &expect.rejected, &outcome.rejected),
    ] {
        found.extend(expected.as_ref().and_then(|expected| of_lists(what, expected, actual)));
    }
    // The reason is shown once, below the first list that lacks an action.
    let lacks_actions = |difference: &&mut TestDifference| {
        ["applied", "proposed"].contains(&difference.what.as_str()) && !difference.missing.is_empty()
    };
    if let Some(difference) = found.iter_mut().find(lacks_actions) {
        let expected = expect.rejected.as_deref().unwrap_or_default();
        let refused = outcome.rejected.iter().zip(&outcome.reasons);
        let unexpected = refused.filter(|(action, _)| !expected.contains(action));
        difference.refused = unexpected
            .map(|(action, reason)| match reason.is_empty() {
                true => action.clone(),
                false => format!("{action} ({reason})"),
            })
            .collect();
    }
    let texts = expect.prompt_contains.iter().flatten();
    let missing: Vec<String> = texts.filter(|text| !outcome.prompt.contains(*text)).cloned().collect();
    if !missing.is_empty() {
        found.push(TestDifference { missing, ..empty("prompt-contains") });
    }
    found
}

fn of_lists(what: &str, expected: &[String], actual: &[String]) -> Option<TestDifference> {
    if expected == actual {
        return None;
    }
    let (missing, unexpected) = (without(expected, actual), without(actual, expected));
    let order = (missing.is_empty() && unexpected.is_empty()).then(|| actual.to_vec());
    Some(TestDifference { missing, unexpected, order, ..empty(what) })
}

/// Items of one list that the other lacks, respecting duplicates.
fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut left: Vec<&String> = those.iter().collect();
    let mut rest = Vec::new();
    for item in these {
        match left.iter().position(|other| *other == item) {
            Some(at) => drop(left.swap_remove(at)),
            None => rest.push(item.clone()),
        }
    }
    rest
}

fn empty(what: &str) -> TestDifference {
    TestDifference {
        what: what.to_owned(),
        missing: Vec::new(),
        unexpected: Vec::new(),
        order: None,
        refused: Vec::new(),
    }
}
