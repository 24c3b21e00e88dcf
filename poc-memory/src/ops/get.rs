//! `get`

use super::history::{self, HistoryEntry};
use super::text::{one_line, plural, second};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{
    Activity, Category, EdgeKind, HistoryPoint, NodeId, NodeType, Origin, State, Trust, VisitOutcome,
};
use poc_notes::ReadSnapshot;
use poc_notes::answer_status::AsOf;
use poc_notes::history::{self as past, ChangeKind};
use poc_notes::interchange::Note;
use poc_notes::message::{self, ChunkOrigin};
use poc_notes::neighbor_edges::{self, Direction, NeighborEdge, NeighborEdges};
use poc_notes::{markdown, resolve, weight};
use poc_rank::decay::lambda;
use poc_store::Records as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many edges are shown of each kind that the memory makes itself.
const MAX_EDGES: usize = 5;

/// Show a note with everything known about it, whatever its state.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Get {
    /// Key of the note in any unambiguous spelling, its id, or the first 8 digits of the id
    #[arg(value_name = "NOTE")]
    node: String,
    /// Print the note as a Markdown file with front matter
    #[arg(long)]
    #[serde(default)]
    markdown: bool,
    /// Show the note as of this time or after this change: `2026-11-21`, `2026-11-21T08:00:00Z`, `7d` (a week ago),
    /// or `1042` (a number that `changes` shows)
    #[arg(long, value_name = "SEQ|TIME", value_parser = argument::history_point)]
    #[serde(default)]
    at: Option<HistoryPoint>,
    /// Show all edges, also the weaker ones that the memory made itself from keywords, meaning, order and use
    #[arg(long)]
    #[serde(default)]
    all_edges: bool,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// A note with everything known about it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GetOutput {
    id: NodeId,
    key: String,
    /// Former keys, oldest first. Each of them still finds the note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    /// Other names, such as `aliases` in the front matter of its file. Other notes may have them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_names: Vec<String>,
    title: String,
    body: String,
    #[serde(rename = "type")]
    node_type: NodeType,
    category: Category,
    keywords: Vec<String>,
    provenance: String,
    trust: Trust,
    author: Option<String>,
    source: Option<String>,
    /// The message it is a chunk of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<ChunkOrigin>,
    /// Emotional intensity, 0 to 10; 0 by default.
    emotion: f32,
    created: Timestamp,
    modified: Timestamp,
    expires: Option<Timestamp>,
    /// Whether it has expired: no search finds it, whatever its state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    expired: bool,
    state: State,
    origin: Origin,
    /// Version, from 1: it increases when the text, the fields or the state change, not with names, weight or edges.
    /// `if_version` takes it.
    version: u32,
    /// Weight, decayed to now: 0.01 to 100 with the default settings.
    weight: f64,
    /// Number of times the note was used: recalled, returned by `query`, or rated.
    accesses: u64,
    /// When the note was last replayed by spaced repetition; null if never.
    replayed: Option<Timestamp>,
    /// Spaced-repetition interval in days.
    replay_interval: u16,
    /// Its edges, grouped by kind, the strongest first. Of each kind that the memory makes itself from keywords,
    /// meaning, order and use, only the strongest edges are listed unless `all_edges` is set.
    edges: BTreeMap<EdgeKind, Vec<NeighborEdge>>,
    /// How many more edges it has, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    left_out_edges: BTreeMap<EdgeKind, usize>,
    visits: Vec<VisitRow>,
    /// Changes of the note, oldest first.
    history: Vec<HistoryEntry>,
    /// The note as a Markdown file, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    /// Whether the answer shows a past state of the memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// The last visit of one agent to the note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct VisitRow {
    agent: String,
    at: Timestamp,
    outcome: VisitOutcome,
    /// Version of the note that the agent read, from 1.
    version: u32,
}

impl Get {
    /// The error for an unknown note. It says in which change the note was deleted, if that is among the latest ones.
    fn explained(&self, ctx: &Ctx<'_>, error: Error) -> Error {
        let visibility = ctx.visibility(self.quarantined);
        let found = (error.code == Code::NotFound).then(|| past::find(ctx.memory, &self.node, visibility));
        // The note is unknown, whether or not the log can be read.
        let Some(Ok(past::History { key, entries, .. })) = found else {
            return ctx.with_titled_note(error, &self.node);
        };
        match entries.last() {
            Some(last) if last.kind == ChangeKind::Deleted => {
                let message = format!("`{key}` was deleted in change {}", last.last);
                let hint = format!("`poc-memory undo {}` brings it back", last.last);
                Error { message, hint: Some(hint), ..error }
            }
            _ => error,
        }
    }
}

