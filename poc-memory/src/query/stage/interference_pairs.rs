//! `interference-pairs,min_sim=0.5`: nodes that are alike in text but live in different
//! communities, so that finding one hides the other.
//!
//! Each live node asks the vector index for its nearest nodes in other communities, by the vectors
//! of its text (of its title when it has no text: short titles are alike without meaning much).
//! Both members of a pair come out once; a node's score is that of its best pair. The pairs travel
//! with the set.

use super::{Example, StageDef, Work};
use crate::error::Result;
use crate::graph::{Ix, NodeId};
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::plan::Ctx;
use crate::query::scan::is_live_at;
use crate::query::top::best_first;
use crate::query::{Pair, ResultSet, Scored};
use rustc_hash::FxHashMap;

pub(super) const STAGE: StageDef = StageDef {
    word: "interference-pairs",
    params: &[
        Param {
            name: "min_sim",
            place: Place::Named,
            takes: Takes::Number(0.0, 1.0),
            absent: Absent::Default("0.5"),
            doc: "least cosine of a pair",
        },
        Param {
            name: "k",
            place: Place::Named,
            takes: Takes::Count(1, 100),
            absent: Absent::Default("10"),
            doc: "nearest nodes of other communities each node is compared with",
        },
    ],
    doc: "Nodes alike in text but in different communities, in pairs, score = cosine",
    example: Example { pipeline: "interference-pairs,min_sim=0.9", gives: &["session#1", "session#2"] },
    does: |call| {
        let least = call.number("min_sim").unwrap_or_default();
        format!("pairs of nodes alike by {least} or more in different communities")
    },
    work: Work::Generate(|call, ctx| pairs(call.number("min_sim")?, call.count("k")?, ctx)),
};

fn pairs(least: f64, k: usize, ctx: &Ctx<'_>) -> Result<ResultSet> {
    let (view, vectors) = (ctx.sources.view, ctx.sources.vectors);
    let communities = ctx.communities();
    let mut is_live = is_live_at(view, ctx.sources.now);
    // One look-up table: the index asks about a node every time it meets it.
    let mut members: FxHashMap<NodeId, (Ix, u32)> = FxHashMap::default();
    for ix in (0..view.slots()).filter(|&ix| is_live(ix)) {
        if let (Some(id), Some(community)) = (view.id(ix), communities.of(ix)) {
            members.insert(id, (ix, community));
        }
    }
    let mut found: FxHashMap<(Ix, Ix), f64> = FxHashMap::default();
    for (&id, &(ix, community)) in &members {
        let parts = vectors.of(id);
        let has_text = parts.iter().any(|(part, _)| *part > 0);
        for (_, vector) in parts.iter().filter(|(part, _)| !has_text || *part > 0) {
            let elsewhere = |id| members.get(&id).is_some_and(|&(_, other)| other != community);
            for hit in vectors.search(vector, k, &elsewhere)? {
                if let Some(&(other, _)) = members.get(&hit.id).filter(|_| hit.cosine >= least) {
                    let best = found.entry((ix.min(other), ix.max(other))).or_insert(hit.cosine);
                    *best = best.max(hit.cosine);
                }
            }
        }
    }
    let mut pairs: Vec<Pair> =
        found.into_iter().map(|((a, b), similarity)| Pair { a, b, similarity }).collect();
    pairs.sort_unstable_by(|x, y| {
        y.similarity.total_cmp(&x.similarity).then_with(|| (x.a, x.b).cmp(&(y.a, y.b)))
    });
    let mut scores: FxHashMap<Ix, f64> = FxHashMap::default();
    for pair in &pairs {
        for ix in [pair.a, pair.b] {
            let best = scores.entry(ix).or_insert(pair.similarity);
            *best = best.max(pair.similarity);
        }
    }
    let mut items: Vec<Scored> = scores.into_iter().map(|(ix, score)| Scored { ix, score }).collect();
    best_first(view, &mut items);
    Ok(ResultSet { items, pairs })
}
