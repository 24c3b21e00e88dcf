//! `memory_history`

use super::def::{DefaultTool, OpCalls, limit};
use crate::ops::{Access, ToolEffect};
use poc_graph::error::Result;
use poc_graph::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Default number of changes in an answer.
const DEFAULT_LIMIT: u64 = 20;

/// Maximum number of changes in an answer.
const MAX_LIMIT: u64 = 100;

/// See what changed, newest first. Without a note: the notes that were stored or changed most recently, for
/// example to catch up after a break. With a note: each of its changes, with when, by whom and the values
/// before and after. Returns 20 entries by default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryHistory {
    /// Key or id of a note; all notes if omitted. The history of a deleted note is under its id
    #[serde(default)]
    node: Option<String>,
    /// How many entries, 1 to 100; 20 if omitted
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u64>,
}

/// Changes, newest first.
#[derive(Serialize)]
struct HistoryAnswer {
    changes: Vec<NoteChange>,
    /// Whether there are older changes than these.
    more: bool,
    /// Problems that may make this answer incomplete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
}

/// A note that changed, or one change of the note asked for.
#[derive(Serialize)]
struct NoteChange {
    /// When.
    at: String,
    /// The note.
    key: String,
    /// Its title, if no note was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// `created`, `changed` or `deleted`. This field and the following ones are present only if a note was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<String>,
    /// Who: `manual` is the user, `mcp` an assistant, `agent:NAME` an agent of the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The changed fields: their names, and their values before and after, shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Map<String, Value>>,
}

/// The fields of the answer of `history` that are used.
#[derive(Deserialize)]
struct OpHistory {
    key: String,
    changes: Vec<OpChange>,
    #[serde(default)]
    degraded: Vec<String>,
}

#[derive(Deserialize)]
struct OpChange {
    at: String,
    did: String,
    actor: String,
    #[serde(default)]
    fields: Vec<Map<String, Value>>,
}

/// The fields of the answer of `search` that are used.
#[derive(Deserialize)]
struct OpSearch {
    results: Vec<RecentNote>,
    #[serde(default)]
    degraded: Vec<String>,
}

#[derive(Deserialize)]
struct RecentNote {
    key: String,
    title: String,
    date: String,
}

impl DefaultTool for MemoryHistory {
    const NAME: &'static str = "memory_history";
    const TITLE: &'static str = "Recent changes";
    const OPS: &'static [&'static str] = &["history", "changes"];
    const ACCESS: Access = Access::Read;
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;

    fn run(self, ops: &OpCalls<'_>) -> Result<Value> {
        let limit = limit(self.limit, DEFAULT_LIMIT, MAX_LIMIT)? as usize;
        let (mut changes, degraded) = match self.node {
            Some(node) => of_note(ops, node)?,
            None => recent(ops, limit + 1)?,
        };
        let more = changes.len() > limit;
        changes.truncate(limit);
        json::encode(&HistoryAnswer { changes, more, degraded })
    }
}

/// The changes of a note, and the problems of the answer.
fn of_note(ops: &OpCalls<'_>, node: String) -> Result<(Vec<NoteChange>, Vec<String>)> {
    let mut request = Map::new();
    request.insert("node".into(), node.into());
    let history: OpHistory = json::decode_answer("history", &ops.call("history", request)?)?;
    let change = |change: OpChange| NoteChange {
        at: change.at,
        key: history.key.clone(),
        title: None,
        did: Some(change.did),
        by: Some(change.actor),
        fields: change.fields,
    };
    Ok((history.changes.into_iter().rev().map(change).collect(), history.degraded))
}

/// The notes that changed last, and the problems of the answer. The op `changes` would also name quarantined notes.
fn recent(ops: &OpCalls<'_>, limit: usize) -> Result<(Vec<NoteChange>, Vec<String>)> {
    let mut request = Map::new();
    request.insert("pipeline".into(), json!([format!("all | sort:timestamp | limit:{limit}")]));
    let found: OpSearch = json::decode_answer("search", &ops.call("search", request)?)?;
    let change = |note: RecentNote| NoteChange {
        at: note.date,
        key: note.key,
        title: Some(note.title),
        did: None,
        by: None,
        fields: Vec::new(),
    };
    Ok((found.results.into_iter().map(change).collect(), found.degraded))
}
