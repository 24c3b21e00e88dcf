//! `geodesic,max_path=6,k=20`: the nodes on the most direct walks between the nodes of the input
//! (`poc_rank::geodesic`).

use super::definition::{Hints, StageDef, StageImplementation};
use super::seeds::{best, embedded};
use super::spectral::K;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use crate::query::set::ScoredNode;
use crate::query::top::best_first;
use poc_graph::Ix;
use poc_rank::geodesic::walks;

/// The maximum number of nodes to walk between. It limits the number of walks to 32 · 31 = 992.
const MAX_ENDS: usize = 32;

pub(super) const STAGE: StageDef = StageDef {
    word: "geodesic",
    params: &[
        Param {
            name: "max_path",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 64),
            presence: Presence::Default("6"),
            doc: "the maximum number of edges of a walk",
        },
        K,
    ],
    doc: "Notes on the most direct walks between the notes of the set; score = share of the walks that \
           visit the note",
    more: "For every two notes of the set a walk goes from one to the other, in both directions. Each hop \
           leads to the neighbour, not yet visited, that lies most nearly in the direction of the target: \
           the one with the greatest cosine of (neighbour − here) and (target − here) in the spectral \
           embedding (see `spectral`), ties by id. A target that is a neighbour is always the next hop. A \
           walk ends after `max_path` hops, and only walks that arrive count. A note, including the ends, \
           scores the share of these walks that visit it. If the set has more than 32 notes, the 32 with \
           the best scores are the ends of the walks; otherwise scores do not matter. This is greedy routing \
           by direction: Kranakis, Singh and Urrutia 1999, \"Compass routing on geometric networks\".\n\n\
           Worked example: on the path a — b — c — d, with e linked to b, the walk from a to d leads over b \
           and c. In a tree every edge is at right angles to all others, so seen from b the edge to c has a \
           cosine of √½ with the direction of d, and the edge to e one of 0.",
    example: Example { pipeline: "match:\"wal crash-notes\" | geodesic", output: &["wal", "crash-notes"] },
    describe: |call| {
        let (max, k) = (call.count("max_path").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!(
            "walks between every pair of notes in the set, over at most {max} edges; the {k} notes on the \
             most walks"
        )
    },
    implementation: StageImplementation::Algorithm(|call, ctx, items, _| {
        let (view, embedding) = (ctx.sources.view, ctx.embedding());
        let embedded = embedded(ctx, &embedding, items);
        let ends: Vec<Ix> = best(ctx, &embedded, MAX_ENDS).into_iter().map(|(ix, _)| ix).collect();
        let is_live = visible_at(view, ctx.sources.visibility());
        let walks = walks(view, &embedding, &ends, call.count("max_path")?, is_live);
        ctx.remark(format!("{} of {} walks arrive", walks.arrived, walks.tried));
        let share = |count: usize| count as f64 / walks.arrived as f64;
        let mut on: Vec<ScoredNode> =
            walks.on.iter().map(|&(ix, count)| ScoredNode { ix, score: share(count) }).collect();
        best_first(view, &mut on);
        on.truncate(call.count("k")?);
        Ok(on)
    }),
    hints: Hints::NONE,
};
