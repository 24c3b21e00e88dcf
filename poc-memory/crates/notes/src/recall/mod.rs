//! Recall: finds notes that are relevant to a text, finds the notes linked to them, and learns from the result. The
//! weight decides between notes of about the same relevance.
//!
//! [`recall`] reads and ranks without changing the store. [`record`] keeps its update in memory, and [`flush`] stores
//! those of several recalls in one transaction.

mod expand;
mod learn;
mod pending;
#[cfg(test)]
mod tests;

pub use expand::PathHop;
pub use learn::{RecallUpdate, RecallUpdateBatch, RetrievedPair, learn};
pub use pending::{PendingUpdates, flush, pending_recalls, record};

use super::{Memory, weight};
use expand::{Expansion, Start};
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Ix, NodeId, Representation, View, Visibility};
use poc_rank::decay::{decayed, lambda, weight_at};
use poc_rank::recall_score::{RecallExponents, RecallSignals, after_hops, score, similarity};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The parameters of a recall.
#[derive(Clone, Copy, Debug)]
pub struct RecallOptions<'a> {
    /// The query text.
    pub text: &'a str,
    /// Its vector, by the embedder of the store. It is not used if that cannot embed texts.
    pub vector: &'a [f32],
    /// Number of hits wanted, and of starts.
    pub k: usize,
    /// Maximum number of hops from a start.
    pub hops: usize,
    /// Number of nearest nodes, and of best nodes by words, that are scored; at least `k`.
    pub oversample: usize,
}

/// A recalled node.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallHit {
    /// The node.
    pub id: NodeId,
    /// Its score ([`poc_rank::recall_score::score`]).
    pub score: f64,
    /// Similarity of the start of its path to the text, 0 to 1. By words, it is a share of the best score.
    pub similarity: f64,
    /// The share of the words of the text that the start of its path contains, 0 to 1.
    pub coverage: f64,
    /// Its weight decayed to now, with the gain of this recall.
    pub weight: f64,
    /// The factor of the path: 1 for a start, divided by the depth factor at each hop.
    pub path_factor: f64,
    /// The path from its start; empty for a start.
    pub path: Vec<PathHop>,
}

/// The recalled nodes, and what to learn from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallResult {
    /// At most `k` hits, best first; equal scores are ordered by id.
    pub hits: Vec<RecallHit>,
    /// Whether there are hits but none of their starts matches the text, so that there is nothing to learn.
    pub no_match: bool,
    /// The update that [`record`] takes.
    pub update: RecallUpdate,
}

/// Recalls nodes in these steps:
///
/// 1. The `oversample` nearest nodes and as many of the best nodes by words are candidates, except nodes that others
///    represent, which they were derived from and which can be recalled ([`Representation`]). If the embedder of the
///    store is not available, only the nodes by words are. The weight of each is decayed to `now` and raised by the
///    gain of a use.
/// 2. The best `k` by relevance and weight ([`score`]) are starts.
/// 3. From the starts, associative edges are followed for up to `hops` hops. Edges and nodes whose decayed
///    weight is below the floor are skipped. Each hop divides the score; of several paths to a node the one
///    with the highest score counts, then the shorter one.
/// 4. The best `k` of all by relevance of the start, path and weight are the hits.
///
/// The result includes the update to learn. Of the starts, only those that match the text count: they share a word with
/// it, or their cosine with it is at least that of a semantic edge (`semantic` under `[cosines]`). The nearest notes of
/// any text are starts, also if no note is about it. The hits among the matching starts count as used, the best
/// `co_retrieval_notes` of these starts count as retrieved together, and the edges that led from them to the hits count
/// as followed.
pub fn recall(memory: &Memory, view: &View, options: &RecallOptions, now: Timestamp) -> Result<RecallResult> {
    let config = &memory.config;
    let exponents =
        RecallExponents { relevance: config.recall.likeness_exponent, weight: config.recall.weight_exponent };
    // Quarantined notes are excluded for people, too: they must not gain weight by being recalled.
    let visible =
        |ix: Ix| view.is_visible(ix, Visibility { now, quarantined: false }) && !view.is_pointer(ix);
    // A derived note must not displace its sources, so it is left out if one of them can be recalled.
    let representation = Representation::default();
    let visible = |ix: Ix| visible(ix) && !representation.is_represented(view, ix, &visible);
    let keep = |id: NodeId| view.find(id).is_some_and(visible);
    let semantic = similarity(config.cosines()?.semantic);

    let mut weights: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut starts: Vec<Start> = Vec::new();
    for (id, signals) in candidates(memory, options, &keep)? {
        let Some(ix) = view.find(id) else { continue };
        let weight = weight::after_use(weight_at(view, ix, &config.weight, now), config);
        weights.insert(ix, weight);
        starts.push(Start { ix, id, signals, score: score(signals.relevance(), 1.0, weight, exponents) });
    }
    starts.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    starts.truncate(options.k);

    let mut expansion = Expansion::new(&memory.store, view, &starts, config, now);
    expansion.walk(options.hops, &|ix| {
        visible(ix) && (weights.contains_key(&ix) || is_above_floor(view, ix, memory, now))
    })?;
    let mut hits: Vec<(RecallHit, usize)> = expansion
        .best()
        .filter_map(|(at, end)| {
            let ix = end.ix;
            let known = weights.get(&ix).copied();
            let weight = known.unwrap_or_else(|| weight_at(view, ix, &config.weight, now));
            let path_factor = after_hops(end.hops, config.recall.depth_factor);
            let score = score(end.signals.relevance(), path_factor, weight, exponents);
            let hit = RecallHit {
                id: view.id(ix)?,
                score,
                similarity: end.signals.similarity,
                coverage: end.signals.coverage,
                weight,
                path_factor,
                path: Vec::new(),
            };
            Some((hit, at))
        })
        .collect();
    hits.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    hits.truncate(options.k);
    let hits: Vec<RecallHit> =
        hits.into_iter().map(|(hit, at)| RecallHit { path: expansion.path(at), ..hit }).collect();
    starts.retain(|start| start.signals.similarity >= semantic || start.signals.coverage > 0.0);
    let matching = starts;
    let no_match = matching.is_empty() && !hits.is_empty();
    let update = update_of(&matching, &hits, config);
    Ok(RecallResult { hits, no_match, update })
}

