//! `spectral,k=20`: the nearest neighbours of the incoming set in the spectral embedding
//! (`rank::spectral`).

use super::definition::{Hints, StageDef, Work};
use super::seeds::{best, others, placed};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::set::ScoredNode;
use poc_rank::spectral::nearest;

/// Nodes whose neighbours are looked for: each is compared with all nodes of its component.
const MOST_SEEDS: usize = 100;

/// How many nodes come out.
pub(super) const K: Param = Param {
    name: "k",
    position: ParamPosition::Named,
    value_type: ValueType::Count(1, 10_000),
    presence: Presence::Default("20"),
    doc: "how many nodes",
};

pub(super) const STAGE: StageDef = StageDef {
    word: "spectral",
    params: &[K],
    doc: "The nodes nearest to the set in the spectral embedding, without the set; score = 1 / (1 + distance)",
    more: "The embedding gives every node with ties a place, such that the distance of two nodes is the \
           square root of their commute time: near are nodes that many and strong ties join (Qiu and \
           Hancock 2007, \"Clustering and embedding using commute times\", IEEE PAMI 29; eigenvectors \
           of the normalised Laplacian, the zero eigenvalue left out). Components of up to 64 nodes are \
           embedded exactly, larger ones in the dimensions of `[structure]`.\n\n\
           A node of the set with score s sees others at distance · s_max / s, where s_max is the best \
           score of the set; a node it is tied to with strength t at a further 1 / t of that. A node is \
           as far as the nearest of the set sees it. Only nodes of the set's components come out, \
           exactly compared. Nodes of the set without ties or with a score of 0 or less play no part; \
           of more than 100 the best do.\n\n\
           By hand: on the path a — b — c with ties of 1 and 0.5 the sum of all strengths by node is 3 \
           and the resistances are 1, 2 and (from a to c) 3, so from b the distance to a is √(3·1) and \
           to c √(3·2) / 0.5.",
    example: Example { pipeline: "match:wal | spectral", output: &["b-tree", "crash-notes"] },
    describe: |call| {
        let k = call.count("k").unwrap_or_default();
        format!("the {k} nodes nearest to the set by many and strong ties")
    },
    work: Work::Algorithm(|call, ctx, items| {
        let embedding = ctx.embedding();
        let placed = placed(ctx, &embedding, items);
        let seeds = best(ctx, &placed, MOST_SEEDS);
        let near = nearest(ctx.sources.view, &embedding, &seeds, call.count("k")?, others(ctx, items));
        Ok(near.into_iter().map(|(ix, distance)| ScoredNode { ix, score: 1.0 / (1.0 + distance) }).collect())
    }),
    hints: Hints::NONE,
};
