//! Differences between two runs, of the same agent or of two agents.

use super::ledger::{ActionRecord, ActionState, Run};
use super::prompt::with_neutral_fence;
use super::run::RunTranscript;
use poc_graph::NodeId;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};

/// Context lines around a difference.
const AROUND: usize = 3;

/// A key of an agent file with its values in two files; `None` where a file does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDiff {
    /// Full path: `limits.max-actions`.
    pub key: String,
    /// Value in the first run's file.
    pub first: Option<String>,
    /// Value in the second run's file.
    pub second: Option<String>,
}

/// Comparison of two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListDiff<T> {
    /// Items only in the first list.
    pub first: Vec<T>,
    /// Items only in the second list.
    pub second: Vec<T>,
    /// Items in both.
    pub both: Vec<T>,
}

/// The keys in which two agent files differ, by name. Empty when a file is not TOML.
pub fn keys(first: &str, second: &str) -> Vec<KeyDiff> {
    let (first, second) = (settings(first), settings(second));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let differs = |name: &&&String| first.get(**name) != second.get(**name);
    let key = |name: &String| KeyDiff {
        key: name.clone(),
        first: first.get(name).cloned(),
        second: second.get(name).cloned(),
    };
    names.iter().filter(differs).map(|name| key(name)).collect()
}

/// Every key of a file with its value in TOML syntax.
fn settings(text: &str) -> BTreeMap<String, String> {
    fn collect(path: &str, table: &toml::Table, found: &mut BTreeMap<String, String>) {
        for (name, value) in table {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match value {
                toml::Value::Table(table) => collect(&path, table, found),
                value => {
                    found.insert(path, value.to_string());
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        collect("", &table, &mut found);
    }
    found
}

/// Diff of two prompts, ignoring the random words of their fences.
pub fn prompts(first: &str, second: &str) -> String {
    lines(&with_neutral_fence(first), &with_neutral_fence(second))
}

/// Diff of the replies of two runs, all turns of each.
pub fn replies(first: &RunTranscript, second: &RunTranscript) -> String {
    let replies = |transcript: &RunTranscript| {
        let turns: Vec<&str> = transcript.turns.iter().map(|turn| turn.reply.trim_end()).collect();
        turns.join("\n\n")
    };
    lines(&replies(first), &replies(second))
}

/// Unified diff of two texts; empty when they are equal.
pub fn lines(first: &str, second: &str) -> String {
    if first == second {
        return String::new();
    }
    TextDiff::from_lines(first, second).unified_diff().context_radius(AROUND).to_string()
}

/// A node that two runs read in different versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditedNode {
    /// The node.
    pub id: NodeId,
    /// The version that the first run read.
    pub first: u32,
    /// The version that the second run read.
    pub second: u32,
}

/// The nodes that two runs read, and the nodes that both read in different versions.
pub fn nodes(first: &Run, second: &Run) -> (ListDiff<NodeId>, Vec<EditedNode>) {
    let ids = |run: &Run| run.selected.iter().map(|read| read.id).collect();
    let versions: BTreeMap<NodeId, u32> =
        second.selected.iter().map(|read| (read.id, read.version)).collect();
    let edited = first.selected.iter().filter_map(|read| {
        let second = *versions.get(&read.id)?;
        (read.version != second).then_some(EditedNode { id: read.id, first: read.version, second })
    });
    (compare(ids(first), ids(second)), edited.collect())
}

/// The actions of two runs as text, each with its state.
pub fn actions(first: &Run, second: &Run) -> ListDiff<String> {
    let actions = |run: &Run| run.actions.iter().map(describe).collect();
    compare(actions(first), actions(second))
}

fn describe(action: &ActionRecord) -> String {
    let state = match action.state {
        ActionState::Applied => "applied",
        ActionState::Refused => action.refusal_code.as_deref().unwrap_or("refused"),
        ActionState::Proposed => "proposed",
        ActionState::Rejected => "rejected",
        ActionState::Outdated => "stale",
        ActionState::Undone => "undone",
    };
    format!("{}: {state}", action.summary)
}

/// Compares two lists. Keeps their order and counts duplicates.
fn compare<T: Clone + PartialEq>(first: Vec<T>, second: Vec<T>) -> ListDiff<T> {
    let (mut alone, mut both, mut left) = (Vec::new(), Vec::new(), second);
    for item in first {
        match left.iter().position(|other| *other == item) {
            Some(at) => both.push(left.remove(at)),
            None => alone.push(item),
        }
    }
    ListDiff { first: alone, second: left, both }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_by_value() {
        let first = "mode = \"apply\"\n[limits]\nmax-actions = 4 # few\n[limits.weight]\nmax = 2\n";
        let second =
            "mode = 'apply'\n[execution]\nmodel = \"x\"\n[limits]\nmax-actions = 5\nweight = { max = 2 }\n";
        let found: Vec<String> = keys(first, second)
            .into_iter()
            .map(|KeyDiff { key, first, second }| format!("{key}: {first:?} {second:?}"))
            .collect();
        insta::assert_snapshot!(found.join("\n"), @r#"
        execution.model: None Some("\"x\"")
        limits.max-actions: Some("4") Some("5")
        "#);
        assert_eq!(keys(first, first), []);
        assert_eq!(keys("no = toml = at all", ""), []);
    }

    #[test]
    fn list_comparison_respects_duplicates() {
        let ListDiff { first, second, both } = compare(vec![1, 1, 2, 3], vec![3, 1, 4]);
        assert_eq!((first, second, both), (vec![1, 2], vec![4], vec![1, 3]));
    }

    #[test]
    fn equal_texts_have_an_empty_diff() {
        assert_eq!(lines("a\nb\n", "a\nb\n"), "");
        insta::assert_snapshot!(lines("a\nb\n", "a\nc\n"), @r"
        @@ -1,2 +1,2 @@
         a
        -b
        +c
        ");
    }
}
