//! Stores what a recall learned.

use crate::weight;
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};
use poc_rank::decay::edge_at;
use poc_store::Transaction;

/// What a recall learned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learning {
    /// Nodes that were used.
    pub used: Vec<NodeId>,
    /// Pairs of nodes that were retrieved together, and the gain of the edges between them.
    pub pairs: Vec<(NodeId, NodeId, f64)>,
    /// Source and target of each edge that was followed to a hit, without duplicates.
    pub followed: Vec<(NodeId, NodeId)>,
}

/// Stores what a recall learned, based on the weights in this transaction:
///
/// - Each used node gains `[reinforce] delta`.
/// - Each pair retrieved together has `co_retrieval` edges in both directions that gain the pair's share.
/// - Each edge followed to a hit has a `co_traversal` edge that gains `co_retrieval_base` times
///   `co_traversal_multiplier`.
///
/// A gain is added to the weight decayed to `now`, up to the cap. The refractory period and dampening do not
/// apply. Deleted nodes are skipped.
pub fn learn(
    tx: &mut Transaction<'_>,
    learning: &Learning,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<()> {
    let view = tx.view();
    let exists = |id: NodeId| view.find(id).is_some();
    for &id in learning.used.iter().filter(|&&id| exists(id)) {
        weight::add_use(tx, id, config, now)?;
    }
    let recall = &config.recall;
    let mut gains: Vec<(NodeId, EdgeKind, NodeId, f64)> = Vec::new();
    for &(a, b, gain) in &learning.pairs {
        gains.extend([(a, EdgeKind::CoRetrieval, b, gain), (b, EdgeKind::CoRetrieval, a, gain)]);
    }
    let traversal_gain = recall.co_retrieval_base * recall.co_traversal_multiplier;
    gains.extend(
        learning.followed.iter().map(|&(from, to)| (from, EdgeKind::CoTraversal, to, traversal_gain)),
    );
    for (src, kind, dst, gain) in gains.into_iter().filter(|(src, _, dst, _)| exists(*src) && exists(*dst)) {
        strengthen(tx, (src, kind, dst), gain, config, provenance, now)?;
    }
    Ok(())
}

/// Adds to the weight of an edge, and creates the edge if it does not exist. Writes nothing if the result is
/// below the floor.
fn strengthen(
    tx: &mut Transaction<'_>,
    (src, kind, dst): (NodeId, EdgeKind, NodeId),
    gain: f64,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<()> {
    let exists = tx.edge(src, kind, dst)?;
    let before = exists.as_ref().map_or(0.0, |edge| edge_at(edge, &config.edges, now));
    let strength = (before + gain).min(config.edges.cap);
    if strength < config.edges.floor {
        return Ok(());
    }
    let edge = exists.unwrap_or_else(|| Edge {
        src,
        dst,
        kind,
        strength,
        created: now,
        touched: now,
        provenance: provenance.to_owned(),
        reason: String::new(),
    });
    tx.put_edge(&Edge { strength, touched: now, ..edge })
}
