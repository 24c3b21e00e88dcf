//! `spread,max_hops=3,edge_decay=0.3,min_activation=0.005`: spreading activation from the input
//! (`poc_rank::activation`).

use super::definition::{Hints, StageDef, StageImplementation};
use super::seeds::positive;
use crate::query::arguments::Arguments;
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::field::weights;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use crate::query::set::ScoredNode;
use crate::query::top::best_to_front;
use poc_graph::error::Result;
use poc_graph::{Ix, plural};
use poc_rank::activation::{SpreadOptions, spread};

/// The maximum number of hops.
pub(super) const MAX_HOPS: Param = Param {
    name: "max_hops",
    position: ParamPosition::Named,
    value_type: ParamType::Count(1, 16),
    presence: Presence::Default("3"),
    doc: "the number of edges that activation is passed along",
};

/// The share of activation that an edge of strength 1 passes on, 0 to 1.
pub(super) const EDGE_DECAY: Param = Param {
    name: "edge_decay",
    position: ParamPosition::Named,
    value_type: ParamType::Number(0.0, 1.0),
    presence: Presence::Default("0.3"),
    doc: "the share of the activation that an edge of strength 1 passes on",
};

/// The activation below which the spread stops.
pub(super) const MIN_ACTIVATION: Param = Param {
    name: "min_activation",
    position: ParamPosition::Named,
    value_type: ParamType::Number(0.0, 1.0),
    presence: Presence::Default("0.005"),
    doc: "the minimum activation; smaller amounts are dropped",
};

pub(super) const STAGE: StageDef = StageDef {
    word: "spread",
    params: &[MAX_HOPS, EDGE_DECAY, MIN_ACTIVATION],
    doc: "Notes around the set by spreading activation along edges, times their weight",
    more: "All notes of the set emit their score at once. In each hop, the activation that arrives at a note \
           is summed. A sum under `min_activation` is dropped; any other sum counts and is passed on along \
           every edge, multiplied by `edge_decay · strength`. A note scores `weight · Σ of what arrived in \
           all hops`; notes of the set also count what they emitted. The weight does not affect the \
           spreading itself. Notes of the set that are not live or score 0 or less emit nothing. The model \
           follows Collins and Loftus (1975), and the summation of sources follows Anderson (1983). \
           Activation is not normalized: after `hybrid`, whose scores may be small, use a smaller \
           `min_activation`.\n\n\
           Worked example: the edges are a — b with strength 1 and b — c with 0.5, `edge_decay=0.5`, \
           starting from a with score 1. First hop: b gets 0.5. Second hop: a gets 0.25 back, c gets 0.125. \
           Third hop: b gets 0.125 + 0.03125. In total a has 1.25, b 0.65625 and c 0.125.",
    example: Example { pipeline: "match:b-tree | spread", output: &["b-tree", "wal", "crash-notes"] },
    describe: |call| {
        let hops = call.count("max_hops").unwrap_or_default();
        let share = call.number("edge_decay").unwrap_or_default();
        let hops = plural(hops as u64, "hop");
        format!("spreads activation from the set over {hops}, a share of {share} along each edge")
    },
    implementation: StageImplementation::Algorithm(|call, ctx, items, wanted| {
        let (view, rules) = (ctx.sources.view, rules(call)?);
        let sources: Vec<(Ix, f64)> =
            positive(ctx, items).into_iter().map(|item| (item.ix, item.score)).collect();
        let reached = spread(view, &sources, rules, visible_at(view, ctx.sources.visibility()));
        Ok(times_weight(ctx, reached, wanted))
    }),
    hints: Hints::NONE,
};

/// Reads the parameters of spreading activation.
pub(super) fn rules(call: &Arguments) -> Result<SpreadOptions> {
    Ok(SpreadOptions {
        max_hops: call.count(MAX_HOPS.name)?,
        edge_decay: call.number(EDGE_DECAY.name)?,
        min_activation: call.number(MIN_ACTIVATION.name)?,
    })
}

/// Converts activations to scores by multiplying each with the weight of its node. The first `wanted` items are the
/// best, best first; the order of the others is unspecified.
pub(super) fn times_weight(
    ctx: &QueryContext<'_>,
    reached: Vec<(Ix, f64)>,
    wanted: usize,
) -> Vec<ScoredNode> {
    let mut weight = weights(ctx);
    let mut scored: Vec<ScoredNode> = reached
        .into_iter()
        .map(|(ix, activation)| ScoredNode { ix, score: activation })
        .map(|item| ScoredNode { score: item.score * weight(item), ..item })
        .collect();
    best_to_front(ctx.sources.view, &mut scored, wanted);
    scored
}
