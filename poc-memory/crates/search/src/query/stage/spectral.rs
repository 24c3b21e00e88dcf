//! `spectral,k=20`: the nodes nearest to the input in the spectral embedding (`poc_rank::spectral`).

use super::definition::{Hints, StageDef, StageImplementation};
use super::seeds::{best, embedded, others};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::set::ScoredNode;
use poc_graph::plural;
use poc_rank::spectral::nearest;

/// The maximum number of seeds. Each seed is compared with all nodes of its component.
const MAX_SEEDS: usize = 100;

/// The number of nodes to return.
pub(super) const K: Param = Param {
    name: "k",
    position: ParamPosition::Named,
    value_type: ParamType::Count(1, 10_000),
    presence: Presence::Default("20"),
    doc: "the number of notes to return",
};

pub(super) const STAGE: StageDef = StageDef {
    word: "spectral",
    params: &[K],
    doc: "The notes nearest to the set in the spectral embedding, excluding the set itself; score = 1 / (1 + distance)",
    more: "The embedding gives every note with edges a position such that the distance of two notes is the \
           square root of their commute time: notes joined by many and strong paths are near to each other \
           (Qiu and Hancock 2007, \"Clustering and embedding using commute times\", IEEE PAMI 29; it uses \
           the eigenvectors of the normalized Laplacian except that of the zero eigenvalue). Components of \
           up to 64 notes are embedded exactly, larger ones in the number of dimensions set in \
           `[structure]`.\n\n\
           For a note of the set with score s, distances are multiplied by s_max / s, where s_max is the \
           best score of the set, and the distance to a note it is linked to with strength t is also \
           multiplied by 1 / t. The distance of a note is the smallest of its distances from the notes of \
           the set. Only notes in the components of the set are returned, and all of them are compared \
           exactly. Notes of the set without edges or with a score of 0 or less are ignored; of more than \
           100, only the best are used.\n\n\
           Worked example: on the path a — b — c with edges of strength 1 and 0.5, the sum of all strengths \
           over all notes is 3, and the resistances are 1 (a to b), 2 (b to c) and 3 (a to c). So from b the \
           distance to a is √(3·1), and the distance to c is √(3·2) / 0.5.",
    example: Example { pipeline: "match:wal | spectral", output: &["b-tree", "crash-notes"] },
    describe: |call| {
        let k = call.count("k").unwrap_or_default();
        format!("the {} nearest to the set in the spectral embedding", plural(k as u64, "note"))
    },
    implementation: StageImplementation::Algorithm(|call, ctx, items, _| {
        let embedding = ctx.embedding();
        let embedded = embedded(ctx, &embedding, items);
        let seeds = best(ctx, &embedded, MAX_SEEDS);
        let near = nearest(ctx.sources.view, &embedding, &seeds, call.count("k")?, others(ctx, items));
        Ok(near.into_iter().map(|(ix, distance)| ScoredNode { ix, score: 1.0 / (1.0 + distance) }).collect())
    }),
    hints: Hints::NONE,
};
