//! `retrieve`

use super::argument::{self, TextArgument};
use super::hit::{DerivedNote, NoteRow, missing_note};
use super::request::FormerText;
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::{one_line, reason_line};
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, NodeId, View};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::{passages, rerank};
use poc_rank::decay::weight_at;
use poc_search::retrieve::RetrievalHit;
use poc_store::Records as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Find notes by meaning and by words, best first, including notes that the best ones mention or are linked
/// to. Each hit shows which lists ranked it and what each signal adds to its score.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retrieve {
    /// Words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// How many notes, at most 256 [default: 8]
    #[arg(long = "limit", short = 'n', alias = "top-k", short_alias = 'k', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    top_k: Option<usize>,
    /// Explain each hit: the share of each signal, the note that led to it, and its nearest passage
    #[arg(long)]
    #[serde(default)]
    explain: bool,
    /// Also list derived notes (facts, digests); by default their sources are listed in their place
    #[arg(long)]
    #[serde(default)]
    derived: bool,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The notes found, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RetrieveOutput {
    results: Vec<RetrieveRow>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// A hit of `retrieve`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RetrieveRow {
    #[serde(flatten)]
    note: NoteRow,
    /// The sum of the shares; higher is better. With rank fusion at most the sum of the weights / 61.
    score: f64,
    /// Probability that it answers the question, 0 to 1, if a cross-encoder judged it (`[rerank]`). Judged notes
    /// come first, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    likelihood: Option<f64>,
    /// Weight of the note, decayed to now: 0.01 to 100 with the default settings.
    weight: f64,
    /// Its rank, from 1, in each list that contains it: `meaning`, `words`; with rank fusion `meaning`,
    /// `title`, `text`.
    ranks: BTreeMap<String, usize>,
    /// The contribution of each signal to the score, without zeros: the lists, and `named`, `identifier`,
    /// `mention`, `shared`, `order`, `window`, `derived`, `link`, `alike`, `key`.
    shares: BTreeMap<String, f64>,
    /// The note that its `mention` or `shared` comes from, if an explanation is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    led_by: Option<LeadingNote>,
    /// The note derived from this one (a fact, a digest) that contributes most to its score, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derived: Option<DerivedNote>,
    /// The note whose link to or from this one contributes most to its score, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linked: Option<LinkedNote>,
    /// The passage nearest in meaning, if an explanation is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestPassage>,
}

/// A note that led to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LeadingNote {
    key: String,
    /// The names that both contain, in lower case without accents, the rarest first; empty if one mentions
    /// the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

/// A note that is linked with a hit and led to it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LinkedNote {
    key: String,
    title: String,
    /// The reason of the link, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

/// The nearest passage of a note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NearestPassage {
    /// Number of the passage: 0 is the title, 1 the first passage of the text.
    #[serde(rename = "part")]
    number: u16,
    /// Cosine of its vector with the question's, −1 to 1.
    cosine: f64,
    /// Its text.
    text: String,
}

