//! `manifold,k=20`: what lies further along the line the incoming set is on (`rank::manifold`).

use super::definition::{Hints, StageDef, Work};
use super::seeds::{others, placed};
use super::spectral::K;
use crate::query::example::Example;
use crate::query::set::ScoredNode;
use poc_graph::Ix;
use poc_rank::manifold::Line;

pub(super) const STAGE: StageDef = StageDef {
    word: "manifold",
    params: &[K],
    doc: "What lies further along the line the set is on, without the set; score = along the line − beside it",
    more: "The line goes through the centroid of the set's places in the spectral embedding (see \
           `spectral`), weighted by score, in the direction in which they vary most (the first \
           principal component: Pearson 1901, Jolliffe 2002), towards the first of the set: a `sort:` \
           in front turns it. A node scores its projection on the line, from the centroid, minus its \
           distance from the line: further along, not nearby. Only the component of the set with the \
           greatest sum of scores counts. Where the set varies equally in several directions, the one \
           towards its first is taken; where it has one place only, there is no direction and the \
           nearest nodes are best. Nodes of the set without ties or with a score of 0 or less play no \
           part.\n\n\
           By hand: on the path a — b — c — d with ties of 1 and the set c, b, the line is the tie \
           between them and each tie is √6 long at right angles to the others; d is ½√6 along and √6 \
           beside (−½√6), a is ½√6 back and √6 beside (−1½√6).",
    example: Example { pipeline: "match:\"b-tree wal\" | manifold", output: &["crash-notes"] },
    describe: |call| {
        let k = call.count("k").unwrap_or_default();
        format!("the {k} nodes furthest along the line through the set, towards its first")
    },
    work: Work::Algorithm(|call, ctx, items| {
        let embedding = ctx.embedding();
        let seeds: Vec<(Ix, f64)> =
            placed(ctx, &embedding, items).iter().map(|item| (item.ix, item.score)).collect();
        let Some(line) = Line::through(&embedding, &seeds) else { return Ok(Vec::new()) };
        let on_it = seeds.iter().filter(|(ix, _)| embedding.component(*ix) == Some(line.component)).count();
        if on_it < seeds.len() {
            ctx.note(format!("{on_it} of {} are in the component that weighs most", seeds.len()));
        }
        if !line.has_direction() {
            ctx.note("one place gives no direction: the nearest are best");
        }
        let further = line.further(ctx.sources.view, &embedding, call.count("k")?, others(ctx, items));
        Ok(further.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect())
    }),
    hints: Hints::NONE,
};
