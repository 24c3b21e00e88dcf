//! `geodesic,max_path=6,k=20`: the nodes on the straightest ways between those of the incoming set
//! (`rank::geodesic`).

use super::definition::{Hints, StageDef, Work};
use super::seeds::{best, placed};
use super::spectral::K;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::scan::visible_at;
use crate::query::set::ScoredNode;
use crate::query::top::best_first;
use poc_graph::Ix;
use poc_rank::geodesic::walks;

/// Nodes that are walked between, so that there are at most 992 walks.
const MOST_ENDS: usize = 32;

pub(super) const STAGE: StageDef = StageDef {
    word: "geodesic",
    params: &[
        Param {
            name: "max_path",
            position: ParamPosition::Named,
            value_type: ValueType::Count(1, 64),
            presence: Presence::Default("6"),
            doc: "ties a walk may take",
        },
        K,
    ],
    doc: "The nodes on the straightest ways between those of the set; score = share of the ways over it",
    more: "Between every two of the set, both ways, a walk goes from one to the other: at each hop to \
           the neighbour not yet visited in whose direction the target lies most nearly, the greatest \
           cosine of (neighbour − here) and (target − here) in the spectral embedding (see `spectral`), \
           ties by id. A target tied to where the walk is is the next hop. After `max_path` hops a walk \
           ends. Only walks that arrive count; a node, the ends included, scores the share of them that \
           lead over it. The score of the set decides only which 32 are walked between when there are \
           more. Greedy routing by direction: Kranakis, Singh and Urrutia 1999, \"Compass routing on \
           geometric networks\".\n\n\
           By hand: on the path a — b — c — d with e tied to b, the way from a to d leads over b and c: \
           in a tree every tie is at right angles to all others, so seen from b the tie to c makes a \
           cosine of √½ with the way to d and the tie to e one of 0.",
    example: Example { pipeline: "match:\"wal crash-notes\" | geodesic", output: &["wal", "crash-notes"] },
    describe: |call| {
        let (most, k) = (call.count("max_path").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!("walks between every two of the set in at most {most} ties; the {k} nodes on most walks")
    },
    work: Work::Algorithm(|call, ctx, items| {
        let (view, embedding) = (ctx.sources.view, ctx.embedding());
        let placed = placed(ctx, &embedding, items);
        let ends: Vec<Ix> = best(ctx, &placed, MOST_ENDS).into_iter().map(|(ix, _)| ix).collect();
        let is_live = visible_at(view, ctx.sources.visibility());
        let walks = walks(view, &embedding, &ends, call.count("max_path")?, is_live);
        ctx.note(format!("{} of {} walks arrive", walks.arrived, walks.tried));
        let share = |count: usize| count as f64 / walks.arrived as f64;
        let mut on: Vec<ScoredNode> =
            walks.on.iter().map(|&(ix, count)| ScoredNode { ix, score: share(count) }).collect();
        best_first(view, &mut on);
        on.truncate(call.count("k")?);
        Ok(on)
    }),
    hints: Hints::NONE,
};
