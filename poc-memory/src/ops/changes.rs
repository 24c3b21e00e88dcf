//! `changes`

use super::hit::truncated;
use super::recall::Recall;
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{COLUMN_GAP, column_widths, one_line, second};
use super::{Access, Ctx, Op, Route, argument, command_of, growth};
use poc_agent::agent_changes::agent_changes;
use poc_agent::{ledger, undo};
use poc_graph::error::Result;
use poc_graph::time::{PastTime, Timestamp};
use poc_graph::{Node, RunId, cancellation};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::history::{self, ChangeKind, RecentChange};
use poc_notes::{Memory, resolve};
use poc_store::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of notes that the text lists for one change, and of titles in the answer.
const SHOWN_NOTES: usize = 3;

/// The minimum width of the column of notes. If the other columns leave less, the notes are on lines of their own.
const MIN_NOTES_WIDTH: usize = 30;

/// Maximum number of characters of a title in the text.
const TITLE_CHARS: usize = 60;

/// List the latest changes of notes, newest first, with the numbers that `undo` takes. What questions leave behind
/// (counted uses, and weights and links that `recall` learned) is listed only with `all`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// How many changes, at most 1,000 [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Only the changes by the runs of this agent, approvals of its proposals, and undos of both
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Only the changes since then: a time, or how long ago (`12h`)
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<PastTime>,
    /// Also what questions leave behind: counted uses, and weights and links that `recall` learned
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    all: bool,
}

/// The latest changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChangesOutput {
    /// The changes, newest first.
    changes: Vec<ChangeRow>,
    /// The start of the period, if `since` was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    /// Where the history begins, if a compaction deleted older changes or the store began with a snapshot;
    /// absent if the history is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_since: Option<Timestamp>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// One change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChangeRow {
    /// The number of the change. An import, and a sync of a vault or with a remote, is one change with the number of
    /// its last part.
    seq: u64,
    at: Timestamp,
    /// Who made the change: `manual`, `import:FILE`, `agent:NAME`.
    actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The agent whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The op that made the change.
    op: String,
    /// Keys of the changed notes, at most 100. If only edges, weights or visits were changed, the last keys of notes that
    /// were deleted since.
    nodes: Vec<String>,
    /// The former key of each of these notes that was renamed, by its new key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    renamed: BTreeMap<String, String>,
    /// How many notes changed, if more than are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// The titles of the first three notes, by key; without those that were deleted since.
    titles: BTreeMap<String, String>,
    /// What the change did to the notes whose texts or properties it wrote: `created`, `changed` or `deleted`, or
    /// several of them. Empty if it wrote only edges, weights or visits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    did: Vec<String>,
    /// If it wrote only edges, weights or visits: what it did to edges, that is, `created`, `changed` or `deleted`, or
    /// several of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    did_edges: Vec<String>,
    /// Whether all of the change was undone later.
    undone: bool,
    /// Whether the change is the undo of an undo, so that what that had undone is done again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redo: bool,
}

/// Says that there are no changes. `since` is where the history begins, if it is not complete.
pub(super) fn nothing_changed(since: Option<Timestamp>) -> String {
    match since {
        Some(since) => format!("nothing has changed since the history begins, {}", second(since)),
        None => "nothing has changed yet".to_owned(),
    }
}

/// A title in quotes, with at most [`TITLE_CHARS`] characters of it.
fn shortened(title: &str) -> String {
    let title = one_line(title);
    let (shown, left_out) = truncated(&title, TITLE_CHARS);
    let end = if left_out > 0 { "…" } else { "" };
    format!("“{shown}{end}”")
}

/// Whether a change is listed by default: not the use counts, weights and edges that questions leave behind.
pub(super) fn is_listed(cause: &Cause) -> bool {
    cause.op != Recall::NAME && super::find(&cause.op).is_none_or(|op| op.access != Access::Read)
}

/// The latest changes of the runs of an agent.
fn latest_of_agent(
    ctx: &Ctx<'_>,
    limit: usize,
    since: Option<Timestamp>,
    agent: &str,
    is_listed: &dyn Fn(&Cause) -> bool,
) -> Result<Vec<RecentChange>> {
    let numbers = agent_changes(ctx.memory, agent)?;
    if numbers.is_empty() {
        // An unknown name is an error; an agent without runs is not.
        ctx.host.catalog()?.entry(agent)?;
    }
    history::latest_among(ctx.memory, numbers.into_iter().rev(), limit, since, is_listed)
}

