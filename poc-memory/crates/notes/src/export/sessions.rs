//! The sessions of the notes of an export, each with a name and an order, from the edges between their notes.

use crate::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Ix, NodeId, View};
use rustc_hash::{FxHashMap, FxHashSet};

/// The place of a note in its session.
pub(super) struct SessionPlace {
    /// The name of the session, unique within the export.
    pub(super) name: String,
    /// The number of the note in its session, from 1.
    pub(super) position: usize,
}

impl SessionPlace {
    /// The source that an import gives to a note of the session.
    pub(super) fn source(&self) -> String {
        format!("session: {}", self.name)
    }
}

/// The places of all live notes that are in a session.
pub(super) fn places(memory: &Memory, view: &View) -> Result<FxHashMap<NodeId, SessionPlace>> {
    let mut places = FxHashMap::default();
    let (mut seen, mut names) = (FxHashSet::default(), FxHashSet::default());
    for ix in 0..view.slots() {
        if !view.is_live(ix) || seen.contains(&ix) || view.sequence_neighbors(ix).next().is_none() {
            continue;
        }
        let order = order(memory, view, ix)?;
        seen.extend(order.iter().copied());
        let name = unique_name(session_name(memory, view, &order)?, &mut names);
        let ids = order.iter().filter_map(|ix| view.id(*ix));
        places
            .extend((1..).zip(ids).map(|(position, id)| (id, SessionPlace { name: name.clone(), position })));
    }
    Ok(places)
}

/// The notes of a session in their order. Its edges have no direction, so it begins at the end that is older.
fn order(memory: &Memory, view: &View, ix: Ix) -> Result<Vec<Ix>> {
    let nodes = view.session_nodes(ix);
    let mut first: Option<((bool, Timestamp, NodeId), Ix)> = None;
    for &ix in &nodes {
        let is_end = view.sequence_neighbors(ix).count() == 1;
        if let Some(node) = view.id(ix).map(|id| memory.store.node(id)).transpose()?.flatten() {
            // A session without an end, which edges by hand can make, begins at its oldest note.
            let rank = (!is_end, node.created, node.id);
            if first.is_none_or(|(before, _)| rank < before) {
                first = Some((rank, ix));
            }
        }
    }
    let mut next: Vec<Ix> = first.map(|(_, ix)| ix).into_iter().collect();
    let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
    while let Some(ix) = next.pop() {
        if seen.insert(ix) {
            order.push(ix);
            next.extend(view.sequence_neighbors(ix).filter(|other| !seen.contains(other)));
        }
    }
    Ok(order)
}

/// The name of a session: the one in the source of its notes, or the key of its first note.
fn session_name(memory: &Memory, view: &View, order: &[Ix]) -> Result<String> {
    for id in order.iter().filter_map(|ix| view.id(*ix)) {
        let source = memory.store.node(id)?.and_then(|node| node.source);
        let field = |name: &str| source.as_deref()?.split("; ").find_map(|part| part.strip_prefix(name));
        if let Some(session) = field("session: ").filter(|session| !session.trim().is_empty()) {
            // Session names are only unique within a group.
            return Ok(
                field("group: ").map_or_else(|| session.to_owned(), |group| format!("{group} {session}"))
            );
        }
    }
    Ok(order.first().map_or_else(String::new, |ix| view.key(*ix).to_owned()))
}

/// The name, with a number if another session has the same name.
fn unique_name(name: String, names: &mut FxHashSet<String>) -> String {
    let numbered = |number: usize| if number == 1 { name.clone() } else { format!("{name} ({number})") };
    let mut number = 1;
    while !names.insert(numbered(number)) {
        number += 1;
    }
    numbered(number)
}
