//! `interference-pairs`: pairs of nodes with similar texts in different communities, and near-duplicates
//! anywhere.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use crate::query::set::{InterferencePair, ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, NodeId, View, cancellation, plural};
use poc_index::{VectorHit, VectorReader};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

pub(super) const STAGE: StageDef = StageDef {
    word: "interference-pairs",
    params: &[
        Param {
            name: "min_sim",
            position: ParamPosition::Named,
            value_type: ParamType::Number(0.0, 1.0),
            presence: Presence::Optional,
            doc: "the minimum cosine of a pair; without it, `interference` of the embedder's `[cosines]`",
        },
        Param {
            name: "k",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 100),
            presence: Presence::Default("10"),
            doc: "the maximum number of partners for each passage of a note",
        },
        Param {
            name: "probes",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 1_000_000),
            presence: Presence::Default("5000"),
            doc: "the number of notes to compare with all others, the last changed first",
        },
    ],
    doc: "Pairs of notes with similar texts in different communities, and near-duplicates anywhere; score = \
           cosine",
    more: "Two notes that say nearly the same but belong to different communities interfere: finding one \
           hides the other. For each note, the vector index is searched for the nearest notes, by its \
           passages. The title is used only if the note has no text, because short titles are often similar \
           without being related. Results in other communities form pairs. Results in the same community \
           form a pair only from the cosine `twin` of the embedder's `[cosines]` on, because notes that say \
           the same are linked when they are stored and so end up in one community. Where such an automatic \
           edge (`semantic`, perhaps with `keyword`) is all that joins two notes, the lower cosine applies. A note \
           and the note that it was derived from form no pair, and neither do notes of different days, such as \
           `daily/2026-11-05`. \
           The set contains both members of each pair, and a note scores as much as its best pair. The pairs \
           stay with the set: a template prints them with `PAIRS` as long as both members are \
           in it. `not-visited:` keeps a pair with both members if one of them is not visited.\n\n\
           Each passage names the `k` notes most similar to it, so in a large group of similar notes not \
           every pair is named. Stores with up to `probes` notes are searched for every note. In a larger \
           store only the notes changed last are searched for, so that the time grows linearly with the \
           store; their partners are found among all notes.",
    example: Example { pipeline: "interference-pairs,min_sim=0.9", output: &["session#1", "session#2"] },
    describe: |call| match call.optional_number("min_sim") {
        Some(min) => format!(
            "pairs of notes with a similarity of {min} or more in different communities, and near-duplicates"
        ),
        None => "pairs of similar notes in different communities, and near-duplicates".to_owned(),
    },
    implementation: StageImplementation::Generate(|call, ctx| {
        let min = match call.optional_number("min_sim") {
            Some(min) => min,
            None => ctx.sources.config.cosines()?.interference,
        };
        pairs(min, call.count("k")?, call.count("probes")?, ctx)
    }),
    hints: Hints { finds_pairs: true, ..Hints::NONE },
};

/// The number of nearest nodes to search for each wanted partner in another community. Nodes of the same community are
/// usually nearer.
const NEIGHBORS_PER_PAIR: usize = 4;

fn pairs(min: f64, k: usize, probes: usize, ctx: &QueryContext<'_>) -> Result<ResultSet> {
    let (view, vectors) = (ctx.sources.view, ctx.sources.indexes.vectors()?);
    let twin = ctx.sources.config.cosines()?.twin.max(min);
    let communities = ctx.communities();
    let mut is_live = visible_at(view, ctx.sources.visibility());
    // All data is in one lookup table, because the index calls the filter for every node that it visits.
    let mut members: FxHashMap<NodeId, (Ix, u32)> = FxHashMap::default();
    // A quotation would form pairs with the quotations of messages like its own.
    for ix in (0..view.slots()).filter(|&ix| is_live(ix) && !view.is_pointer(ix)) {
        if let (Some(id), Some(community)) = (view.id(ix), communities.of(ix)) {
            members.insert(id, (ix, community));
        }
    }
    let mut probed: Vec<(NodeId, Ix, u32)> =
        members.iter().map(|(&id, &(ix, community))| (id, ix, community)).collect();
    probed.sort_unstable_by_key(|&(id, ix, _)| (Reverse(view.modified(ix)), id));
    if probed.len() > probes {
        let notes = plural(probes as u64, "note");
        ctx.remark(format!("compared the {notes} changed last with all {}", probed.len()));
        probed.truncate(probes);
    }
    let mut found: FxHashMap<(Ix, Ix), f64> = FxHashMap::default();
    for (id, ix, community) in probed {
        cancellation::check()?;
        let passages = vectors.of(id);
        let has_text = passages.iter().any(|(passage, _)| *passage > 0);
        for (_, vector) in passages.iter().filter(|(passage, _)| !has_text || *passage > 0) {
            let probe = Probe { view, id, ix, community, vector, min, twin };
            for (other, cosine) in probe.partners(vectors, &members, k)? {
                let pair = if view.id(ix) < view.id(other) { (ix, other) } else { (other, ix) };
                let best = found.entry(pair).or_insert(cosine);
                *best = best.max(cosine);
            }
        }
    }
    let mut pairs: Vec<InterferencePair> =
        found.into_iter().map(|((a, b), similarity)| InterferencePair { a, b, similarity }).collect();
    pairs.sort_unstable_by(|x, y| {
        let ids = |pair: &InterferencePair| (view.id(pair.a), view.id(pair.b));
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
    Ok(ResultSet::with_pairs(items, pairs))
}

/// Whether all edges between two nodes are automatic, and one of them was created because the nodes are similar.
fn are_joined_by_similarity_only(view: &View, a: Ix, b: Ix) -> bool {
    let edges = view.edges(a);
    let from = edges.partition_point(|edge| edge.target() < b);
    let between = edges.iter().skip(from).take_while(|edge| edge.target() == b);
    let kinds: Vec<EdgeKind> = between.map(|edge| edge.kind()).collect();
    kinds.contains(&EdgeKind::Semantic) && kinds.iter().all(|kind| kind.is_automatic())
}

/// A passage of a node for which partners are searched.
struct Probe<'a> {
    view: &'a View,
    id: NodeId,
    ix: Ix,
    community: u32,
    vector: &'a [f32],
    /// The minimum cosine of a partner in another community (`min`) and in the same one (`twin`).
    min: f64,
    twin: f64,
}

impl Probe<'_> {
    /// The `k` nodes most similar to the passage that form a pair with its node.
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
            if self.view.are_derived(self.ix, ix) || self.view.are_of_different_days(self.ix, ix) {
                return None;
            }
            let is_elsewhere = its != self.community || are_joined_by_similarity_only(self.view, self.ix, ix);
            let min = if is_elsewhere { self.min } else { self.twin };
            (hit.cosine >= min).then_some((ix, hit.cosine))
        };
        let count = k * NEIGHBORS_PER_PAIR;
        let near = vectors.search(self.vector, count, &|id| members.contains_key(&id))?;
        let cut = near.len() == count && near.last().is_some_and(|last| last.cosine >= self.min);
        let mut found: Vec<(Ix, f64)> = near.iter().filter_map(partner).take(k).collect();
        // The result is full of nodes of the same community, so they are excluded from a second, more expensive search.
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
