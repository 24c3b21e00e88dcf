//! What a test came to, beside what was expected of it.

use super::play::Scene;
use crate::definition::Expect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that came otherwise than expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// `run`, `selected`, `applied`, `proposed`, `rejected` or `prompt-contains`.
    pub what: String,
    /// What was expected and did not come.
    pub missing: Vec<String>,
    /// What came and was not expected.
    pub unexpected: Vec<String>,
    /// All that came, when it is the order alone that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
}

/// What came otherwise than expected.
pub(super) fn between(expect: &Expect, scene: &Scene) -> Vec<Difference> {
    let mut found = Vec::new();
    if let Some(why) = &scene.failed {
        found.push(Difference { unexpected: vec![why.clone()], ..empty("run") });
    }
    let selected: Option<Vec<String>> =
        expect.selected.as_ref().map(|keys| keys.iter().map(|key| key.text.clone()).collect());
    for (what, expected, came) in [
        ("selected", &selected, &scene.selected),
        ("applied", &expect.applied, &scene.applied),
        ("proposed", &expect.proposed, &scene.proposed),
        ("rejected", &expect.rejected, &scene.rejected),
    ] {
        found.extend(expected.as_ref().and_then(|expected| of_lists(what, expected, came)));
    }
    let texts = expect.prompt_contains.iter().flatten();
    let missing: Vec<String> = texts.filter(|text| !scene.prompt.contains(*text)).cloned().collect();
    if !missing.is_empty() {
        found.push(Difference { missing, ..empty("prompt-contains") });
    }
    found
}

fn of_lists(what: &str, expected: &[String], came: &[String]) -> Option<Difference> {
    if expected == came {
        return None;
    }
    let (missing, unexpected) = (without(expected, came), without(came, expected));
    let order = (missing.is_empty() && unexpected.is_empty()).then(|| came.to_vec());
    Some(Difference { missing, unexpected, order, ..empty(what) })
}

/// Those of one list that the other has not as often.
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

fn empty(what: &str) -> Difference {
    Difference { what: what.to_owned(), missing: Vec::new(), unexpected: Vec::new(), order: None }
}
