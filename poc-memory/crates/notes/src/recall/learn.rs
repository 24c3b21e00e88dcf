//! Stores the updates of weights and edges by recalls.

use crate::weight;
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeId, EdgeKind, NodeId};
use poc_rank::decay::edge_at;
use poc_store::{Records as _, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// Average number of pairs that are stored for each recall. The strongest pairs are those that were recalled
/// together repeatedly; most others are coincidence.
const PAIRS_PER_RECALL: usize = 1;

/// Maximum number of edges of each kind that recalls create from one note. Beyond it, a stronger edge
/// replaces the weakest.
const MAX_EDGES: usize = 32;

/// The updates of one recall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learning {
    /// Hits that were found by their similarity to the text.
    pub used: Vec<NodeId>,
    /// Pairs of nodes that were retrieved together, and the gain of the edges between them.
    pub pairs: Vec<(NodeId, NodeId, f64)>,
    /// Source and target of each edge that was followed to a hit, without duplicates.
    pub followed: Vec<(NodeId, NodeId)>,
}

/// The updates of several recalls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallUpdates {
    recalls: usize,
    /// How often each node was used.
    used: BTreeMap<NodeId, u64>,
    /// The gain of each pair. The smaller id comes first.
    pairs: BTreeMap<(NodeId, NodeId), f64>,
    /// How often each edge was followed.
    followed: BTreeMap<(NodeId, NodeId), u64>,
}

impl RecallUpdates {
    /// Adds the updates of a recall.
    pub fn add(&mut self, learning: &Learning) {
        self.merge(RecallUpdates {
            recalls: 1,
            used: learning.used.iter().map(|id| (*id, 1)).collect(),
            pairs: learning.pairs.iter().map(|(a, b, gain)| ((*a.min(b), *a.max(b)), *gain)).collect(),
            followed: learning.followed.iter().map(|edge| (*edge, 1)).collect(),
        });
    }

    /// Adds other updates.
    pub(super) fn merge(&mut self, other: RecallUpdates) {
        self.recalls += other.recalls;
        for (id, count) in other.used {
            *self.used.entry(id).or_default() += count;
        }
        for (pair, gain) in other.pairs {
            *self.pairs.entry(pair).or_default() += gain;
        }
        for (edge, count) in other.followed {
            *self.followed.entry(edge).or_default() += count;
        }
    }

    /// The number of different pairs.
    pub(super) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs to store, strongest first: as many as [`PAIRS_PER_RECALL`] allows.
    fn strongest_pairs(&self) -> Vec<(NodeId, NodeId, f64)> {
        let mut pairs: Vec<_> = self.pairs.iter().map(|((a, b), gain)| (*a, *b, *gain)).collect();
        pairs.sort_by(|(.., a), (.., b)| b.total_cmp(a));
        pairs.truncate(self.recalls * PAIRS_PER_RECALL);
        pairs
    }
}

/// Stores updates by recalls, based on the weights in this transaction:
///
/// - Each used node gains `[reinforce] delta` for each use.
/// - The strongest pairs, one for each recall, get `co_retrieval` edges in both directions, which grow by the
///   gain of the pair.
/// - For each edge followed to a hit, the `co_traversal` edge between the same notes gains `co_retrieval_base` times
///   `co_traversal_multiplier` each time.
///
/// A gain is added to the weight decayed to `now`, up to the cap. The refractory period and dampening do not
/// apply. Deleted nodes are skipped. A note has at most 32 edges of each of these kinds to others; beyond
/// that, the weakest ones are deleted.
pub fn learn(
    tx: &mut Transaction<'_>,
    updates: &RecallUpdates,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<()> {
    let view = tx.view();
    let exists = |id: NodeId| view.find(id).is_some();
    for (&id, &uses) in updates.used.iter().filter(|(id, _)| exists(**id)) {
        weight::add_uses(tx, id, uses, config, now)?;
    }
    let recall = &config.recall;
    let mut gains: Vec<(EdgeId, f64)> = Vec::new();
    for (src, dst, gain) in updates.strongest_pairs() {
        let edge = EdgeId { src, kind: EdgeKind::CoRetrieval, dst };
        gains.extend([(edge, gain), (edge.reversed(), gain)]);
    }
    let traversal_gain = recall.co_retrieval_base * recall.co_traversal_multiplier;
    gains.extend(updates.followed.iter().map(|(&(src, dst), &times)| {
        (EdgeId { src, kind: EdgeKind::CoTraversal, dst }, traversal_gain * times as f64)
    }));
    let mut grown: BTreeSet<(NodeId, EdgeKind)> = BTreeSet::new();
    for (edge, gain) in gains.into_iter().filter(|(edge, _)| exists(edge.src) && exists(edge.dst)) {
        if strengthen(tx, edge, gain, config, provenance, now)? {
            grown.insert((edge.src, edge.kind));
        }
    }
    grown.into_iter().try_for_each(|(src, kind)| delete_weakest(tx, src, kind, config, now))
}

/// Adds to the weight of an edge, and creates the edge if it does not exist. Writes nothing if the result is
/// below the floor. Returns whether it created the edge.
fn strengthen(
    tx: &mut Transaction<'_>,
    EdgeId { src, kind, dst }: EdgeId,
    gain: f64,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<bool> {
    let existing = tx.edge(src, kind, dst)?;
    let before = existing.as_ref().map_or(0.0, |edge| edge_at(edge, &config.edges, now));
    let strength = (before + gain).min(config.edges.cap);
    if strength < config.edges.floor {
        return Ok(false);
    }
    let is_new = existing.is_none();
    let edge = existing.unwrap_or_else(|| Edge {
        src,
        dst,
        kind,
        strength,
        created: now,
        touched: now,
        provenance: provenance.to_owned(),
        reason: String::new(),
    });
    tx.put_edge(&Edge { strength, touched: now, ..edge })?;
    Ok(is_new)
}

/// Deletes the weakest edges of a kind from a node beyond [`MAX_EDGES`].
fn delete_weakest(
    tx: &mut Transaction<'_>,
    src: NodeId,
    kind: EdgeKind,
    config: &Config,
    now: Timestamp,
) -> Result<()> {
    let mut edges = tx.edges_from(src, &[kind])?;
    edges.sort_by(|a, b| edge_at(b, &config.edges, now).total_cmp(&edge_at(a, &config.edges, now)));
    edges.iter().skip(MAX_EDGES).try_for_each(|edge| tx.delete_edge(src, kind, edge.dst))
}
