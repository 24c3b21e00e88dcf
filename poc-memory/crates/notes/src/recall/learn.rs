//! What remembering teaches, written down.

use crate::weight;
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};
use poc_rank::decay::edge_at;
use poc_store::Tx;

/// What a recall teaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learning {
    /// Nodes that were used.
    pub used: Vec<NodeId>,
    /// Pairs of nodes that were found together, and what the edges between them gain.
    pub together: Vec<(NodeId, NodeId, f64)>,
    /// From where to where edges were walked that led to a hit; each once.
    pub led: Vec<(NodeId, NodeId)>,
}

/// Writes down what a recall taught, with every weight as it is in this transaction: each node used
/// gains the delta of a use; each pair found together has a `co_retrieval` edge both ways that gains its
/// share; along each edge that led to a hit a `co_traversal` edge gains its multiple of the base. A gain
/// adds to the weight as decayed to `now`, up to the cap. Neither refractory time nor dampening holds
/// here. What is gone since is left out.
pub fn learn(
    tx: &mut Tx<'_>,
    learning: &Learning,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<()> {
    let view = tx.view();
    let there = |id: NodeId| view.find(id).is_some();
    for &id in learning.used.iter().filter(|&&id| there(id)) {
        weight::add_use(tx, id, config, now)?;
    }
    let recall = &config.recall;
    let mut gains: Vec<(NodeId, EdgeKind, NodeId, f64)> = Vec::new();
    for &(a, b, gain) in &learning.together {
        gains.extend([(a, EdgeKind::CoRetrieval, b, gain), (b, EdgeKind::CoRetrieval, a, gain)]);
    }
    let led = recall.co_retrieval_base * recall.co_traversal_multiplier;
    gains.extend(learning.led.iter().map(|&(from, to)| (from, EdgeKind::CoTraversal, to, led)));
    for (src, kind, dst, gain) in gains.into_iter().filter(|(src, _, dst, _)| there(*src) && there(*dst)) {
        strengthen(tx, (src, kind, dst), gain, config, provenance, now)?;
    }
    Ok(())
}

/// Adds to the weight of an edge, and makes the edge when it is not there. One that would stay under
/// the floor is not worth writing.
fn strengthen(
    tx: &mut Tx<'_>,
    (src, kind, dst): (NodeId, EdgeKind, NodeId),
    gain: f64,
    config: &Config,
    provenance: &str,
    now: Timestamp,
) -> Result<()> {
    let there = tx.edge(src, kind, dst)?;
    let before = there.as_ref().map_or(0.0, |edge| edge_at(edge, &config.edges, now));
    let strength = (before + gain).min(config.edges.cap);
    if strength < config.edges.floor {
        return Ok(());
    }
    let edge = there.unwrap_or_else(|| Edge {
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
