//! `get`

use super::history::{self, Entry};
use super::{Access, Ctx, Op, Route, argument};
use poc_graph::error::Result;
use poc_graph::time::{Moment, Timestamp};
use poc_graph::{Category, EdgeKind, NodeId, NodeType, Origin, State, Trust, VisitOutcome};
use poc_notes::Reading;
use poc_notes::edges::{self, Direction, End};
use poc_notes::freshness::AsOf;
use poc_notes::interchange::Note;
use poc_notes::message::{self, Origin as MessageOf};
use poc_notes::{markdown, resolve, weigh};
use poc_rank::decay::lambda;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Show a note with everything known about it, in whatever state it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Get {
    /// Key or id of the note
    node: String,
    /// As a Markdown file: front matter and body
    #[arg(long)]
    #[serde(default)]
    markdown: bool,
    /// Show it as it was then: `2026-11-21`, `2026-11-21T08:00:00Z`, or `7d` for a week ago
    #[arg(long, value_name = "TIME", value_parser = argument::moment)]
    #[serde(default)]
    at: Option<Moment>,
    /// Also notes that are quarantined, which nobody has vouched for: a model sees them only with this,
    /// a person always
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// A note with everything known about it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Shown {
    id: NodeId,
    key: String,
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
    /// The message it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageOf>,
    emotion: f32,
    created: Timestamp,
    modified: Timestamp,
    expires: Option<Timestamp>,
    /// Whether it is past its date: no search finds it, whatever its state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    expired: bool,
    state: State,
    origin: Origin,
    version: u32,
    /// As decayed to now.
    weight: f64,
    accesses: u64,
    /// When it was last replayed.
    replayed: Option<Timestamp>,
    /// Spaced-repetition interval in days.
    replay_interval: u16,
    /// By kind.
    edges: BTreeMap<EdgeKind, Vec<End>>,
    visits: Vec<Seen>,
    /// Oldest first.
    history: Vec<Entry>,
    /// The note as a Markdown file, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    /// Whether the answer is of the past.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

/// The last visit by an agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Seen {
    agent: String,
    at: Timestamp,
    outcome: VisitOutcome,
    version: u32,
}

impl Op for Get {
    const NAME: &'static str = "get";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/nodes/{node}");
    const TOOL: Option<&'static str> = Some("graft_get");
    type Output = Shown;

    fn run(self, ctx: &Ctx<'_>) -> Result<Shown> {
        let memory = ctx.memory;
        let reading = Reading::of(memory, self.at)?.seeing(ctx.sight(self.quarantined).quarantined);
        let node = reading.find(&self.node).map_err(|error| error.field("node"))?;
        let freshness = reading.freshness();
        let view = reading.view();
        let note = Note::read(&reading, view, node.id)?.ok_or_else(|| resolve::unknown(&self.node, view))?;
        let (activity, now) = (note.activity(), freshness.as_of.at);
        let lambda = lambda(&memory.config.weight, node.category);
        Ok(Shown {
            weight: weigh::current(&activity, lambda, &memory.config.weight, now),
            accesses: activity.accesses,
            replayed: activity.replayed,
            replay_interval: activity.replay_interval,
            edges: edges::of(&reading, node.id, reading.sight())?,
            visits: note
                .visits()
                .map(|(agent, visit)| Seen {
                    agent: agent.to_owned(),
                    at: visit.at,
                    outcome: visit.outcome,
                    version: visit.version,
                })
                .collect(),
            history: reading.history(node.id)?.into_iter().map(Entry::from).collect(),
            markdown: self.markdown.then(|| markdown::write(&note)).transpose()?,
            past: reading.is_past(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
            id: node.id,
            key: node.key,
            title: node.title,
            body: node.body,
            node_type: node.node_type,
            category: node.category,
            keywords: node.keywords,
            provenance: node.provenance,
            trust: node.trust,
            author: node.author,
            message: message::whole(&reading, node.id, node.source.as_deref())?,
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

    fn verbatim(output: &Shown) -> bool {
        output.markdown.is_some()
    }

    fn show(output: &Shown) -> String {
        if let Some(markdown) = &output.markdown {
            return markdown.clone();
        }
        let mut text = format!("{}\n\n", output.title);
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            let value = value.to_string();
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:<11}{value}");
            }
        };
        line("key", &output.key);
        line("id", &output.id);
        line("type", &format!("{}, {}, {}", output.node_type, output.category, output.state));
        line("keywords", &output.keywords.join(", "));
        line("weight", &format!("{:.3}", output.weight));
        line("created", &output.created);
        line("modified", &format!("{}, version {}", output.modified, output.version));
        let past = if output.expired { ": it is past, and no search finds the note" } else { "" };
        line("expires", &output.expires.map(|at| format!("{at}{past}")).unwrap_or_default());
        line("provenance", &format!("{}, trust {}", output.provenance, output.trust));
        line("author", &output.author.as_deref().unwrap_or_default());
        line("source", &output.source.as_deref().unwrap_or_default());
        if let Some(of) = &output.message {
            line("message", &format!("{}, chunk {} of {}", of.id, of.chunk, of.chunks));
        }
        if !output.body.is_empty() {
            let _ = writeln!(text, "\n{}", output.body);
        }
        for (kind, ends) in &output.edges {
            let _ = writeln!(text, "\n{kind}");
            for end in ends {
                let arrow = if end.direction == Direction::Out { "→" } else { "←" };
                let reason = reason(&end.reason);
                let _ = writeln!(text, "  {arrow} {:.2}  {}  {}{reason}", end.strength, end.key, end.title);
            }
        }
        if !output.visits.is_empty() {
            text.push_str("\nvisits\n");
        }
        for Seen { agent, at, outcome, version } in &output.visits {
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

/// Why an edge is there, behind it.
pub(super) fn reason(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!("  ({reason})") }
}