/// The nodes that `keep` accepts of those nearest to the text and of the best by words. Without an available embedder,
/// they are found by words.
fn candidates(
    memory: &Memory,
    options: &RecallOptions,
    keep: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<(NodeId, RecallSignals)>> {
    let count = options.oversample.max(options.k);
    let by_words = memory.text.scores(options.text).best(count, keep);
    let similarities: Vec<(NodeId, f64)> = if memory.embedder.is_available() {
        let near = memory.vectors.search(options.vector, count, keep)?;
        let mut others: FxHashSet<NodeId> = by_words.into_iter().map(|hit| hit.id).collect();
        for hit in &near {
            others.remove(&hit.id);
        }
        let cosines = memory.vectors.cosine_scores_of(options.vector, &others)?;
        let others = others.iter().filter_map(|&id| Some((id, similarity(cosines.of(id)?))));
        near.iter().map(|hit| (hit.id, similarity(hit.cosine))).chain(others).collect()
    } else {
        // Scores of BM25 have no upper bound.
        let best = by_words.first().map_or(1.0, |hit| hit.score);
        by_words.into_iter().map(|hit| (hit.id, hit.score / best)).collect()
    };
    let words = memory.text.query_terms(options.text);
    let signals = |(id, similarity)| (id, RecallSignals { similarity, coverage: words.share_of_terms(id) });
    Ok(similarities.into_iter().map(signals).collect())
}

/// What to learn from a recall with these matching starts and hits.
fn update_of(matching: &[Start], hits: &[RecallHit], config: &Config) -> RecallUpdate {
    let ids: BTreeSet<NodeId> = matching.iter().map(|start| start.id).collect();
    let learns = |hit: &&RecallHit| ids.contains(&hit.path.first().map_or(hit.id, |step| step.from));
    let followed: BTreeSet<(NodeId, NodeId)> =
        hits.iter().filter(learns).flat_map(|hit| hit.path.iter().map(|step| (step.from, step.to))).collect();
    let together = matching.get(..config.recall.co_retrieval_notes).unwrap_or(matching);
    RecallUpdate {
        used: hits.iter().filter(learns).filter(|hit| hit.path.is_empty()).map(|hit| hit.id).collect(),
        pairs: pairs(together, config.recall.co_retrieval_base),
        followed: followed.into_iter().collect(),
    }
}

/// Whether the decayed weight of a node is at least the floor before it is clamped. The clamped weight that
/// answers show never falls below the floor.
fn is_above_floor(view: &View, ix: Ix, memory: &Memory, now: Timestamp) -> bool {
    let config = &memory.config.weight;
    let seconds = now.seconds_since(view.touched(ix));
    let lambda = lambda(config, view.category(ix));
    decayed(view.stored_weight(ix), lambda, seconds) >= config.floor
}

/// Every pair of starts, and the gain of the edges between them: `base · min(similarity)`.
fn pairs(starts: &[Start], base: f64) -> Vec<RetrievedPair> {
    let mut pairs = Vec::new();
    for (index, a) in starts.iter().enumerate() {
        let gain = |b: &Start| base * a.signals.similarity.min(b.signals.similarity);
        pairs.extend(starts.iter().skip(index + 1).map(|b| RetrievedPair {
            a: a.id,
            b: b.id,
            gain: gain(b),
        }));
    }
    pairs
}
