//! `retrieve`

use super::argument::{self, Words};
use super::text::degraded;
use super::{Access, Ctx, Op, Route};
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, View};
use poc_notes::freshness::{self, AsOf};
use poc_notes::{parts, rerank};
use poc_rank::decay::weight_at;
use poc_search::retrieve::Hit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Find notes by meaning and by words together, best first, with what they mention and what stands beside
/// them. Each hit says which lists named it and what each signal adds to its score.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retrieve {
    /// Words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    query: Words,
    /// How many notes, at most 256 [default: 25]
    #[arg(long, short = 'k', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    top_k: Option<usize>,
    /// Show each signal's share of the scores, the note that led to each, and the passage that is nearest
    #[arg(long)]
    #[serde(default)]
    explain: bool,
    /// Also notes that are quarantined, which nobody has vouched for: a model sees them only with this,
    /// a person always
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// What was found, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    results: Vec<Found>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

/// A note that was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Found {
    id: NodeId,
    key: String,
    title: String,
    #[serde(rename = "type")]
    node_type: String,
    /// The sum of the shares: any number, the better the greater; fused by ranks, at most the weights' sum
    /// / 61.
    score: f64,
    /// How likely it answers the question, 0–1, where a cross-encoder has judged it (`[rerank]`): those it has
    /// judged come first, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    likelihood: Option<f64>,
    /// As decayed to now.
    weight: f64,
    /// Its rank, from 1, in each of the lists that named it: `meaning`, `words`; fused by ranks `meaning`,
    /// `title`, `text`.
    ranks: BTreeMap<String, usize>,
    /// What each signal adds to the score, where it adds anything: the lists, and `named`, `identifier`, `mention`,
    /// `shared`, `order`, `alike`, `key`.
    shares: BTreeMap<String, f64>,
    /// The note that its `mention` or `shared` comes from, when an explanation is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    led_by: Option<Lead>,
    /// The passage that is nearest in meaning, when an explanation is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nearest: Option<Nearest>,
}

/// A note that leads to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Lead {
    key: String,
    /// The names that both have, without capitals and accents, the rarest first; none where one of the two
    /// mentions the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

/// The passage of a note that is nearest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Nearest {
    /// 0 is the title, passages of the text follow.
    part: u16,
    /// Cosine of its vector with the question's, −1 to 1.
    cosine: f64,
    /// What it says.
    text: String,
}

impl Op for Retrieve {
    const NAME: &'static str = "retrieve";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/search");
    const TOOL: Option<&'static str> = Some("graft_retrieve");
    type Output = Answer;

    fn run(self, ctx: &Ctx<'_>) -> Result<Answer> {
        let text = self.query.filled("query")?;
        let setting = ("retrieve.top-k", ctx.memory.config.retrieve.top_k);
        let wanted = argument::count("top_k", self.top_k, setting)?;
        let view = ctx.memory.store.view();
        let hits = rerank::find(ctx.memory, &view, text, wanted, ctx.sight(self.quarantined), &[])?.hits;
        let freshness = freshness::of(ctx.memory, &view);
        Ok(Answer {
            results: found(ctx, &view, hits, self.explain.then_some(text))?,
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Answer) -> String {
        let text =
            if output.results.is_empty() { "nothing found\n".to_owned() } else { lines(&output.results) };
        text + &degraded(&output.degraded)
    }
}

/// Hits with what is known about their notes; explained when it is said what was asked.
pub(super) fn found(ctx: &Ctx<'_>, view: &View, hits: Vec<Hit>, explain: Option<&str>) -> Result<Vec<Found>> {
    let (config, now) = (&ctx.memory.config.weight, ctx.memory.now());
    let retriever = ctx.memory.retriever(view);
    let lead = |hit: &Hit| {
        let (text, from) = (explain?, hit.led_by?);
        let key = view.key(view.find(from)?).to_owned();
        let by_name = hit.shares.iter().any(|(signal, _)| *signal == "shared");
        let names = if by_name { retriever.names_in_common(hit.id, from, text) } else { Vec::new() };
        // Changed since the view was taken: they have none in common any more.
        (!by_name || !names.is_empty()).then_some(Lead { key, names })
    };
    let of = |hit: Hit| {
        let ix = view.find(hit.id).ok_or_else(|| Error::internal("a note was found that is not there"))?;
        let node = ctx.memory.store.node(hit.id)?;
        let near = hit.near.filter(|_| explain.is_some()).zip(node.as_ref());
        Ok(Found {
            id: hit.id,
            key: view.key(ix).to_owned(),
            led_by: lead(&hit),
            nearest: near.map(|(near, node)| Nearest {
                part: near.part,
                cosine: near.cosine,
                text: parts::text(node, near.part, &ctx.memory.config.vectors).unwrap_or_default().to_owned(),
            }),
            // Deleted since the view was taken: it was there as of the view, but its title is gone.
            title: node.map(|node| node.title).unwrap_or_default(),
            node_type: view.type_name(ix).to_owned(),
            score: hit.score,
            likelihood: hit.likelihood,
            weight: weight_at(view, ix, config, now),
            ranks: hit.ranks.into_iter().map(|(list, rank)| (list.to_owned(), rank)).collect(),
            shares: hit.shares.into_iter().map(|(signal, share)| (signal.to_owned(), share)).collect(),
        })
    };
    hits.into_iter().map(of).collect()
}

/// Hits for a person.
pub(super) fn lines(found: &[Found]) -> String {
    // Fused ranks are small and close together.
    let digits = if found.iter().all(|hit| hit.score < 0.1) { 4 } else { 3 };
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|hit| {
            let likelihood = hit.likelihood.map(|likelihood| format!("likelihood {likelihood:.3}"));
            let ranks = hit.ranks.iter().map(|(list, rank)| format!("{list} {rank}"));
            let ranks: Vec<String> = likelihood.into_iter().chain(ranks).collect();
            vec![format!("{:>7.digits$}", hit.score), hit.key.clone(), hit.title.clone(), ranks.join(", ")]
        })
        .collect();
    let table = super::text::table(&rows);
    let mut text = String::new();
    // One may have no passage that is near.
    let is_explained = found.iter().any(|hit| hit.nearest.is_some());
    for (line, hit) in table.lines().zip(found) {
        text.push_str(line);
        text.push('\n');
        if is_explained {
            text.push_str(&explained(hit, digits));
        }
    }
    text
}

/// Characters of a passage that are shown to a person.
const SHOWN: usize = 160;

fn explained(hit: &Found, digits: usize) -> String {
    let shares: Vec<String> =
        hit.shares.iter().map(|(signal, share)| format!("{signal} {share:+.digits$}")).collect();
    let mut shares = format!("         {}\n", shares.join("  "));
    if let Some(Lead { key, names }) = &hit.led_by {
        shares.push_str(&match names.as_slice() {
            [] => format!("         tied by a mention to {key}\n"),
            names => format!("         in common with {key}: {}\n", names.join(", ")),
        });
    }
    let Some(nearest) = &hit.nearest else { return shares };
    let place = match nearest.part {
        0 => "title".to_owned(),
        part => format!("passage {part}"),
    };
    let mut shown: String = nearest.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = shown.char_indices().nth(SHOWN) {
        shown.truncate(end);
        shown.push('…');
    }
    format!("{shares}         {place}, cosine {:.3}: {shown}\n", nearest.cosine)
}