impl Op for Get {
    const NAME: &'static str = "get";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/nodes/{node}");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    const VERSIONED: bool = true;
    type Output = GetOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<GetOutput> {
        let memory = ctx.memory;
        let snapshot =
            ReadSnapshot::of(memory, self.at)?.with_quarantined(ctx.visibility(self.quarantined).quarantined);
        let node = snapshot.find(&self.node).map_err(|error| {
            let error = if snapshot.is_past() { error } else { self.explained(ctx, error) };
            error.field("node")
        })?;
        let status = snapshot.answer_status();
        let view = snapshot.view();
        let markdown = match self.markdown {
            true => {
                let note = Note::read(&snapshot, view, node.id)?;
                Some(markdown::write(&note.ok_or_else(|| resolve::unknown(&self.node, view))?)?)
            }
            false => None,
        };
        let activity = snapshot.activity(node.id)?.unwrap_or_else(|| Activity::initial(node.created));
        let mut visits = snapshot.visits(node.id)?;
        visits.sort_by(|(a, _), (b, _)| a.cmp(b));
        let now = status.as_of.at;
        let lambda = lambda(&memory.config.weight, node.category);
        let max_edges = if self.all_edges { usize::MAX } else { MAX_EDGES };
        let NeighborEdges { edges, left_out } =
            neighbor_edges::of(&snapshot, view, node.id, snapshot.visibility(), max_edges)?;
        Ok(GetOutput {
            weight: weight::current(&activity, lambda, &memory.config.weight, now),
            accesses: activity.accesses,
            replayed: activity.replayed,
            replay_interval: activity.replay_interval,
            edges,
            left_out_edges: left_out,
            visits: visits
                .into_iter()
                .map(|(agent, visit)| VisitRow {
                    agent,
                    at: visit.at,
                    outcome: visit.outcome,
                    version: visit.version,
                })
                .collect(),
            history: snapshot.history(node.id)?.into_iter().map(HistoryEntry::from).collect(),
            markdown,
            past: snapshot.is_past(),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
            id: node.id,
            key: node.key,
            aliases: node.aliases,
            other_names: node.other_names,
            title: node.title,
            body: node.body,
            node_type: node.node_type,
            category: node.category,
            keywords: node.keywords,
            provenance: node.provenance,
            trust: node.trust,
            author: node.author,
            message: message::origin_with_text(&snapshot, node.id, node.source.as_deref())?,
            source: node.source,
            emotion: node.emotion,
            created: node.created,
            modified: node.modified,
            expires: node.expires,
            expired: node.expires.is_some_and(|expires| expires <= now),
            state: node.state,
            origin: node.origin,
            version: node.version,
        })
    }

    fn verbatim(output: &GetOutput) -> bool {
        output.markdown.is_some()
    }

    fn show(output: &GetOutput, terminal: &Terminal) -> String {
        if let Some(markdown) = &output.markdown {
            return markdown.clone();
        }
        let mut text = format!("{}\n\n", one_line(&output.title));
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            let value = value.to_string();
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:<11}{value}");
            }
        };
        line("key", &output.key);
        line("formerly", &output.aliases.join(", "));
        line("also", &output.other_names.join(", "));
        line("id", &output.id);
        line("type", &format!("{}, {}, {}", output.node_type, output.category, output.state));
        line("keywords", &output.keywords.join(", "));
        line("weight", &format!("{:.3}", output.weight));
        line("created", &second(output.created));
        line("modified", &format!("{}, version {}", second(output.modified), output.version));
        let past = if output.expired { ": expired, no search finds the note" } else { "" };
        line("expires", &output.expires.map(|at| format!("{}{past}", second(at))).unwrap_or_default());
        line("provenance", &format!("{}, trust {}", output.provenance, output.trust));
        line("author", &output.author.as_deref().unwrap_or_default());
        line("source", &output.source.as_deref().unwrap_or_default());
        if let Some(of) = &output.message {
            line("message", &format!("{}, chunk {} of {}", of.id, of.chunk, of.chunks));
        }
        if !output.body.is_empty() {
            let _ = writeln!(text, "\n{}", terminal.wrapped_note(&output.body));
        }
        for (kind, ends) in &output.edges {
            let _ = writeln!(text, "\n{kind}");
            for end in ends {
                let arrow = if end.direction == Direction::Out { "→" } else { "←" };
                let (title, reason) = (one_line(&end.title), history::reason(&end.reason));
                let _ = writeln!(text, "  {arrow} {:.2}  {}  {title}{reason}", end.strength, end.key);
            }
            if let Some(count) = output.left_out_edges.get(kind) {
                let more = plural(*count as u64, "more edge");
                let _ = writeln!(text, "  {more} left out: `--all-edges` shows all");
            }
        }
        if !output.visits.is_empty() {
            text.push_str("\nvisits\n");
        }
        for VisitRow { agent, at, outcome, version } in &output.visits {
            let at = second(*at);
            let _ = writeln!(text, "  {at}  v{version}  {outcome} by {agent}");
        }
        text.push_str("\nhistory\n");
        text.extend(output.history.iter().map(history::line));
        if output.past {
            let _ = writeln!(text, "\nas of {}", output.as_of);
        }
        text
    }
}
