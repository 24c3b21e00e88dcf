//! `duplicates`

use super::hit::{NoteRow, is_zero, missing_note};
use super::text::{left_out, one_line, plural};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, View};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::duplicates::{self, NearDuplicatePair};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The key of the default of `limit`.
const LIMIT: &str = "duplicates.limit";

/// List pairs of notes that may be duplicates, the most similar first, with their differing words. Candidates
/// are notes with a semantic edge, which new notes get to those of similar meaning, and notes with the same
/// title. Pairs in which each note has other numbers, dates or identifiers are only counted, unless `all` is set.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Duplicates {
    /// How many pairs, at most 1,000 [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Minimum share of common words among all words of both notes, 0 to 1 [default: 0.5]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    min_words: Option<f64>,
    /// Also list pairs in which each note has numbers, dates or other identifiers that the other lacks, after the others
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    all: bool,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// Pairs of notes, the most similar first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DuplicatesOutput {
    pairs: Vec<NearDuplicateRow>,
    /// Number of further pairs, which are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    /// Number of further pairs in which each note has numbers, dates or other identifiers that the other lacks; `all`
    /// lists them.
    #[serde(default, skip_serializing_if = "is_zero")]
    with_different_identifiers: usize,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// Two notes that may be duplicates.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct NearDuplicateRow {
    /// The older note.
    older: NoteRow,
    /// The newer note.
    newer: NoteRow,
    /// Jaccard similarity of their words: the share of all words that both have, 0 to 1.
    words: f64,
    /// Whether the titles are equal, ignoring case.
    same_title: bool,
    /// Whether each note has numbers, dates or other identifiers that the other lacks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    different_identifiers: bool,
    /// Words that only the older note has, in its order, at most 20.
    only_older: Vec<String>,
    /// Words that only the newer note has, in its order, at most 20.
    only_newer: Vec<String>,
}

impl Op for Duplicates {
    const NAME: &'static str = "duplicates";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/duplicates");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = DuplicatesOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DuplicatesOutput> {
        let config = &ctx.memory.config.duplicates;
        let limit = argument::count("limit", self.limit, (LIMIT, config.limit))?;
        let min = self.min_words.unwrap_or(config.min_words);
        if !(0.0..=1.0).contains(&min) {
            return Err(Error::invalid(format!("{min} is out of range"))
                .hint("give a number from 0 to 1")
                .field("min_words"));
        }
        let view = ctx.memory.store.view();
        let mut found = duplicates::find(ctx.memory, &view, ctx.visibility(self.quarantined), min)?;
        // They come last.
        let listed = match self.all {
            true => found.len(),
            false => found.partition_point(|pair| !pair.different_identifiers),
        };
        let with_different_identifiers = found.len() - listed;
        found.truncate(listed);
        let left_out = found.len().saturating_sub(limit);
        found.truncate(limit);
        let status = answer_status::of(ctx.memory, &view);
        Ok(DuplicatesOutput {
            pairs: found.into_iter().map(|pair| described(ctx, &view, pair)).collect::<Result<_>>()?,
            left_out,
            with_different_identifiers,
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn show(output: &DuplicatesOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for pair in &output.pairs {
            let title = if pair.same_title { ", same title" } else { "" };
            // Writing to a string cannot fail.
            let other =
                if pair.different_identifiers { ", different numbers, dates or identifiers" } else { "" };
            let _ = writeln!(text, "{:.0} % of the words{title}{other}", pair.words * 100.0);
            for (note, only) in [(&pair.older, &pair.only_older), (&pair.newer, &pair.only_newer)] {
                let only = if only.is_empty() {
                    String::new()
                } else {
                    format!("\n      only here: {}", only.join(" "))
                };
                let _ = writeln!(text, "  {}  {}{only}", note.key, one_line(&note.title));
            }
        }
        if output.pairs.is_empty() {
            text.push_str("no pairs\n");
        }
        text.push_str(&left_out(output.pairs.len(), output.left_out, "more pair", LIMIT));
        if output.with_different_identifiers > 0 {
            let count = plural(output.with_different_identifiers as u64, "more pair");
            let _ = writeln!(text, "{count} with different numbers, dates or identifiers: `--all` shows all");
        }
        text
    }
}

fn described(ctx: &Ctx<'_>, view: &View, pair: NearDuplicatePair) -> Result<NearDuplicateRow> {
    let note = |id: NodeId| {
        let ix = view.find(id).ok_or_else(missing_note)?;
        NoteRow::new(view, ix, ctx.memory.store.node(id)?.as_ref(), None, None)
    };
    Ok(NearDuplicateRow {
        older: note(pair.older)?,
        newer: note(pair.newer)?,
        words: pair.words,
        same_title: pair.same_title,
        different_identifiers: pair.different_identifiers,
        only_older: pair.only_older,
        only_newer: pair.only_newer,
    })
}
