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

/// What one recall changes: the weights and edges that it strengthens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallUpdate {
    /// Hits that were found by their similarity to the text.
    pub used: Vec<NodeId>,
    /// Pairs of nodes that were retrieved together.
    pub pairs: Vec<RetrievedPair>,
    /// Source and target of each edge that was followed to a hit, without duplicates.
    pub followed: Vec<(NodeId, NodeId)>,
}

/// Two nodes that were retrieved together, in any order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrievedPair {
    /// One node.
    pub a: NodeId,
    /// The other node.
    pub b: NodeId,
    /// What the edges between them gain.
    pub gain: f64,
}

/// The updates of several recalls, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallUpdateBatch {
    recalls: usize,
    /// How often each node was used.
    used: BTreeMap<NodeId, u64>,
    /// The gain of each pair. The smaller id comes first.
    pairs: BTreeMap<(NodeId, NodeId), f64>,
    /// How often each edge was followed.
    followed: BTreeMap<(NodeId, NodeId), u64>,
}

impl RecallUpdateBatch {
    /// Adds the update of a recall.
    pub fn add(&mut self, update: &RecallUpdate) {
        let pairs = update.pairs.iter().map(|pair| ((pair.a.min(pair.b), pair.a.max(pair.b)), pair.gain));
        self.merge(RecallUpdateBatch {
            recalls: 1,
            used: update.used.iter().map(|id| (*id, 1)).collect(),
            pairs: pairs.collect(),
            followed: update.followed.iter().map(|edge| (*edge, 1)).collect(),
        });
    }

    /// Adds another batch.
    pub(super) fn merge(&mut self, other: RecallUpdateBatch) {
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

    /// The number of recalls.
    pub(super) fn recall_count(&self) -> usize {
        self.recalls
    }

    /// The number of different pairs.
    pub(super) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs to store, strongest first: as many as [`PAIRS_PER_RECALL`] allows.
    fn strongest_pairs(&self) -> Vec<RetrievedPair> {
        let pairs = self.pairs.iter().map(|(&(a, b), &gain)| RetrievedPair { a, b, gain });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_by(|a, b| b.gain.total_cmp(&a.gain));
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
    updates: &RecallUpdateBatch,
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
    for RetrievedPair { a, b, gain } in updates.strongest_pairs() {
        let edge = EdgeId { src: a, kind: EdgeKind::CoRetrieval, dst: b };
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