/// A change, with the agent of the run that it belongs to.
fn row(memory: &Memory, change: RecentChange, agent: Option<String>) -> Result<ChangeRow> {
    let RecentChange { seq, cause, nodes, count, renamed, kinds, edge_kinds, undone } = change;
    let names = |kinds: Vec<ChangeKind>| kinds.into_iter().map(|kind| kind.name().to_owned()).collect();
    let mut titles = BTreeMap::new();
    for key in nodes.iter().take(SHOWN_NOTES) {
        if let Some(node) = resolve::exact(&memory.store, key)? {
            titles.insert(key.clone(), node.title);
        }
    }
    Ok(ChangeRow {
        seq,
        redo: undo::is_redo(memory, &cause)?,
        at: cause.at,
        did: names(kinds),
        did_edges: names(edge_kinds),
        undone,
        agent,
        actor: cause.actor,
        run: cause.run,
        op: cause.op,
        count: (count > nodes.len()).then_some(count),
        nodes,
        renamed,
        titles,
    })
}

impl Op for Changes {
    const NAME: &'static str = "changes";
    const ACCESS: Access = Access::Person;
    const ROUTE: Option<Route> = Route::get("/v1/changes");
    type Output = ChangesOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ChangesOutput> {
        let limit = argument::count("limit", self.limit, ("changes.limit", ctx.memory.config.changes.limit))?;
        let since = self.since.map(|since| growth::start(since, ctx.memory.now())).transpose()?;
        let all = self.all;
        let is_listed = |cause: &Cause| all || is_listed(cause);
        let latest = match &self.agent {
            Some(agent) => latest_of_agent(ctx, limit, since, agent, &is_listed)?,
            None => history::latest(ctx.memory, limit, since, &is_listed)?,
        };
        let runs = latest.iter().filter_map(|change| change.cause.run).collect();
        let agents = ledger::agents_of(ctx.memory, &runs)?;
        let status = answer_status::of(ctx.memory, &ctx.memory.store.view());
        let row = |change: RecentChange| {
            cancellation::check()?;
            let agent = change.cause.run.and_then(|run| agents.get(&run)).cloned();
            row(ctx.memory, change, agent)
        };
        Ok(ChangesOutput {
            changes: latest.into_iter().map(row).collect::<Result<_>>()?,
            since,
            history_since: ctx.memory.store.history_base().map(|base| base.at),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn show(output: &ChangesOutput, terminal: &Terminal) -> StyledText {
        if output.changes.is_empty() {
            let text = match output.since.filter(|since| output.history_since <= Some(*since)) {
                Some(since) => format!("nothing has changed since {}", second(since)),
                None => nothing_changed(output.history_since),
            };
            return (text + "\n").into();
        }
        let row = |change: &ChangeRow| {
            let name = |key: &String| match change.renamed.get(key) {
                Some(former) => format!("{former} → {key}"),
                None => {
                    // The key of a confirmed question or of a quotation says nothing.
                    let is_pointer = Node::is_question_key(key) || Node::is_quotation_key(key);
                    let title = change.titles.get(key).filter(|_| is_pointer);
                    title.map_or_else(|| key.clone(), |title| shortened(title))
                }
            };
            let mut nodes = change.nodes.iter().take(SHOWN_NOTES).map(name).collect::<Vec<_>>().join(", ");
            let count = change.count.unwrap_or(change.nodes.len());
            // A sync that only wrote links into files, and its undo, change no note.
            if count == 0 {
                nodes += "no notes";
            }
            if count > SHOWN_NOTES {
                nodes += &format!(" and {} more", count - SHOWN_NOTES);
            }
            let command = command_of(&change.op);
            let what = match change.run {
                Some(run) => format!("{command} {}", run.short()),
                None => command.to_owned(),
            };
            // The usual change creates notes.
            let did = match change.did.as_slice() {
                [did] if did != ChangeKind::Created.name() => Some(did.as_str()),
                [] if change.did_edges == [ChangeKind::Deleted.name()] => Some("only links deleted"),
                _ => None,
            };
            let marks: Vec<&str> = did.into_iter().chain(change.undone.then_some("undone")).collect();
            if !marks.is_empty() {
                nodes += &format!(" ({})", marks.join(", "));
            }
            (vec![change.seq.to_string(), second(change.at), change.actor.clone(), what], nodes)
        };
        let (mut rows, notes): (Vec<Vec<String>>, Vec<String>) = output.changes.iter().map(row).unzip();
        let columns = [Emphasis::Name, Emphasis::Faint, Emphasis::None, Emphasis::None, Emphasis::Name];
        let widths = column_widths(&rows);
        let beside: usize = widths.iter().map(|width| width + COLUMN_GAP).sum();
        let indent = widths.first().map_or(0, |width| width + COLUMN_GAP);
        let mut text = StyledText::default();
        if terminal.columns.is_some_and(|columns| columns < beside + MIN_NOTES_WIDTH) {
            text.push_table(terminal, &columns, &rows, |row| {
                let notes = terminal.cut(notes.get(row)?, indent);
                Some((Emphasis::Name, format!("{}{notes}\n", " ".repeat(indent))))
            });
        } else {
            rows.iter_mut().zip(notes).for_each(|(row, notes)| row.push(notes));
            text.push_table(terminal, &columns, &rows, |_| None);
        }
        text
    }
}
