//! The data that a successor takes over from the note that it replaces, in addition to the links.
//!
//! | of the replaced note | the successor |
//! |---|---|
//! | sources | gets them, unless an agent derived the replaced note and not the successor |
//! | derived notes, confirmed questions | gets them; derived notes become stale |
//! | order edges of its session | takes its place; a successor with a place of its own keeps that, and the gap closes |
//! | learned edges, keyword edges | gets those that it does not have, keyword edges if the keyword is its own |
//! | activity | gets the greater weight, the later replay and the sum of the uses |
//! | visits | count for it if both have the same text; otherwise agents have not read it |
//!
//! The replaced note keeps its own data, so that an undo has nothing to restore there.

#[cfg(test)]
mod tests;

use super::weight::decayed_activity_of;
use super::{confirmed_question, derivation, resolve};
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Edge, EdgeKind, Node, NodeId, Visit, one_line};
use poc_rank::cosine::cosine;
use poc_store::{Records, Transaction};

/// Transfers data from `old`, as it was before it was retired, to `new`.
pub(super) fn apply(
    tx: &mut Transaction<'_>,
    old: &Node,
    new: NodeId,
    config: &Config,
    now: Timestamp,
) -> Result<()> {
    derivation::inherit(tx, old.id, new, now)?;
    confirmed_question::remove_oldest(tx, new, config.reinforce.questions)?;
    let new = resolve::expect(tx, new)?;
    take_place_in_session(tx, old.id, new.id)?;
    take_associations(tx, old.id, &new)?;
    let taken = decayed_activity_of(tx, old, &config.weight, now)?;
    let own = decayed_activity_of(tx, &new, &config.weight, now)?;
    let both = combined(&taken, &own);
    if both != own {
        tx.put_activity(new.id, &both)?;
    }
    take_visits(tx, old, &new)
}

/// Transfers data from a split note to its parts, in addition to what the overview gets that replaced it:
/// each part gets its sources, weight and replay state, and each note derived from it goes to the nearest
/// part.
///
/// # Errors
/// Those of the store.
pub fn apply_to_parts(
    tx: &mut Transaction<'_>,
    old: NodeId,
    parts: &[NodeId],
    embedder: &str,
    config: &Config,
    now: Timestamp,
) -> Result<()> {
    let old = resolve::expect(tx, old)?;
    let edges = tx.edges(old.id)?;
    let derived_from = |edge: &&Edge| edge.kind == EdgeKind::DerivedFrom;
    let activity = decayed_activity_of(tx, &old, &config.weight, now)?;
    for &part in parts {
        for edge in edges.iter().filter(derived_from).filter(|edge| edge.src == old.id) {
            derivation::add_sources(tx, part, &[edge.dst], &edge.provenance, &edge.reason, now)?;
        }
        tx.put_activity(part, &Activity { accesses: 0, ..activity })?;
    }
    for edge in edges.iter().filter(derived_from).filter(|edge| edge.dst == old.id) {
        if let Some(part) = nearest(tx, edge.src, parts, embedder)? {
            derivation::add_sources(tx, edge.src, &[part], &edge.provenance, &edge.reason, now)?;
        }
    }
    Ok(())
}

/// The part that is most similar to a note.
fn nearest(tx: &Transaction<'_>, note: NodeId, parts: &[NodeId], embedder: &str) -> Result<Option<NodeId>> {
    let own = tx.vectors(note, embedder)?;
    let mut best: Option<(f64, NodeId)> = None;
    for &part in parts {
        let vectors = tx.vectors(part, embedder)?;
        let pairs = own.iter().flat_map(|own| vectors.iter().map(move |other| cosine(own, other)));
        if let Some(similarity) = pairs.max_by(f64::total_cmp)
            && best.is_none_or(|(best, _)| similarity > best)
        {
            best = Some((similarity, part));
        }
    }
    Ok(best.map(|(_, part)| part))
}

/// The combined activity of two notes.
fn combined(a: &Activity, b: &Activity) -> Activity {
    Activity {
        weight: a.weight.max(b.weight),
        touched: a.touched.max(b.touched),
        accesses: a.accesses.saturating_add(b.accesses),
        replay_interval: a.replay_interval.max(b.replay_interval),
        replayed: a.replayed.max(b.replayed),
        judged: a.judged.max(b.judged),
    }
}

