//! `backlinks`

use super::hit::{NoteRow, is_zero};
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{day, left_out, one_line, reason_line};
use super::{Access, Ctx, Op, Route, ToolEffect, argument};
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, cancellation};
use poc_notes::ReadSnapshot;
use poc_notes::answer_status::AsOf;
use poc_notes::neighbor_edges::{self, Direction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The key of the default of `limit`.
const LIMIT: &str = "backlinks.limit";

/// List the notes that lead to a note: notes with a link to it, notes that replace or contradict it or were
/// derived from it, and notes whose text mentions its title or key. The last changed comes first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backlinks {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
    /// How many notes, at most 1,000 [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The notes that lead to a note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BacklinksOutput {
    /// Key of the note.
    key: String,
    /// The notes, the last changed first.
    backlinks: Vec<Backlink>,
    /// How many more notes lead to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// A note that leads to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Backlink {
    #[serde(flatten)]
    note: NoteRow,
    /// The kinds of its edges to the note, and `mention` if its text mentions the note.
    by: Vec<String>,
    /// The reasons of its edges, if they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
}

/// The connections by which one note leads to another.
#[derive(Default)]
struct Connection {
    by: Vec<String>,
    reasons: Vec<String>,
}

impl Op for Backlinks {
    const NAME: &'static str = "backlinks";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/nodes/{node}/backlinks");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = BacklinksOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<BacklinksOutput> {
        let limit = argument::count("limit", self.limit, (LIMIT, ctx.memory.config.backlinks.limit))?;
        let snapshot = ReadSnapshot::of(ctx.memory, None)?
            .with_quarantined(ctx.visibility(self.quarantined).quarantined);
        let node = snapshot
            .find(&self.node)
            .map_err(|error| ctx.with_titled_note(error, &self.node).field("node"))?;
        let (view, visibility) = (snapshot.view(), snapshot.visibility());
        let mut connections: BTreeMap<NodeId, Connection> = BTreeMap::new();
        for (kind, ends) in neighbor_edges::of(&snapshot, view, node.id, visibility, 0)?.edges {
            for end in ends.into_iter().filter(|end| end.direction == Direction::In) {
                let connection = connections.entry(end.id).or_default();
                connection.by.push(kind.name().to_owned());
                connection.reasons.extend(Some(end.reason).filter(|reason| !reason.is_empty()));
            }
        }
        for id in ctx.memory.mentions.mentioning(node.id) {
            connections.entry(id).or_default().by.push("mention".to_owned());
        }
        cancellation::check()?;
        let mut found: Vec<(Ix, NodeId, Connection)> = connections
            .into_iter()
            .filter_map(|(id, connection)| Some((view.find(id)?, id, connection)))
            .filter(|(ix, ..)| view.is_visible(*ix, visibility))
            .collect();
        found.sort_by_key(|(ix, id, _)| (Reverse(view.modified(*ix)), *id));
        let left_out = found.len().saturating_sub(limit);
        found.truncate(limit);
        let backlink = |(ix, id, Connection { by, reasons }): (Ix, NodeId, Connection)| -> Result<Backlink> {
            let note = NoteRow::new(view, ix, ctx.memory.store.node(id)?.as_ref(), None, Some(&node.title))?;
            Ok(Backlink { note, by, reasons })
        };
        let backlinks = found.into_iter().map(backlink).collect::<Result<_>>()?;
        let status = snapshot.answer_status();
        Ok(BacklinksOutput {
            key: node.key,
            backlinks,
            left_out,
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn show(output: &BacklinksOutput, terminal: &Terminal) -> StyledText {
        let row = |Backlink { note, by, reasons }: &Backlink| {
            let reasons = reason_line(&reasons.join("; "));
            let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
            vec![
                day(note.date),
                note.key.clone(),
                format!("{}{reasons}", by.join(", ")),
                one_line(&note.title),
            ]
        };
        let rows: Vec<Vec<String>> = output.backlinks.iter().map(row).collect();
        let columns = [Emphasis::Faint, Emphasis::Name, Emphasis::Faint, Emphasis::None];
        let mut text = StyledText::default();
        text.push_table(terminal, &columns, &rows, |_| None);
        if output.backlinks.is_empty() {
            text.push(format!("no note leads to `{}`\n", output.key));
        }
        text.push(left_out(output.backlinks.len(), output.left_out, "more note", LIMIT));
        text
    }
}
