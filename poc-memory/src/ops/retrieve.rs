//! `retrieve`

use super::argument::{self, Words};
use super::text::degraded;
use super::{Access, Ctx, Op, Route};
use crate::error::{Error, Result};
use crate::graph::{NodeId, View};
use crate::memory::freshness::{self, AsOf};
use crate::rank::decay::weight_at;
use crate::retrieve::{Hit, LISTS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Find notes by meaning and by words together: nearest vectors, titles and texts, fused by their
/// ranks. Each hit says which lists named it.
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
    /// Fused: at most the weights' sum / 61.
    score: f64,
    /// As decayed to now.
    weight: f64,
    /// Its rank, from 1, in each of the lists that named it: `meaning`, `title`, `text`.
    ranks: BTreeMap<String, usize>,
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
        let hits =
            ctx.memory.retriever().find(text, wanted, &view.found_at(ctx.sight(self.quarantined)))?.hits;
        let freshness = freshness::of(ctx.memory, &view);
        Ok(Answer {
            results: found(ctx, &view, hits)?,
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

/// Hits with what is known about their notes.
pub(super) fn found(ctx: &Ctx<'_>, view: &View, hits: Vec<Hit>) -> Result<Vec<Found>> {
    let (config, now) = (&ctx.memory.config.weight, ctx.memory.now());
    let of = |hit: Hit| {
        let ix = view.find(hit.id).ok_or_else(|| Error::internal("a note was found that is not there"))?;
        let ranks = LISTS.iter().zip(hit.ranks);
        Ok(Found {
            id: hit.id,
            key: view.key(ix).to_owned(),
            // Deleted since the view was taken: it was there as of the view, but its title is gone.
            title: ctx.memory.store.node(hit.id)?.map(|node| node.title).unwrap_or_default(),
            node_type: view.type_name(ix).to_owned(),
            score: hit.score,
            weight: weight_at(view, ix, config, now),
            ranks: ranks.filter_map(|(list, rank)| Some(((*list).to_owned(), rank?))).collect(),
        })
    };
    hits.into_iter().map(of).collect()
}

/// Hits for a person.
pub(super) fn lines(found: &[Found]) -> String {
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|hit| {
            let ranks: Vec<String> = hit.ranks.iter().map(|(list, rank)| format!("{list} {rank}")).collect();
            vec![format!("{:>7.4}", hit.score), hit.key.clone(), hit.title.clone(), ranks.join(", ")]
        })
        .collect();
    super::text::table(&rows)
}
