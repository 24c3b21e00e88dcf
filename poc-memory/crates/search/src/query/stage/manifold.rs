//! `manifold,k=20`: the nodes further along the line through the input (`poc_rank::manifold`).

use super::definition::{Hints, StageDef, StageImplementation};
use super::seeds::{embedded, others};
use super::spectral::K;
use crate::query::example::Example;
use crate::query::set::ScoredNode;
use poc_graph::{Ix, plural};
use poc_rank::manifold::PrincipalAxis;

pub(super) const STAGE: StageDef = StageDef {
    word: "manifold",
    params: &[K],
    doc: "Notes further along the principal axis of the set, excluding the set itself; score = position along \
           the axis − distance from it",
    more: "The axis goes through the centroid of the positions of the set in the spectral embedding (see \
           `spectral`), weighted by score, in the direction of their greatest variance (the first principal \
           component: Pearson 1901, Jolliffe 2002). It points towards the first note of the set, so a \
           `sort:` before it can reverse it. A note scores its projection on the axis, measured from the \
           centroid, minus its distance from the axis: notes further along score higher, notes merely nearby \
           do not. Only the component of the graph with the greatest sum of scores is used. If the variance \
           is equal in several directions, the direction towards the first note is taken. If the set has \
           only one position, there is no direction, and the nearest notes score best. Notes of the set \
           without edges or with a score of 0 or less are ignored.\n\n\
           Worked example: on the path a — b — c — d with edges of strength 1 and the set c, b, the axis is \
           the edge between them, and each edge has length √6 and is at right angles to the others. Note d \
           is ½√6 along the axis and √6 from it (score −½√6); note a is ½√6 in the other direction and √6 \
           from it (score −1½√6).",
    example: Example { pipeline: "match:\"b-tree wal\" | manifold", output: &["crash-notes"] },
    describe: |call| {
        let k = call.count("k").unwrap_or_default();
        let notes = plural(k as u64, "note");
        format!("the {notes} furthest along the principal axis of the set, towards its first")
    },
    implementation: StageImplementation::Algorithm(|call, ctx, items, _| {
        let embedding = ctx.embedding();
        let seeds: Vec<(Ix, f64)> =
            embedded(ctx, &embedding, items).iter().map(|item| (item.ix, item.score)).collect();
        let Some(line) = PrincipalAxis::through(&embedding, &seeds) else { return Ok(Vec::new()) };
        let on_it = seeds.iter().filter(|(ix, _)| embedding.component(*ix) == Some(line.component)).count();
        if on_it < seeds.len() {
            ctx.remark(format!(
                "{on_it} of {} are in the component with the greatest sum of scores",
                seeds.len()
            ));
        }
        if !line.has_direction() {
            ctx.remark("the set has only one position, which gives no direction: the nearest notes are best");
        }
        let further = line.further(ctx.sources.view, &embedding, call.count("k")?, others(ctx, items));
        Ok(further.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect())
    }),
    hints: Hints::NONE,
};
