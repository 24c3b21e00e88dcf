//! Replaces a node by another and keeps the old one in the history.

use super::{resolve, succession};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, Node, NodeId, State};
use poc_store::Transaction;

/// The result of a supersession.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupersedeReport {
    /// Number of explicit links copied from the old node to the new one.
    pub links: usize,
}

/// Replaces one stored node by another: retires the old node, adds a `supersedes` edge from the new one to
/// it, copies its explicit links to the new one, and transfers the other data of a predecessor
/// ([`succession`]).
pub fn apply(
    tx: &mut Transaction<'_>,
    old: NodeId,
    new: NodeId,
    provenance: &str,
    reason: &str,
    config: &Config,
    now: Timestamp,
) -> Result<SupersedeReport> {
    let successor = resolve::expect(tx, new)?;
    let retired = check(tx, old)?;
    if old == new {
        return Err(Error::invalid(format!("`{}` cannot supersede itself", retired.key))
            .hint("name two different notes")
            .field("new"));
    }
    if !successor.state.is_live() {
        return Err(Error::conflict(format!(
            "`{}` is {} and cannot replace another note",
            successor.key, successor.state
        ))
        .hint("name a note that is in use")
        .field("new"));
    }
    retire(tx, retired.clone(), now)?;
    link(tx, &retired, new, provenance, reason, config, now)
}

/// The node to supersede, if it is live.
pub(super) fn check(tx: &Transaction<'_>, old: NodeId) -> Result<Node> {
    let node = resolve::expect(tx, old)?;
    if node.state.is_live() {
        return Ok(node);
    }
    let error = Error::conflict(format!("`{}` is {} already", node.key, node.state)).field("old");
    Err(match successor(tx, old)? {
        Some(next) => error.hint(format!("`{}` replaces it", next.key)),
        None => error,
    })
}

/// The node that superseded another.
pub(super) fn successor(tx: &Transaction<'_>, old: NodeId) -> Result<Option<Node>> {
    let edges = tx.edges(old)?;
    match edges.iter().find(|edge| edge.kind == EdgeKind::Supersedes && edge.dst == old) {
        Some(edge) => tx.node(edge.src),
        None => Ok(None),
    }
}

/// Marks a node as superseded, which removes it from retrieval.
pub(super) fn retire(tx: &mut Transaction<'_>, mut node: Node, now: Timestamp) -> Result<()> {
    node.state = State::Superseded;
    node.version = node.version.saturating_add(1);
    node.modified = now;
    tx.put_node(&node)
}

/// Adds an edge of another store. A `supersedes` edge also retires its target: no answer may show a note before the one
/// that replaced it.
pub(super) fn put_edge(tx: &mut Transaction<'_>, edge: &Edge, now: Timestamp) -> Result<()> {
    tx.put_edge(edge)?;
    if edge.kind == EdgeKind::Supersedes
        && let Some(target) = tx.node(edge.dst)?.filter(|target| target.state.is_live())
    {
        retire(tx, target, now)?;
    }
    Ok(())
}

/// Adds the `supersedes` edge, and transfers data to the new node from the old one as it was before it was
/// retired.
pub(super) fn link(
    tx: &mut Transaction<'_>,
    retired: &Node,
    new: NodeId,
    provenance: &str,
    reason: &str,
    config: &Config,
    now: Timestamp,
) -> Result<SupersedeReport> {
    succession::apply(tx, retired, new, config, now)?;
    let old = retired.id;
    let mut links = 0;
    for edge in tx.edges(old)? {
        let moved = |end: NodeId| if end == old { new } else { end };
        let (src, dst) = (moved(edge.src), moved(edge.dst));
        if edge.kind == EdgeKind::Link && src != dst && tx.edge(src, EdgeKind::Link, dst)?.is_none() {
            tx.put_edge(&Edge { src, dst, ..edge })?;
            links += 1;
        }
    }
    tx.put_edge(&Edge {
        src: new,
        dst: old,
        kind: EdgeKind::Supersedes,
        strength: 1.0,
        created: now,
        touched: now,
        provenance: provenance.to_owned(),
        reason: reason.to_owned(),
    })?;
    Ok(SupersedeReport { links })
}