impl Op for Retrieve {
    const NAME: &'static str = "retrieve";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/search");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::word("query"));
    type Output = RetrieveOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RetrieveOutput> {
        let text = self.text.question(&ctx.memory.config.search)?;
        let setting = ("retrieve.top-k", ctx.memory.config.retrieve.top_k);
        let wanted = argument::count("top_k", self.top_k, setting)?;
        let view = ctx.memory.store.view();
        let retriever = ctx.memory.retriever(&view).listing_derived(self.derived);
        let visibility = ctx.visibility(self.quarantined);
        let hits = rerank::find(ctx.memory, retriever, text, wanted, visibility)?.hits;
        let status = answer_status::of(ctx.memory, &view);
        Ok(RetrieveOutput {
            results: rows(ctx, &view, hits, text, self.explain)?,
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn lists_nothing(output: &RetrieveOutput) -> bool {
        output.results.is_empty()
    }

    fn show(output: &RetrieveOutput, terminal: &Terminal) -> StyledText {
        let mut text = StyledText::default();
        match output.results.as_slice() {
            [] => text.push("nothing found\n"),
            found => push_lines(&mut text, terminal, found),
        }
        text
    }
}

/// The rows of hits, with the fields of their notes. `text` is the question.
pub(super) fn rows(
    ctx: &Ctx<'_>,
    view: &View,
    hits: Vec<RetrievalHit>,
    text: &str,
    explain: bool,
) -> Result<Vec<RetrieveRow>> {
    let (config, now) = (&ctx.memory.config.weight, ctx.memory.now());
    let retriever = ctx.memory.retriever(view);
    let leading_note = |hit: &RetrievalHit| {
        let from = hit.led_by.filter(|_| explain)?;
        let key = view.key(view.find(from)?).to_owned();
        let by_name = hit.shares.iter().any(|(signal, _)| *signal == "shared");
        let names = if by_name { retriever.names_in_common(hit.id, from, text) } else { Vec::new() };
        // The notes may have changed since the view was taken and have no common names any more.
        (!by_name || !names.is_empty()).then_some(LeadingNote { key, names })
    };
    let note = |id: NodeId| ctx.memory.store.node(id);
    let linked = |hit: NodeId, from: NodeId| -> Result<Option<LinkedNote>> {
        let Some(node) = note(from)? else { return Ok(None) };
        let link = |src, dst| ctx.memory.store.edge(src, EdgeKind::Link, dst);
        let reason = link(from, hit)?.or(link(hit, from)?).map(|edge| edge.reason).unwrap_or_default();
        Ok(Some(LinkedNote { key: node.key, title: node.title, reason }))
    };
    let row = |hit: RetrievalHit| {
        let ix = view.find(hit.id).ok_or_else(missing_note)?;
        let node = note(hit.id)?;
        let near = hit
            .near
            .zip(node.as_ref())
            .map(|(near, node)| (near, passages::text(node, near.passage, &ctx.memory.config.vectors)));
        // Passage 0 is the title, which every hit shows.
        // A note that was changed after the ranking may lack the passage; then the whole text is searched.
        let passage = near.filter(|(near, _)| near.passage > 0).and_then(|(_, text)| text);
        Ok(RetrieveRow {
            note: NoteRow::new(view, ix, node.as_ref(), passage, Some(text))?,
            led_by: leading_note(&hit),
            derived: hit.derived.map(note).transpose()?.flatten().map(DerivedNote::from),
            linked: hit.linked_from.map(|from| linked(hit.id, from)).transpose()?.flatten(),
            nearest: near.filter(|_| explain).map(|(near, text)| NearestPassage {
                number: near.passage,
                cosine: near.cosine,
                text: text.unwrap_or_default().to_owned(),
            }),
            score: hit.score,
            likelihood: hit.likelihood,
            weight: weight_at(view, ix, config, now),
            ranks: hit.ranks.into_iter().map(|(list, rank)| (list.to_owned(), rank)).collect(),
            shares: hit.shares.into_iter().map(|(signal, share)| (signal.to_owned(), share)).collect(),
        })
    };
    hits.into_iter().map(row).collect()
}

/// Adds hits as text for a person. Titles are cut so that the rows fit the terminal.
pub(super) fn push_lines(text: &mut StyledText, terminal: &Terminal, found: &[RetrieveRow]) {
    // Scores of rank fusion are small and close together.
    let digits = if found.iter().all(|hit| hit.score < 0.1) { 4 } else { 3 };
    let score = |hit: &RetrieveRow| format!("{:>7.digits$}", hit.score);
    let ranks = |hit: &RetrieveRow| {
        let likelihood = hit.likelihood.map(|likelihood| format!("likelihood {likelihood:.3}"));
        let ranks = hit.ranks.iter().map(|(list, rank)| format!("{list} {rank}"));
        likelihood.into_iter().chain(ranks).collect::<Vec<_>>().join(", ")
    };
    let row =
        |hit: &RetrieveRow| vec![score(hit), hit.note.key.clone(), one_line(&hit.note.title), ranks(hit)];
    let mut rows: Vec<Vec<String>> = found.iter().map(row).collect();
    terminal.cut_titles(&mut rows, 2);
    // A hit may lack a nearest passage.
    let is_explained = found.iter().any(|hit| hit.nearest.is_some());
    let columns = [Emphasis::Faint, Emphasis::Name, Emphasis::None, Emphasis::Faint];
    text.push_table(terminal, &columns, &rows, |row| {
        let hit = found.get(row)?;
        let mut lines = match is_explained {
            true => explanation(hit, digits),
            false => hit.note.detail(terminal),
        };
        lines.extend(hit.derived.as_ref().map(DerivedNote::line));
        Some((Emphasis::Faint, lines))
    });
}

/// Maximum number of characters of a passage in the text for a person.
const SHOWN_CHARS: usize = 160;

/// Why a hit was found, as lines below it. Scores have `digits` decimal places.
fn explanation(hit: &RetrieveRow, digits: usize) -> String {
    let shares: Vec<String> =
        hit.shares.iter().map(|(signal, share)| format!("{signal} {share:+.digits$}")).collect();
    let mut shares = format!("         {}\n", shares.join("  "));
    if let Some(LeadingNote { key, names }) = &hit.led_by {
        shares.push_str(&match names.as_slice() {
            [] => format!("         linked by a mention to {key}\n"),
            names => format!("         in common with {key}: {}\n", names.join(", ")),
        });
    }
    if let Some(LinkedNote { key, title, reason }) = &hit.linked {
        let reason = if reason.is_empty() { String::new() } else { format!(" ({})", reason_line(reason)) };
        let _ = writeln!(shares, "         linked with {key}: {title}{reason}");
    }
    let Some(nearest) = &hit.nearest else { return shares };
    let place = match nearest.number {
        0 => "title".to_owned(),
        number => format!("passage {number}"),
    };
    let mut shown: String = nearest.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = shown.char_indices().nth(SHOWN_CHARS) {
        shown.truncate(end);
        shown.push('…');
    }
    format!("{shares}         {place}, cosine {:.3}: {shown}\n", nearest.cosine)
}
