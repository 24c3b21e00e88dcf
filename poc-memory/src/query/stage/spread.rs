//! `spread,max_hops=3,edge_decay=0.3,min_activation=0.005`: spreading activation from the incoming
//! set, which emits its scores all at once.
//!
//! The formula is that of `rank::activation`. A node's weight does not gate the spread; it
//! multiplies the final activation once. The incoming nodes are part of the answer.

use super::{Example, StageDef, Work};
use crate::graph::Ix;
use crate::query::Scored;
use crate::query::field::weights;
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::scan::is_live_at;
use crate::query::top::best_first;
use crate::rank::activation::{Spread, spread};

pub(super) const STAGE: StageDef = StageDef {
    word: "spread",
    params: &[
        Param {
            name: "max_hops",
            place: Place::Named,
            takes: Takes::Count(1, 16),
            absent: Absent::Default("3"),
            doc: "how far activation goes",
        },
        Param {
            name: "edge_decay",
            place: Place::Named,
            takes: Takes::Number(0.0, 1.0),
            absent: Absent::Default("0.3"),
            doc: "share of the activation a tie of strength 1 passes on",
        },
        Param {
            name: "min_activation",
            place: Place::Named,
            takes: Takes::Number(0.0, 1.0),
            absent: Absent::Default("0.005"),
            doc: "least activation that arrives",
        },
    ],
    doc: "Nodes around the set by spreading activation along ties, times their weight",
    more: "",
    example: Example { pipeline: "match:b-tree | spread", gives: &["b-tree", "wal", "crash-notes"] },
    does: |call| {
        let hops = call.count("max_hops").unwrap_or_default();
        let share = call.number("edge_decay").unwrap_or_default();
        format!("spreads activation from the set over {hops} hops, a share of {share} along each tie")
    },
    work: Work::Algorithm(|call, ctx, items| {
        let rules = Spread {
            max_hops: call.count("max_hops")?,
            edge_decay: call.number("edge_decay")?,
            min_activation: call.number("min_activation")?,
        };
        let view = ctx.sources.view;
        let sources: Vec<(Ix, f64)> = items.iter().map(|item| (item.ix, item.score)).collect();
        let mut weight = weights(ctx);
        let mut reached: Vec<Scored> = spread(view, &sources, rules, is_live_at(view, ctx.sources.now))
            .into_iter()
            .map(|(ix, activation)| Scored { ix, score: activation })
            .map(|item| Scored { score: item.score * weight(item), ..item })
            .collect();
        best_first(view, &mut reached);
        Ok(reached)
    }),
};
