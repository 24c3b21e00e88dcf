//! Synchronises explicit edges and the edges between the chunks of a message. If both stores have both notes
//! of an edge, both get the edge.
//!
//! If both stores had an edge and one no longer has it, the edge is deleted from the other. If only one has an
//! edge and it was never in both, the edge is copied. Edges derived from texts are recomputed in the target store, and
//! learned edges are not copied.

use super::Sync;
use super::binding;
use super::inventory::{Inventory, InventoryNote};
use super::plan::{CopyTarget, NoteCopy, RemoteSyncPlan};
use crate::Memory;
use crate::supersede;
use poc_graph::error::Result;
use poc_graph::{Edge, EdgeId, EdgeKind, NodeId, State, Trust};
use poc_rank::max_link_strength::max_link_strength;
use poc_store::{Records, Store, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The kinds of edges that are synchronised.
const KINDS: [EdgeKind; 5] = [
    EdgeKind::Link,
    EdgeKind::Supersedes,
    EdgeKind::Contradicts,
    EdgeKind::Structural,
    EdgeKind::DerivedFrom,
];

/// Numbers of edges that a sync changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// Number of edges pulled from the remote.
    pub pulled: u64,
    /// Number of edges deleted in either store.
    pub deleted: u64,
    /// Number of edges pushed to the remote.
    pub pushed: u64,
}

/// The ids of the notes that both stores have.
pub(super) struct Pairs {
    pub(super) to_remote: HashMap<NodeId, NodeId>,
    pub(super) to_local: HashMap<NodeId, NodeId>,
}

impl Pairs {
    pub(super) fn of(local: &Inventory, remote: &Inventory) -> Pairs {
        let same = |own: &InventoryNote| Some((own.id, remote.with_hash(&own.hash)?.id));
        let to_remote: HashMap<NodeId, NodeId> = local.texts().filter_map(same).collect();
        let to_local = to_remote.iter().map(|(own, other)| (*other, *own)).collect();
        Pairs { to_remote, to_local }
    }
}

/// Deletes the marks of edges whose notes were deleted in either store. If such a note comes back, its edges
/// do, too.
pub(super) fn delete_lost_marks(sync: &Sync<'_>, local: &Inventory, plan: &RemoteSyncPlan) -> Result<()> {
    let marks = binding::link_marks(&sync.local.store, sync.tenant)?;
    let given_anew = |copy: &&NoteCopy| matches!(copy.target, CopyTarget::New(_));
    let given: HashSet<NodeId> = plan.pushes.iter().filter(given_anew).map(|copy| copy.id).collect();
    let lost = |id: NodeId| local.with_id(id).is_none() || given.contains(&id);
    let lost: Vec<EdgeId> = marks.into_iter().filter(|link| lost(link.src) || lost(link.dst)).collect();
    sync.write_local(&lost, |tx, link| binding::unmark_link(tx, sync.tenant, *link)).map(drop)
}

/// Synchronises the edges of both stores. The pairs are those after the notes were synchronised.
pub(super) fn synchronize(sync: &Sync<'_>, pairs: &Pairs) -> Result<LinkReport> {
    let marks = binding::link_marks(&sync.local.store, sync.tenant)?;
    let ours = edges_between(&sync.local.store, &pairs.to_remote, |id| {
        pairs.to_remote.contains_key(&id).then_some(id)
    })?;
    let theirs = edges_between(&sync.remote.store, &pairs.to_local, |id| pairs.to_local.get(&id).copied())?;
    let (own, other): (BTreeSet<EdgeId>, BTreeSet<EdgeId>) =
        (ours.keys().copied().collect(), theirs.keys().copied().collect());
    let picked = |all: &BTreeSet<EdgeId>, keep: &dyn Fn(&EdgeId) -> bool| -> Vec<EdgeId> {
        all.iter().filter(|link| keep(link)).copied().collect()
    };
    let tenant = sync.tenant;
    let there = |link: &EdgeId| {
        let (src, dst) = (*pairs.to_remote.get(&link.src)?, *pairs.to_remote.get(&link.dst)?);
        Some(EdgeId { src, dst, ..*link })
    };
    let mut done = LinkReport::default();

    let pull = picked(&other, &|link| !own.contains(link) && !marks.contains(link));
    sync.write_local(&pull, |tx, link| {
        if let Some(edge) = theirs.get(link) {
            add(tx, &Edge { src: link.src, dst: link.dst, ..pulled(edge, sync.trust) }, sync.local)?;
        }
        binding::mark_link(tx, tenant, *link)
    })?;
    done.pulled = pull.len() as u64;

    let gone = picked(&own, &|link| marks.contains(link) && !other.contains(link));
    sync.write_local(&gone, |tx, link| {
        remove(tx, *link, sync.local)?;
        binding::unmark_link(tx, tenant, *link)
    })?;

    // Edges of a note that was deleted since they were read are kept, because nobody removed them on purpose.
    let kept = |id: NodeId| sync.local.store.node(id).map(|node| node.is_some());
    let mut dropped = Vec::new();
    for link in picked(&other, &|link| marks.contains(link) && !own.contains(link)) {
        if kept(link.src)? && kept(link.dst)? {
            dropped.push(link);
        }
    }
    sync.write_remote(&dropped, |tx, link| match there(link) {
        Some(link) => remove(tx, link, sync.remote),
        None => Ok(()),
    })?;
    done.deleted = (gone.len() + dropped.len()) as u64;

    let push = picked(&own, &|link| !other.contains(link) && !marks.contains(link));
    sync.write_remote(&push, |tx, link| match (ours.get(link), there(link)) {
        (Some(edge), Some(EdgeId { src, dst, .. })) => {
            add(tx, &Edge { src, dst, ..edge.clone() }, sync.remote)
        }
        _ => Ok(()),
    })?;
    done.pushed = push.len() as u64;

    // Changes of the remote are recorded locally once they are durable there.
    let both = picked(&own, &|link| other.contains(link) && !marks.contains(link));
    let common: Vec<EdgeId> = push.into_iter().chain(both).collect();
    sync.write_local(&common, |tx, link| binding::mark_link(tx, tenant, *link))?;
    let neither = picked(&marks, &|link| !own.contains(link) && !other.contains(link));
    let forgotten: Vec<EdgeId> = dropped.into_iter().chain(neither).collect();
    sync.write_local(&forgotten, |tx, link| binding::unmark_link(tx, tenant, *link))?;
    Ok(done)
}

