//! `interference-pairs`: nodes that are alike in text but live in different communities, and twins wherever they
//! live.

use super::definition::{Hints, StageDef, Work};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::scan::visible_at;
use crate::query::set::{Pair, ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId};
use poc_index::{VectorHit, VectorReader};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

pub(super) const STAGE: StageDef = StageDef {
    word: "interference-pairs",
    params: &[
        Param {
            name: "min_sim",
            position: ParamPosition::Named,
            value_type: ValueType::Number(0.0, 1.0),
            presence: Presence::Optional,
            doc: "least cosine of a pair; without it, `interference` of the embedder's `[cosines]`",
        },
        Param {
            name: "k",
            position: ParamPosition::Named,
            value_type: ValueType::Count(1, 100),
            presence: Presence::Default("10"),
            doc: "nodes each passage of a node is paired with at most",
        },
        Param {
            name: "probes",
            position: ParamPosition::Named,
            value_type: ValueType::Count(1, 1_000_000),
            presence: Presence::Default("5000"),
            doc: "nodes that are compared with all others, the last changed first",
        },
    ],
    doc: "Nodes alike in text but in different communities, and twins of one, in pairs, score = cosine",
    more: "Two notes that say nearly the same and live apart get in each other's way: finding one hides \
           the other. Each node asks the vector index for its nearest, by its passages (by its title \
           when it has no text: short titles are alike without meaning much); of the answers those in \
           other communities make pairs. Those of the same one do from `twin` of the embedder's \
           `[cosines]` on: notes that say the same are tied as they come in, and so live together. Both members come out, a node's score is that of its best \
           pair. The pairs travel with the set: a template prints them with `PAIRS` as long as both \
           members are in it.\n\n\
           Each passage names the `k` such nodes that are most like it, so of a crowd \
           of notes all alike not every pair is named. Up to `probes` nodes all ask. In a larger store \
           only those changed last do, so that the time grows with the store and not with its square; \
           an asked node finds its partners among all.",
    example: Example { pipeline: "interference-pairs,min_sim=0.9", output: &["session#1", "session#2"] },
    describe: |call| match call.optional_number("min_sim") {
        Some(least) => format!("pairs of nodes alike by {least} or more in different communities, and twins"),
        None => "pairs of nodes alike in different communities, and twins".to_owned(),
    },
    work: Work::Generate(|call, ctx| {
        let least = match call.optional_number("min_sim") {
            Some(least) => least,
            None => ctx.sources.config.cosines()?.interference,
        };
        pairs(least, call.count("k")?, call.count("probes")?, ctx)
    }),
    hints: Hints::NONE,
};

/// Nearest nodes asked for at first for each of another community that is wanted: those of the own
/// community are usually the nearer ones.
const NEIGHBORS_PER_PAIR: usize = 4;

fn pairs(least: f64, k: usize, probes: usize, ctx: &QueryContext<'_>) -> Result<ResultSet> {
    let (view, vectors) = (ctx.sources.view, ctx.sources.indexes.vectors()?);
    let twin = ctx.sources.config.cosines()?.twin.max(least);
    let communities = ctx.communities();
    let mut is_live = visible_at(view, ctx.sources.visibility());
    // One look-up table: the index asks about a node every time it meets it.
    let mut members: FxHashMap<NodeId, (Ix, u32)> = FxHashMap::default();
    for ix in (0..view.slots()).filter(|&ix| is_live(ix)) {
        if let (Some(id), Some(community)) = (view.id(ix), communities.of(ix)) {
            members.insert(id, (ix, community));
        }
    }
    let mut asking: Vec<(NodeId, Ix, u32)> =
        members.iter().map(|(&id, &(ix, community))| (id, ix, community)).collect();
    asking.sort_unstable_by_key(|&(id, ix, _)| (Reverse(view.modified(ix)), id));
    if asking.len() > probes {
        ctx.note(format!("compared the {probes} nodes changed last with all {}", asking.len()));
        asking.truncate(probes);
    }
    let mut found: FxHashMap<(Ix, Ix), f64> = FxHashMap::default();
    for (id, ix, community) in asking {
        let parts = vectors.of(id);
        let has_text = parts.iter().any(|(part, _)| *part > 0);
        for (_, vector) in parts.iter().filter(|(part, _)| !has_text || *part > 0) {
            let asker = Asker { id, community, vector, least, twin };
            for (other, cosine) in asker.partners(vectors, &members, k)? {
                let pair = if view.id(ix) < view.id(other) { (ix, other) } else { (other, ix) };
                let best = found.entry(pair).or_insert(cosine);
                *best = best.max(cosine);
            }
        }
    }
    let mut pairs: Vec<Pair> =
        found.into_iter().map(|((a, b), similarity)| Pair { a, b, similarity }).collect();
    pairs.sort_unstable_by(|x, y| {
        let ids = |pair: &Pair| (view.id(pair.a), view.id(pair.b));
        y.similarity.total_cmp(&x.similarity).then_with(|| ids(x).cmp(&ids(y)))
    });
    let mut scores: FxHashMap<Ix, f64> = FxHashMap::default();
    for pair in &pairs {
        for ix in [pair.a, pair.b] {
            let best = scores.entry(ix).or_insert(pair.similarity);
            *best = best.max(pair.similarity);
        }
    }
    let mut items: Vec<ScoredNode> = scores.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect();
    best_first(view, &mut items);
    Ok(ResultSet { items, pairs })
}

/// A passage that looks for partners of its node.
struct Asker<'a> {
    id: NodeId,
    community: u32,
    vector: &'a [f32],
    /// Least cosine of a partner in another community, and in the own one.
    least: f64,
    twin: f64,
}

impl Asker<'_> {
    /// The `k` nodes most like the passage that make a pair with its node.
    fn partners(
        &self,
        vectors: &dyn VectorReader,
        members: &FxHashMap<NodeId, (Ix, u32)>,
        k: usize,
    ) -> Result<Vec<(Ix, f64)>> {
        let other = |id: NodeId| members.get(&id).filter(|_| id != self.id);
        let elsewhere = |id: NodeId| other(id).filter(|(_, its)| *its != self.community).map(|(ix, _)| *ix);
        let partner = |hit: &VectorHit| {
            let (ix, its) = *other(hit.id)?;
            let least = if its == self.community { self.twin } else { self.least };
            (hit.cosine >= least).then_some((ix, hit.cosine))
        };
        let count = k * NEIGHBORS_PER_PAIR;
        let near = vectors.search(self.vector, count, &|id| members.contains_key(&id))?;
        let cut = near.len() == count && near.last().is_some_and(|last| last.cosine >= self.least);
        let mut found: Vec<(Ix, f64)> = near.iter().filter_map(partner).take(k).collect();
        // The own community took the places: ask past it, which is dearer.
        if cut && found.len() < k {
            let past = vectors.search(self.vector, k, &|id| elsewhere(id).is_some())?;
            for (ix, cosine) in past.iter().filter_map(partner) {
                if found.len() < k && found.iter().all(|(known, _)| *known != ix) {
                    found.push((ix, cosine));
                }
            }
        }
        Ok(found)
    }
}
