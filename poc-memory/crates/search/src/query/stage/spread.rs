//! `spread,max_hops=3,edge_decay=0.3,min_activation=0.005`: spreading activation from the incoming set
//! (`rank::activation`).

use super::definition::{Hints, StageDef, Work};
use super::seeds::best;
use crate::query::arguments::Arguments;
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::field::weights;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::scan::visible_at;
use crate::query::set::ScoredNode;
use crate::query::top::best_first;
use poc_graph::Ix;
use poc_graph::error::Result;
use poc_rank::activation::{SpreadOptions, spread};

/// How far activation goes.
pub(super) const MAX_HOPS: Param = Param {
    name: "max_hops",
    position: ParamPosition::Named,
    value_type: ValueType::Count(1, 16),
    presence: Presence::Default("3"),
    doc: "how many ties activation goes along",
};

/// How much a tie passes on.
pub(super) const EDGE_DECAY: Param = Param {
    name: "edge_decay",
    position: ParamPosition::Named,
    value_type: ValueType::Number(0.0, 1.0),
    presence: Presence::Default("0.3"),
    doc: "share of the activation a tie of strength 1 passes on",
};

/// What is too little.
pub(super) const MIN_ACTIVATION: Param = Param {
    name: "min_activation",
    position: ParamPosition::Named,
    value_type: ValueType::Number(0.0, 1.0),
    presence: Presence::Default("0.005"),
    doc: "least activation that arrives; less is dropped",
};

pub(super) const STAGE: StageDef = StageDef {
    word: "spread",
    params: &[MAX_HOPS, EDGE_DECAY, MIN_ACTIVATION],
    doc: "Nodes around the set by spreading activation along ties, times their weight",
    more: "All nodes of the set emit their score at once. Per hop, what arrives at a node from all \
           sides is summed; a sum under `min_activation` is dropped, any other counts and goes on along \
           every tie, times `edge_decay · strength`. A node scores `weight · Σ of what arrived in all \
           hops`, the set what it emitted as well; the weight does not gate the spread. Nodes of the \
           set that are not live, or score 0 or less, emit nothing. Spreading \
           activation after Collins and Loftus (1975), the summing of sources after Anderson (1983). \
           Activation counts as it is: behind `hybrid`, whose scores are small, take a smaller \
           `min_activation`.\n\n\
           By hand: a — b of strength 1 and b — c of 0.5, `edge_decay=0.5`, from a with score 1. First \
           hop: b gets 0.5. Second: a gets 0.25 back, c gets 0.125. Third: b gets 0.125 + 0.03125. In \
           all a 1.25, b 0.65625, c 0.125.",
    example: Example { pipeline: "match:b-tree | spread", output: &["b-tree", "wal", "crash-notes"] },
    describe: |call| {
        let hops = call.count("max_hops").unwrap_or_default();
        let share = call.number("edge_decay").unwrap_or_default();
        format!("spreads activation from the set over {hops} hops, a share of {share} along each tie")
    },
    work: Work::Algorithm(|call, ctx, items| {
        let (view, rules) = (ctx.sources.view, rules(call)?);
        let sources = best(ctx, items, usize::MAX);
        Ok(weighed(ctx, spread(view, &sources, rules, visible_at(view, ctx.sources.visibility()))))
    }),
    hints: Hints::NONE,
};

/// What the parameters say.
pub(super) fn rules(call: &Arguments) -> Result<SpreadOptions> {
    Ok(SpreadOptions {
        max_hops: call.count(MAX_HOPS.name)?,
        edge_decay: call.number(EDGE_DECAY.name)?,
        min_activation: call.number(MIN_ACTIVATION.name)?,
    })
}

/// Activations as scores: each times the weight of its node, best first.
pub(super) fn weighed(ctx: &QueryContext<'_>, reached: Vec<(Ix, f64)>) -> Vec<ScoredNode> {
    let mut weight = weights(ctx);
    let mut scored: Vec<ScoredNode> = reached
        .into_iter()
        .map(|(ix, activation)| ScoredNode { ix, score: activation })
        .map(|item| ScoredNode { score: item.score * weight(item), ..item })
        .collect();
    best_first(ctx.sources.view, &mut scored);
    scored
}
