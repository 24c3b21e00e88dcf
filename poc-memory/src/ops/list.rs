//! `list`

use super::hit::{NoteRow, is_zero};
use super::pipeline_keywords::misspelt;
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{day, left_out, one_line};
use super::{Access, Ctx, Op, Route, ToolEffect, argument};
use poc_graph::error::Result;
use poc_graph::{Ix, cancellation};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::keyword_normalization;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The key of the default of `limit`.
const LIMIT: &str = "list.limit";

/// List notes, the last changed first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// Only notes of this type: episodic, daily, weekly, monthly, semantic, or one from the settings
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    node_type: Option<String>,
    /// Only notes with all of these keywords
    #[arg(
        long = "keyword",
        short = 'k',
        visible_alias = "tag",
        value_name = "WORD",
        help = "Only notes with this keyword; repeat it for several"
    )]
    #[serde(default)]
    keywords: Vec<String>,
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

/// The notes, the last changed first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListOutput {
    notes: Vec<NoteRow>,
    /// How many more notes there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

impl Op for List {
    const NAME: &'static str = "list";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/list");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = ListOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ListOutput> {
        let limit = argument::count("limit", self.limit, (LIMIT, ctx.memory.config.list.limit))?;
        self.node_type.as_deref().map_or(Ok(()), |name| poc_notes::known_type(name, &ctx.memory.config))?;
        let (view, visibility) = (ctx.memory.store.view(), ctx.visibility(self.quarantined));
        let words = keyword_normalization::normalize(&self.keywords)?;
        // A keyword that no note ever had has no number, and no note matches it.
        let numbers: Option<Vec<u32>> = words.iter().map(|word| view.keyword_number(word)).collect();
        let is_wanted = |ix: &Ix| {
            view.is_visible(*ix, visibility)
                && !view.is_pointer(*ix)
                && self.node_type.as_ref().is_none_or(|name| view.type_name(*ix) == name)
                && numbers.iter().flatten().all(|number| view.keywords(*ix).contains(number))
        };
        let all = (0..view.slots()).filter(|_| numbers.is_some());
        let all = all.take_while(|_| !cancellation::is_requested());
        let mut found: Vec<Ix> = all.filter(is_wanted).collect();
        cancellation::check()?;
        found.sort_by_key(|ix| (Reverse(view.modified(*ix)), view.id(*ix)));
        let left_out = found.len().saturating_sub(limit);
        found.truncate(limit);
        let note = |ix: Ix| {
            let node = view.id(ix).map(|id| ctx.memory.store.node(id)).transpose()?.flatten();
            NoteRow::new(&view, ix, node.as_ref(), None, None)
        };
        let mut status = answer_status::of(ctx.memory, &view);
        if found.is_empty() {
            status.degraded.extend(words.iter().filter_map(|word| misspelt(&view, visibility, word)));
        }
        Ok(ListOutput {
            notes: found.into_iter().map(note).collect::<Result<_>>()?,
            left_out,
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn lists_nothing(output: &ListOutput) -> bool {
        output.notes.is_empty()
    }

    fn show(output: &ListOutput, terminal: &Terminal) -> StyledText {
        let row = |note: &NoteRow| {
            vec![day(note.date), note.key.clone(), note.node_type.clone(), one_line(&note.title)]
        };
        let rows: Vec<Vec<String>> = output.notes.iter().map(row).collect();
        let columns = [Emphasis::Faint, Emphasis::Name, Emphasis::Faint, Emphasis::None];
        let mut text = StyledText::default();
        text.push_table(terminal, &columns, &rows, |_| None);
        if output.notes.is_empty() {
            text.push("no notes\n");
        }
        text.push(left_out(output.notes.len(), output.left_out, "more note", LIMIT));
        text
    }
}
