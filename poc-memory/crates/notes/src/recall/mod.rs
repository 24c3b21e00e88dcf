//! Remembering: what is near a text and weighs much, what is tied to that, and what remembering
//! teaches.
//!
//! [`recall`] reads and ranks; nothing it does changes the store. [`learn`] writes down what a recall
//! taught, all of it in one transaction.

mod expand;
mod learn;
#[cfg(test)]
mod tests;

pub use learn::{Learning, learn};

use super::{Memory, weight};
use expand::Expansion;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Ix, NodeId, View, Visibility};
use poc_rank::decay::{decayed, lambda, weight_at};
use poc_rank::recollection::{Exponents, after_hops, likeness, score};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct RecallOptions<'a> {
    /// The text, embedded.
    pub vector: &'a [f32],
    /// Nodes wanted; as many are starts of ways.
    pub k: usize,
    /// Hops from a start at most.
    pub hops: usize,
    /// Nearest nodes that are weighed; at least `k` are.
    pub oversample: usize,
}

/// A node that came to mind.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallHit {
    /// The node.
    pub id: NodeId,
    /// `likeness^α · graph · weight^β`.
    pub score: f64,
    /// Of the start of its way to the text, 0–1.
    pub likeness: f64,
    /// Its weight, as decayed to now, with what this recall adds to it.
    pub weight: f64,
    /// What the way leaves of the likeness: 1 for a start, divided by each hop.
    pub graph: f64,
    /// The way from its start; empty for a start.
    pub path: Vec<PathHop>,
}

/// A step of a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathHop {
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// Kind of the strongest edge between them.
    pub kind: EdgeKind,
    /// Its weight, as decayed to now.
    pub strength: f64,
}

/// What came to mind, best first, ties by id, and what that teaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallResult {
    /// At most as many as wanted.
    pub hits: Vec<RecallHit>,
    /// What [`learn`] would write down.
    pub learning: Learning,
}

/// A node that was found by itself.
#[derive(Clone, Copy, Debug)]
struct Start {
    ix: Ix,
    id: NodeId,
    likeness: f64,
    score: f64,
}

/// Remembers, by these steps:
///
/// 1. The nearest nodes, `oversample` of them, are candidates. The weight of each is decayed to `now`
///    and gains the delta of a use.
/// 2. The best `k` by `likeness^α · weight^β` are starts.
/// 3. From the starts, up to `hops` away, along associative edges whose decayed weight is not under
///    the floor, to nodes whose weight is not: each hop divides the score, and of several ways the one
///    that leaves most counts, then the shorter one.
/// 4. The best `k` of all by `likeness^α · graph · weight^β` are the hits.
///
/// It teaches that the candidates were used, that the best of the starts, as many as the settings say, belong
/// together, and that the edges of the
/// hits' ways lead somewhere.
pub fn recall(memory: &Memory, view: &View, options: &RecallOptions, now: Timestamp) -> Result<RecallResult> {
    let config = &memory.config;
    let exponents =
        Exponents { likeness: config.recall.likeness_exponent, weight: config.recall.weight_exponent };
    // Also for a person: what nobody has vouched for must gain nothing by being remembered.
    let visible = |ix: Ix| view.is_found_at(ix, Visibility { now, quarantined: false });
    let keep = |id: NodeId| view.find(id).is_some_and(visible);
    let near = memory.vectors.search(options.vector, options.oversample.max(options.k), &keep)?;

    let mut weights: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut found: Vec<Start> = Vec::with_capacity(near.len());
    for hit in near {
        let Some(ix) = view.find(hit.id) else { continue };
        let weight = weight::after_use(weight_at(view, ix, &config.weight, now), config);
        weights.insert(ix, weight);
        let likeness = likeness(hit.cosine);
        found.push(Start { ix, id: hit.id, likeness, score: score(likeness, 1.0, weight, exponents) });
    }
    let used: Vec<NodeId> = found.iter().map(|found| found.id).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    found.truncate(options.k);
    let starts = found;

    let mut expansion = Expansion::new(&memory.store, view, &starts, config, now);
    expansion.walk(options.hops, &|ix| {
        visible(ix) && (weights.contains_key(&ix) || is_above_floor(view, ix, memory, now))
    })?;
    let mut hits: Vec<(RecallHit, usize)> = expansion
        .best()
        .filter_map(|(at, place)| {
            let ix = place.ix;
            let known = weights.get(&ix).copied();
            let weight = known.unwrap_or_else(|| weight_at(view, ix, &config.weight, now));
            let graph = after_hops(place.hops, config.recall.depth_factor);
            let score = score(place.likeness, graph, weight, exponents);
            let hit = RecallHit {
                id: view.id(ix)?,
                score,
                likeness: place.likeness,
                weight,
                graph,
                path: Vec::new(),
            };
            Some((hit, at))
        })
        .collect();
    hits.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    hits.truncate(options.k);
    let hits: Vec<RecallHit> =
        hits.into_iter().map(|(hit, at)| RecallHit { path: expansion.path(at), ..hit }).collect();
    let led: BTreeSet<(NodeId, NodeId)> =
        hits.iter().flat_map(|hit| hit.path.iter().map(|step| (step.from, step.to))).collect();
    let learning = Learning {
        used,
        together: pairs(
            starts.get(..config.recall.co_retrieval_notes).unwrap_or(&starts),
            config.recall.co_retrieval_base,
        ),
        led: led.into_iter().collect(),
    };
    Ok(RecallResult { hits, learning })
}

/// Whether a node has not been forgotten: its weight may be told as the floor and lie below it.
fn is_above_floor(view: &View, ix: Ix, memory: &Memory, now: Timestamp) -> bool {
    let config = &memory.config.weight;
    let seconds = now.seconds_since(view.touched(ix));
    let lambda = lambda(config, view.category(ix));
    decayed(view.stored_weight(ix), lambda, seconds) >= config.floor
}

/// Every pair of starts, and what the edges between them gain: `base · min(likeness)`.
fn pairs(starts: &[Start], base: f64) -> Vec<(NodeId, NodeId, f64)> {
    let mut pairs = Vec::new();
    for (at, a) in starts.iter().enumerate() {
        pairs.extend(starts.iter().skip(at + 1).map(|b| (a.id, b.id, base * a.likeness.min(b.likeness))));
    }
    pairs
}