/// The edge with `to` in place of `from`.
fn moved(edge: &Edge, from: NodeId, to: NodeId) -> Edge {
    let end = |end: NodeId| if end == from { to } else { end };
    Edge { src: end(edge.src), dst: end(edge.dst), ..edge.clone() }
}

/// Puts an edge unless it leads to itself, exists, or has an end that is no longer live.
fn put_if_new(tx: &mut Transaction<'_>, edge: &Edge) -> Result<()> {
    let is_live = |id: NodeId| -> Result<bool> { Ok(tx.node(id)?.is_some_and(|node| node.state.is_live())) };
    if edge.src == edge.dst
        || tx.edge(edge.src, edge.kind, edge.dst)?.is_some()
        || !is_live(edge.src)?
        || !is_live(edge.dst)?
    {
        return Ok(());
    }
    tx.put_edge(edge)
}

/// The order edges of a node: pairs of an outgoing and an incoming `structural` edge to a live neighbour.
fn order_edges(tx: &Transaction<'_>, id: NodeId) -> Result<Vec<(Edge, Edge)>> {
    let mut pairs = Vec::new();
    for out in tx.edges_from(id, &[EdgeKind::Structural])? {
        let back = tx.edge(out.dst, EdgeKind::Structural, id)?.filter(|back| back.src != id);
        if let Some(back) = back
            && tx.node(out.dst)?.is_some_and(|node| node.state.is_live())
        {
            pairs.push((out, back));
        }
    }
    Ok(pairs)
}

/// Puts `new` into the place of `old` in its session. If `new` has a place elsewhere, the neighbours of `old` become
/// neighbours of each other instead, so that no session branches.
fn take_place_in_session(tx: &mut Transaction<'_>, old: NodeId, new: NodeId) -> Result<()> {
    let places = order_edges(tx, old)?;
    let is_beside = places.iter().any(|(out, _)| out.dst == new);
    let has_own = order_edges(tx, new)?.iter().any(|(out, _)| out.dst != old);
    if is_beside || !has_own {
        for (out, back) in &places {
            put_if_new(tx, &moved(out, old, new))?;
            put_if_new(tx, &moved(back, old, new))?;
        }
    } else if let [(one, _), (other, _)] = places.as_slice() {
        put_if_new(tx, &moved(other, old, one.dst))?;
        put_if_new(tx, &moved(one, old, other.dst))?;
    }
    Ok(())
}

/// Copies what recalls have learned about `old`, its one-way `structural` edges, and its keyword edges for keywords
/// that `new` has.
fn take_associations(tx: &mut Transaction<'_>, old: NodeId, new: &Node) -> Result<()> {
    let in_order: Vec<NodeId> = order_edges(tx, old)?.iter().map(|(out, _)| out.dst).collect();
    for edge in tx.edges(old)? {
        let other = if edge.src == old { edge.dst } else { edge.src };
        let edge = moved(&edge, old, new.id);
        match edge.kind {
            EdgeKind::Structural if in_order.contains(&other) => {}
            EdgeKind::CoRetrieval | EdgeKind::CoTraversal | EdgeKind::Structural => put_if_new(tx, &edge)?,
            EdgeKind::Keyword if tx.edge(edge.dst, edge.kind, edge.src)?.is_none() => {
                let theirs = tx.node(other)?.map(|node| node.keywords).unwrap_or_default();
                let shared: Vec<&str> =
                    new.keywords.iter().filter(|word| theirs.contains(word)).map(String::as_str).collect();
                if !shared.is_empty() {
                    put_if_new(tx, &Edge { reason: shared.join(", "), ..edge })?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Copies the visits of `old` to `new` if both have the same text, because agents need not read it again.
fn take_visits(tx: &mut Transaction<'_>, old: &Node, new: &Node) -> Result<()> {
    if one_line(&old.text()) != one_line(&new.text()) {
        return Ok(());
    }
    for (agent, visit) in tx.visits(old.id)? {
        let own = tx.visit(&agent, new.id)?;
        let is_fresh = visit.version >= old.version;
        if is_fresh && own.is_none_or(|own| own.version < new.version || own.at < visit.at) {
            tx.put_visit(&agent, new.id, &Visit { version: new.version, ..visit })?;
        }
    }
    Ok(())
}
