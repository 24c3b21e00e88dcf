//! `history`

use super::text::{reason_line, second};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, command_of};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, NodeId, RunId};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::diff::FieldChange;
use poc_notes::history;
use poc_notes::neighbor_edges::{self, Direction, NeighborEdge};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The field that a sync with a remote sets in each note that it pushes. The text leaves it out.
const ORIGIN: &str = "origin";

/// List every change of a note: when, by whom, in which run, and what it changed. The history of a deleted
/// note is under its id, and for a while also under its key.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "History")]
pub(crate) struct HistoryRequest {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The history of a note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HistoryOutput {
    id: NodeId,
    key: String,
    /// Where the history of the memory begins, if a compaction deleted older changes or the store began with
    /// a snapshot; absent if the history is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_since: Option<Timestamp>,
    /// The changes, oldest first.
    changes: Vec<HistoryEntry>,
    /// Its current explicit edges by kind: links and supersessions, with when and why they were made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    edges: BTreeMap<EdgeKind, Vec<NeighborEdge>>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// One change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct HistoryEntry {
    /// Number of the transaction.
    pub seq: u64,
    /// The number with which `changes` lists the change, if it has several transactions and this is not the last one;
    /// absent otherwise. `undo` takes both numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<u64>,
    pub at: Timestamp,
    /// Who made the change: `manual`, `import:FILE`, `agent:NAME`.
    pub actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The op that made the change.
    pub op: String,
    /// `created`, `changed` or `deleted`.
    pub did: String,
    /// The version after the change; for a deletion the last version.
    pub version: u32,
    /// The fields that changed, with their values before and after; only for `changed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// Whether a later change undid it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

impl From<history::NodeChange> for HistoryEntry {
    fn from(entry: history::NodeChange) -> Self {
        HistoryEntry {
            seq: entry.seq,
            change: (entry.last != entry.seq).then_some(entry.last),
            at: entry.cause.at,
            actor: entry.cause.actor,
            run: entry.cause.run,
            op: entry.cause.op,
            did: entry.kind.name().to_owned(),
            version: entry.version,
            fields: entry.fields,
            undone: entry.undone,
        }
    }
}

impl Op for HistoryRequest {
    const NAME: &'static str = "history";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::post("/v1/history");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = HistoryOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<HistoryOutput> {
        let history = history::find(ctx.memory, &self.node, ctx.visibility(self.quarantined))
            .map_err(|error| error.field("node"))?;
        let visibility = ctx.visibility(self.quarantined);
        let store = &ctx.memory.store;
        let view = store.view();
        let status = answer_status::of(ctx.memory, &view);
        Ok(HistoryOutput {
            history_since: store.history_base().map(|base| base.at),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
            edges: neighbor_edges::of(store, &view, history.id, visibility, 0)?.edges,
            id: history.id,
            key: history.key,
            changes: history.entries.into_iter().map(HistoryEntry::from).collect(),
        })
    }

    fn show(output: &HistoryOutput, _: &Terminal) -> String {
        let mut text = format!("{} ({})\n", output.key, output.id);
        if let Some(since) = output.history_since {
            text.push_str(&missing_changes(since, &output.changes));
        }
        for entry in &output.changes {
            text.push_str(&line(entry));
            for change in entry.fields.iter().filter(|change| change.field != ORIGIN) {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "    {}: {:?} → {:?}", change.field, change.before, change.after);
            }
        }
        for (kind, ends) in &output.edges {
            for NeighborEdge { direction, key, created, provenance, reason, .. } in ends {
                let arrow = if *direction == Direction::Out { "→" } else { "←" };
                let reason = self::reason(reason);
                let created = second(*created);
                let _ = writeln!(text, "  {created}  {kind} {arrow} `{key}` by {provenance}{reason}");
            }
        }
        text
    }
}

/// A line about changes of a note that are not kept, because the history begins at `since`; empty if there are none.
fn missing_changes(since: Timestamp, changes: &[HistoryEntry]) -> String {
    let creation = changes.first().filter(|first| first.did == history::ChangeKind::Created.name());
    let missing = match creation {
        Some(creation) if creation.at > since => return String::new(),
        Some(_) => "of earlier changes, only the creation is known",
        None => "earlier changes are missing",
    };
    format!("  the history begins at {}: {missing}\n", second(since))
}

/// One line about a change.
pub(super) fn line(entry: &HistoryEntry) -> String {
    let run = entry.run.map(|run| format!(" in run {}", run.short())).unwrap_or_default();
    let HistoryEntry { seq, change, at, version, did, actor, op, undone, .. } = entry;
    let (at, undone) = (second(*at), if *undone { ", undone" } else { "" });
    let (change, op) = (change.unwrap_or(*seq), command_of(op));
    format!("  {at}  v{version}  {did} by {actor} ({op}, change {change}{run}{undone})\n")
}

/// The reason of an edge as a suffix of its line.
pub(super) fn reason(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!("  ({})", reason_line(reason)) }
}
