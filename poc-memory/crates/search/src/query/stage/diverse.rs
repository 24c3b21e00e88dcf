//! `diverse,lambda=0.7,pool=1000`: maximal marginal relevance over the set (`poc_rank::mmr`).

use super::definition::{Cost, Hints, StageDef, StageImplementation};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::set::ScoredNode;
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_rank::mmr::{mmr, relevance};

pub(super) const STAGE: StageDef = StageDef {
    word: "diverse",
    params: &[
        Param {
            name: "lambda",
            position: ParamPosition::Named,
            value_type: ParamType::Number(0.0, 1.0),
            presence: Presence::Default("0.7"),
            doc: "the weight of the score; the rest is the weight of dissimilarity",
        },
        Param {
            name: "pool",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 10_000),
            presence: Presence::Default("1000"),
            doc: "how many of the best notes by score are candidates; the others follow by score",
        },
    ],
    doc: "Orders by score and by dissimilarity to the notes before (MMR); followed by `limit:N`, only N notes \
           are selected",
    more: "The next note is always the one with the greatest `λ · relevance − (1 − λ) · greatest similarity \
           to those before it`: maximal marginal relevance (Carbonell and Goldstein 1998, SIGIR). Relevance \
           is the score, scaled to 0–1 within the set. Similarity is the cosine of the most similar passages \
           of the two notes (of their titles if they have no text), and 0 for a note without a vector. \
           Scores do not change. Equal choices are ordered by score, then by id, so `lambda=1` is the same \
           as `sort:score`.\n\n\
           Only the best `pool` notes by score are candidates; the others follow after them by score. The \
           cost is `pool · chosen` comparisons. If `limit:N` follows, only N notes are selected.",
    example: Example {
        pipeline: "similar:\"slow query with a missing index\",k=3 | diverse,lambda=0.3",
        output: &["session#1", "day#2026-11-21", "session#2"],
    },
    describe: |call| {
        let lambda = call.number("lambda").unwrap_or_default();
        format!("orders by score and by dissimilarity to the notes before, {lambda} for the score")
    },
    implementation: StageImplementation::Order(|call, ctx, items, wanted| {
        diverse(call.number("lambda")?, call.count("pool")?, ctx, items, wanted)
    }),
    hints: Hints { cost: Cost::Derived, ..Hints::NONE },
};

fn diverse(
    lambda: f64,
    pool: usize,
    ctx: &QueryContext<'_>,
    items: &mut Vec<ScoredNode>,
    wanted: usize,
) -> Result<()> {
    let (view, vectors) = (ctx.sources.view, ctx.sources.indexes.vectors()?);
    best_first(view, items);
    let relevance = relevance(items.iter().map(|item| item.score));
    let behind = items.split_off(pool.min(items.len()));
    if !behind.is_empty() {
        ctx.remark(format!("chose from the {pool} best scores"));
    }
    let id = |at: usize| items.get(at).and_then(|item| view.id(item.ix));
    let alike = |a, b| {
        let alike = id(a).zip(id(b)).and_then(|(a, b)| vectors.similarity(a, b));
        alike.unwrap_or(0.0)
    };
    let open = relevance.get(..items.len()).unwrap_or(&relevance);
    let chosen = mmr(open, lambda, alike).take(wanted).filter_map(|at| items.get(at).copied());
    let chosen: Vec<ScoredNode> = chosen.collect();
    *items = chosen.into_iter().chain(behind).take(wanted).collect();
    Ok(())
}