/// The edges between the given notes, by their local ids (`local` maps an id of `store` to a local one).
fn edges_between(
    store: &Store,
    notes: &HashMap<NodeId, NodeId>,
    local: impl Fn(NodeId) -> Option<NodeId>,
) -> Result<BTreeMap<EdgeId, Edge>> {
    let mut found = BTreeMap::new();
    for id in notes.keys() {
        for edge in store.edges_from(*id, &KINDS)? {
            if let (Some(src), Some(dst)) = (local(edge.src), local(edge.dst)) {
                found.insert(EdgeId { src, kind: edge.kind, dst }, edge);
            }
        }
    }
    Ok(found)
}

/// An edge of the remote as it is stored here. The limit of the trust of pulled notes also limits the strength of
/// links.
fn pulled(edge: &Edge, trust: Trust) -> Edge {
    let max = if edge.kind == EdgeKind::Link { max_link_strength(trust) } else { f64::INFINITY };
    Edge { strength: edge.strength.min(max), ..edge.clone() }
}

/// Adds an edge unless it exists or one of its nodes is missing.
fn add(tx: &mut Transaction<'_>, edge: &Edge, memory: &Memory) -> Result<()> {
    let exist = tx.node(edge.src)?.is_some() && tx.node(edge.dst)?.is_some();
    if !exist || edge.src == edge.dst || tx.edge(edge.src, edge.kind, edge.dst)?.is_some() {
        return Ok(());
    }
    supersede::put_edge(tx, edge, memory.now())
}

/// Deletes an edge. A note that no other note supersedes any more becomes active again.
fn remove(tx: &mut Transaction<'_>, EdgeId { src, kind, dst }: EdgeId, memory: &Memory) -> Result<()> {
    tx.delete_edge(src, kind, dst)?;
    if kind != EdgeKind::Supersedes || supersede::successor(tx, dst)?.is_some() {
        return Ok(());
    }
    match tx.node(dst)? {
        Some(mut node) if node.state == State::Superseded => {
            node.state = State::Active;
            node.version = node.version.saturating_add(1);
            node.modified = memory.now();
            tx.put_node(&node)
        }
        _ => Ok(()),
    }
}

/// Retires the notes of both stores that the remote retired without a `supersedes` edge. Returns their number.
pub(super) fn follow_retired(sync: &Sync<'_>, local: &Inventory, remote: &Inventory) -> Result<u64> {
    let marks = binding::marks(&sync.local.store, sync.tenant)?;
    let is_marked = |own: &InventoryNote| marks.get(&own.id).is_some_and(|mark| mark.hash == own.hash);
    let mut retired = Vec::new();
    for own in local.texts().filter(|own| own.state.is_live() && is_marked(own)) {
        let Some(other) = remote.with_hash(&own.hash) else { continue };
        let is = |store: &Store, id, state: &dyn Fn(State) -> bool| -> Result<bool> {
            Ok(store.node(id)?.is_some_and(|node| node.content_hash == own.hash && state(node.state)))
        };
        if other.state == State::Superseded
            && is(&sync.remote.store, other.id, &|state| state == State::Superseded)?
            && is(&sync.local.store, own.id, &State::is_live)?
        {
            retired.push(own.id);
        }
    }
    sync.write_local(&retired, |tx, id| match tx.node(*id)?.filter(|node| node.state.is_live()) {
        Some(node) => supersede::retire(tx, node, sync.local.now()),
        None => Ok(()),
    })?;
    Ok(retired.len() as u64)
}
