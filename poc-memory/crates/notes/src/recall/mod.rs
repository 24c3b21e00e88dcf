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

use super::{Memory, weigh};
use expand::Expansion;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Ix, NodeId, Sight, View};
use poc_rank::decay::{decayed, lambda, weight_at};
use poc_rank::recollection::{Exponents, after_hops, likeness, score};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
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
pub struct Hit {
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
    pub path: Vec<Step>,
}

/// A step of a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
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
pub struct Recalled {
    /// At most as many as wanted.
    pub hits: Vec<Hit>,
    /// What [`learn`] would write down.
    pub learning: Learning,
}

/// A node that was found by itself.
#[derive(Clone, Copy, Debug)]
struct Found {
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
pub fn recall(memory: &Memory, view: &View, wish: &Wish, now: Timestamp) -> Result<Recalled> {
    let config = &memory.config;
    let exponents =
        Exponents { likeness: config.recall.likeness_exponent, weight: config.recall.weight_exponent };
    // Also for a person: what nobody has vouched for must gain nothing by being remembered.
    let told = |ix: Ix| view.is_found_at(ix, Sight { now, quarantined: false });
    let keep = |id: NodeId| view.find(id).is_some_and(told);
    let near = memory.vectors.search(wish.vector, wish.oversample.max(wish.k), &keep)?;

    let mut weights: FxHashMap<Ix, f64> = FxHashMap::default();
    let mut found: Vec<Found> = Vec::with_capacity(near.len());
    for hit in near {
        let Some(ix) = view.find(hit.id) else { continue };
        let weight = weigh::used(weight_at(view, ix, &config.weight, now), config);
        weights.insert(ix, weight);
        let likeness = likeness(hit.cosine);
        found.push(Found { ix, id: hit.id, likeness, score: score(likeness, 1.0, weight, exponents) });
    }
    let used: Vec<NodeId> = found.iter().map(|found| found.id).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    found.truncate(wish.k);
    let starts = found;

    let mut expansion = Expansion::new(&memory.store, view, &starts, config, now);
    expansion.walk(wish.hops, &|ix| {
        told(ix) && (weights.contains_key(&ix) || is_above_floor(view, ix, memory, now))
    })?;
    let mut hits: Vec<(Hit, usize)> = expansion
        .best()
        .filter_map(|(at, place)| {
            let ix = place.ix;
            let known = weights.get(&ix).copied();
            let weight = known.unwrap_or_else(|| weight_at(view, ix, &config.weight, now));
            let graph = after_hops(place.hops, config.recall.depth_factor);
            let score = score(place.likeness, graph, weight, exponents);
            let hit =
                Hit { id: view.id(ix)?, score, likeness: place.likeness, weight, graph, path: Vec::new() };
            Some((hit, at))
        })
        .collect();
    hits.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    hits.truncate(wish.k);
    let hits: Vec<Hit> = hits.into_iter().map(|(hit, at)| Hit { path: expansion.path(at), ..hit }).collect();
    let led: BTreeSet<(NodeId, NodeId)> =
        hits.iter().flat_map(|hit| hit.path.iter().map(|step| (step.from, step.to))).collect();
    let learning = Learning {
        used,
        together: together(
            starts.get(..config.recall.co_retrieval_notes).unwrap_or(&starts),
            config.recall.co_retrieval_base,
        ),
        led: led.into_iter().collect(),
    };
    Ok(Recalled { hits, learning })
}

/// Whether a node has not been forgotten: its weight may be told as the floor and lie below it.
fn is_above_floor(view: &View, ix: Ix, memory: &Memory, now: Timestamp) -> bool {
    let config = &memory.config.weight;
    let seconds = now.seconds_since(view.touched(ix));
    let lambda = lambda(config, view.category(ix));
    decayed(view.stored_weight(ix), lambda, seconds) >= config.floor
}

/// Every pair of starts, and what the edges between them gain: `base · min(likeness)`.
fn together(starts: &[Found], base: f64) -> Vec<(NodeId, NodeId, f64)> {
    let mut pairs = Vec::new();
    for (at, a) in starts.iter().enumerate() {
        pairs.extend(starts.iter().skip(at + 1).map(|b| (a.id, b.id, base * a.likeness.min(b.likeness))));
    }
    pairs
}
