//! Restores records to what they were before some writes, unless they were changed again since.

use crate::{Memory, history, weight};
use poc_config::Config;
use poc_graph::error::Result;
use poc_graph::{Activity, Edge, EdgeKind, Node, NodeId};
use poc_rank::decay::{decayed, lambda};
use poc_store::{Record, Table, Transaction, Write};
use std::collections::{HashMap, HashSet};

/// Whether [`restore`] ignores the records of a table: counters of samples, because others were added since; names of
/// tenants; and the records of a vault's files, which are restored after the notes.
pub(super) fn is_kept(table: Table) -> bool {
    matches!(table, Table::Samples | Table::Tenants | Table::Vaults)
}

/// Restores all records to their state before the writes, or restores none and returns the reason.
pub fn restore(memory: &Memory, tx: &mut Transaction<'_>, writes: &[Write]) -> Result<Option<String>> {
    let own = linked_pairs(writes)?;
    let is_own = |edge: &Edge| own.contains(&(edge.src, edge.dst));
    restore_unless_used(memory, tx, writes, &is_own)
}

/// Like [`restore`]. A node that the writes created is deleted only if all its edges are learned ones or `is_own`
/// accepts them.
pub(super) fn restore_unless_used(
    memory: &Memory,
    tx: &mut Transaction<'_>,
    writes: &[Write],
    is_own: &dyn Fn(&Edge) -> bool,
) -> Result<Option<String>> {
    let restored = || writes.iter().filter(|write| !is_kept(write.table));
    let takes_over = writes.iter().any(is_succession);
    let mut used = Vec::new();
    let mut learned: HashSet<(Table, Vec<u8>)> = HashSet::new();
    for write in restored() {
        let now = tx.get_raw(write.table, &write.key)?;
        if is_unchanged(write, now.as_deref())? {
            continue;
        }
        if takes_over && is_learning(write, now.as_deref())? {
            learned.insert((write.table, write.key.clone()));
            learned.extend(mirror(write)?);
            continue;
        }
        match activity_without_change(tx, write, now.as_deref(), takes_over, &memory.config)? {
            Some(activity) => used.push(activity),
            None => return later_change(memory, tx, write).map(Some),
        }
    }
    let embedded = changed_texts(writes)?;
    let missing = missing_vectors(&embedded, memory.embedder.name());
    let nodes = node_writes(writes);
    for reason in [
        duplicate_text(tx, &nodes, writes)?,
        retired_successor(tx, &nodes, writes)?,
        missing_end(memory, tx, writes)?,
        missing,
    ] {
        if reason.is_some() {
            return Ok(reason);
        }
    }
    let created = created_nodes(writes)?;
    for node in &created {
        if let Some(reason) = in_use(tx, node, is_own)? {
            return Ok(Some(reason));
        }
    }
    for node in created {
        tx.delete_node(node.id)?;
    }
    let is_learned = |write: &&Write| learned.contains(&(write.table, write.key.clone()));
    for write in restored().filter(|write| !is_learned(write)) {
        let before = with_present_names(tx, write)?;
        tx.put_raw(write.table, &write.key, before)?;
    }
    restored().try_for_each(|write| delete_dangling(tx, write))?;
    for (node, embedders) in embedded {
        // Vectors that were added since belong to the undone text.
        if tx.node(node.id)?.is_some() {
            tx.retain_vectors(node.id, &embedders)?;
        }
    }
    for (id, activity) in used {
        if tx.node(id)?.is_some() {
            tx.put_activity(id, &activity)?;
        }
    }
    Ok(None)
}

/// The activity of a node that was used since the change, without the effect of the change on the weight,
/// decayed to now. `None` if the write is not an activity, or if anything but uses has changed the activity
/// since. Activity that a note took over from another note is always subtracted.
fn activity_without_change(
    tx: &Transaction<'_>,
    write: &Write,
    now: Option<&[u8]>,
    takes_over: bool,
    config: &Config,
) -> Result<Option<(NodeId, Activity)>> {
    let (Table::Activity, Some(after), Some(now)) = (write.table, write.after.as_deref(), now) else {
        return Ok(None);
    };
    let (after, now) = (Activity::decode(after)?, Activity::decode(now)?);
    let may_differ = takes_over || now.accesses > after.accesses;
    let Some(node) = node_of(tx, write)?.filter(|_| may_differ) else { return Ok(None) };
    let before = match write.before.as_deref() {
        Some(before) => Activity::decode(before)?,
        None => Activity::initial(node.created),
    };
    let (lambda, bounds) = (lambda(&config.weight, node.category), &config.weight);
    let effect = after.weight - weight::current(&before, lambda, bounds, after.touched);
    let remains = decayed(effect, lambda, now.touched.seconds_since(after.touched));
    let weight = (now.weight - remains).clamp(bounds.floor, bounds.cap);
    let own = Activity { weight, ..now };
    if !takes_over {
        return Ok(Some((node.id, own)));
    }
    let taken_over = after.accesses.saturating_sub(before.accesses);
    let is_replayed = (now.replay_interval, now.replayed) != (after.replay_interval, after.replayed);
    let (replay_interval, replayed) = if is_replayed {
        (now.replay_interval, now.replayed)
    } else {
        (before.replay_interval, before.replayed)
    };
    let judged = if now.judged == after.judged { before.judged } else { now.judged };
    let accesses = now.accesses.saturating_sub(taken_over);
    Ok(Some((node.id, Activity { accesses, replay_interval, replayed, judged, ..own })))
}

/// Whether a write supersedes a note, whose visits and learned edges its successor took over.
fn is_succession(write: &Write) -> bool {
    let edge = write.after.as_deref().filter(|_| write.table == Table::Edges).map(Edge::decode);
    edge.is_some_and(|edge| edge.is_ok_and(|edge| edge.kind == EdgeKind::Supersedes))
}

/// Whether a record that a note took over was only renewed since, because an agent visited the note again or
/// a recall strengthened a learned edge. Such records are kept.
fn is_learning(write: &Write, now: Option<&[u8]>) -> Result<bool> {
    let (Some(after), Some(_)) = (write.after.as_deref(), now) else { return Ok(false) };
    Ok(match write.table {
        Table::Visits => true,
        Table::Edges => is_learned(Edge::decode(after)?.kind),
        _ => false,
    })
}

/// Whether recalls create and strengthen edges of a kind.
fn is_learned(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::CoRetrieval | EdgeKind::CoTraversal)
}

/// The entry of an edge in the index of incoming edges.
fn mirror(write: &Write) -> Result<Option<(Table, Vec<u8>)>> {
    let edge =
        write.after.as_deref().filter(|_| write.table == Table::Edges).map(Edge::decode).transpose()?;
    Ok(edge.map(|edge| {
        let key = [edge.dst.as_bytes().as_slice(), &[edge.kind as u8], edge.src.as_bytes()].concat();
        (Table::EdgesIn, key)
    }))
}

/// Whether a record is still as it was after the change. The origin of a note is ignored, because a push changes only
/// the origin, and so are its other names, which follow its file, unless the change itself has set them. A note that
/// the change created may have become stale or active again since, with its sources.
fn is_unchanged(write: &Write, now: Option<&[u8]>) -> Result<bool> {
    let after = write.after.as_deref();
    if after == now || write.table != Table::Nodes {
        return Ok(after == now);
    }
    let (Some(after), Some(now)) = (after, now) else { return Ok(false) };
    let (after, now) = (Node::decode(after)?, Node::decode(now)?);
    let other_names = if sets_other_names(write, &after)? { &after.other_names } else { &now.other_names };
    let other_names = other_names.clone();
    let after = Node { origin: now.origin, other_names, ..after };
    let follows_sources = write.before.is_none() && after.state.is_live() && now.state.is_live();
    let Node { state, version, modified, .. } = now;
    Ok(after == now || follows_sources && Node { state, version, modified, ..after } == now)
}

/// Whether a write changed the other names of a note that existed. `after` is the note after the write.
fn sets_other_names(write: &Write, after: &Node) -> Result<bool> {
    let before = write.before.as_deref().map(Node::decode).transpose()?;
    Ok(before.is_some_and(|before| before.other_names != after.other_names))
}

/// The record before a write. A note keeps the other names that it got since, unless the write itself set them.
fn with_present_names(tx: &Transaction<'_>, write: &Write) -> Result<Option<Vec<u8>>> {
    let (Table::Nodes, Some(before), Some(after)) =
        (write.table, write.before.as_deref(), write.after.as_deref())
    else {
        return Ok(write.before.clone());
    };
    let (before, after) = (Node::decode(before)?, Node::decode(after)?);
    let now = tx.node(before.id)?.filter(|now| now.other_names != after.other_names);
    match now {
        Some(now) if before.other_names == after.other_names => {
            Ok(Some(Node { other_names: now.other_names, ..before }.encode()?))
        }
        _ => Ok(write.before.clone()),
    }
}

/// The writes of nodes, by key; the first one if there are several.
type NodeWrites<'a> = HashMap<&'a [u8], &'a Write>;

fn node_writes(writes: &[Write]) -> NodeWrites<'_> {
    let of_nodes = writes.iter().rev().filter(|write| write.table == Table::Nodes);
    of_nodes.map(|write| (write.key.as_slice(), write)).collect()
}

/// The nodes that the writes created.
fn created_nodes(writes: &[Write]) -> Result<Vec<Node>> {
    let created = writes.iter().filter(|write| write.table == Table::Nodes && write.before.is_none());
    created.filter_map(|write| write.after.as_deref().map(Node::decode)).collect()
}

/// Why a node that the change created cannot be deleted: edges other than learned ones were added to it
/// since.
fn in_use(tx: &Transaction<'_>, node: &Node, is_own: &dyn Fn(&Edge) -> bool) -> Result<Option<String>> {
    let has_new_edge = tx.edges(node.id)?.iter().any(|edge| !is_learned(edge.kind) && !is_own(edge));
    Ok(has_new_edge.then(|| format!("`{}` has new links since", node.key)))
}

/// The pairs of nodes between which writes left an edge.
fn linked_pairs(writes: &[Write]) -> Result<HashSet<(NodeId, NodeId)>> {
    writes
        .iter()
        .filter(|write| write.table == Table::Edges)
        .filter_map(|write| write.after.as_deref().map(Edge::decode))
        .map(|edge| edge.map(|edge| (edge.src, edge.dst)))
        .collect()
}

/// Why a write cannot be undone: its record changed since, or a note to which the record belongs was deleted.
fn later_change(memory: &Memory, tx: &Transaction<'_>, write: &Write) -> Result<String> {
    if let Some(name) = write.name()
        && let Some(owner) = named_node(tx.get_raw(write.table, &write.key)?.as_deref())
        && let Some(node) = tx.node(owner)?
    {
        return Ok(format!("the name `{name}` now belongs to the note `{}`", node.key));
    }
    let mut keys = Vec::new();
    for id in notes_of(write) {
        match tx.node(id)? {
            Some(node) => keys.push(node.key),
            None if write.after.is_some() => {
                return Ok(format!("the note `{}` was deleted since", history::last_key(memory, id)?));
            }
            None => {}
        }
    }
    let what = match write.table {
        Table::Nodes => "the note",
        Table::Activity => "the weight of the note",
        Table::Edges | Table::EdgesIn => "the link between",
        _ => "a record of the note",
    };
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Ok(match keys.is_empty() {
        true => "a record that belongs to no note changed since".to_owned(),
        false => format!("{what} {} changed since", keys.join(" and ")),
    })
}

/// The notes to which a record belongs: both for an edge, otherwise one or none.
fn notes_of(write: &Write) -> Vec<NodeId> {
    match write.table {
        Table::Edges | Table::EdgesIn => {
            write.edge_id().map(|edge| vec![edge.src, edge.dst]).unwrap_or_default()
        }
        Table::Nodes | Table::Vectors | Table::Visits | Table::Activity | Table::Frames => {
            write.node_id().into_iter().collect()
        }
        Table::Hashes | Table::Keywords => {
            write.key.last_chunk().map(|id| NodeId::from_bytes(*id)).into_iter().collect()
        }
        Table::Keys => named_node(write.after.as_deref().or(write.before.as_deref())).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The note that the entry of a name leads to.
pub(super) fn named_node(value: Option<&[u8]>) -> Option<NodeId> {
    Some(NodeId::from_bytes(*value?.first_chunk()?))
}

/// The node a record belongs to.
fn node_of(tx: &Transaction<'_>, write: &Write) -> Result<Option<Node>> {
    Ok(write.node_id().map(|id| tx.node(id)).transpose()?.flatten())
}

/// Deletes a restored edge or visit if one of its notes was deleted since. This happens when the undo
/// restores a note whose neighbours were deleted.
fn delete_dangling(tx: &mut Transaction<'_>, write: &Write) -> Result<()> {
    let Some(before) = write.before.as_deref() else { return Ok(()) };
    match write.table {
        Table::Edges => {
            let edge = Edge::decode(before)?;
            if tx.node(edge.src)?.is_none() || tx.node(edge.dst)?.is_none() {
                tx.delete_edge(edge.src, edge.kind, edge.dst)?;
            }
        }
        Table::Visits if node_of(tx, write)?.is_none() => {
            tx.put_raw(write.table, &write.key, None)?;
        }
        _ => {}
    }
    Ok(())
}

/// Why a note cannot be retired again: its successor has been retired itself.
fn retired_successor(
    tx: &Transaction<'_>,
    nodes: &NodeWrites<'_>,
    writes: &[Write],
) -> Result<Option<String>> {
    for write in writes.iter().filter(|write| write.table == Table::Edges) {
        let Some(edge) = write.before.as_deref().map(Edge::decode).transpose()? else { continue };
        if edge.kind != EdgeKind::Supersedes {
            continue;
        }
        let successor = match nodes.get(edge.src.as_bytes().as_slice()) {
            Some(own) => own.before.as_deref().map(Node::decode).transpose()?,
            None => tx.node(edge.src)?,
        };
        if let Some(successor) = successor.filter(|successor| !successor.state.is_live()) {
            return Ok(Some(format!("its replacement `{}` is now {}", successor.key, successor.state)));
        }
    }
    Ok(None)
}

/// Why a link cannot be restored: one of its notes was deleted since. If the other note is restored by the
/// same undo, the edge is left out instead.
fn missing_end(memory: &Memory, tx: &Transaction<'_>, writes: &[Write]) -> Result<Option<String>> {
    if writes.iter().any(|write| write.table == Table::Nodes) {
        return Ok(None);
    }
    for write in writes.iter().filter(|write| write.table == Table::Edges) {
        let Some(edge) = write.before.as_deref().map(Edge::decode).transpose()? else { continue };
        for end in [edge.src, edge.dst] {
            if tx.node(end)?.is_none() {
                let key = history::last_key(memory, end)?;
                return Ok(Some(format!("the note `{key}` was deleted; restore it first")));
            }
        }
    }
    Ok(None)
}

/// Why a text cannot be restored: the writes only have vectors of an embedder that is no longer in use.
fn missing_vectors(embedded: &[ChangedText<'_>], embedder: &str) -> Option<String> {
    let lacking = |(_, own): &&ChangedText<'_>| !own.is_empty() && !own.contains(&embedder.as_bytes());
    embedded.iter().find(lacking).map(|(Node { key, .. }, _)| {
        format!("the text of `{key}` has no vectors of the current embedder `{embedder}`")
    })
}

/// A note and the names of the embedders of its vectors.
type ChangedText<'a> = (Node, Vec<&'a [u8]>);

/// The notes whose text was changed or deleted, as they were before, with the embedders of the vectors of that
/// text.
fn changed_texts(writes: &[Write]) -> Result<Vec<ChangedText<'_>>> {
    let mut embedders: HashMap<NodeId, Vec<&[u8]>> = HashMap::new();
    for vector in writes.iter().filter(|write| write.before.is_some()) {
        if let (Some(node), Some(embedder)) = (vector.node_id(), vector.embedder()) {
            embedders.entry(node).or_default().push(embedder);
        }
    }
    let mut found = Vec::new();
    for write in writes.iter().filter(|write| write.table == Table::Nodes) {
        let Some(before) = write.before.as_deref().map(Node::decode).transpose()? else { continue };
        let after = write.after.as_deref().map(Node::decode).transpose()?;
        if after.is_some_and(|after| after.content_hash == before.content_hash) {
            continue;
        }
        let own = embedders.get(&before.id).cloned().unwrap_or_default();
        found.push((before, own));
    }
    Ok(found)
}

/// Why a note cannot become live again: another live note now has the same text.
fn duplicate_text(tx: &Transaction<'_>, nodes: &NodeWrites<'_>, writes: &[Write]) -> Result<Option<String>> {
    for write in writes.iter().filter(|write| write.table == Table::Nodes) {
        let Some(node) = write.before.as_deref().map(Node::decode).transpose()? else { continue };
        let same = tx.find_hash(&node.content_hash)?.filter(|_| node.state.is_live());
        if let Some(same) = same.filter(|same| *same != node.id)
            && !nodes.contains_key(same.as_bytes().as_slice())
            && let Some(same) = tx.node(same)?
        {
            return Ok(Some(format!("`{}` now has the same text", same.key)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::node;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// `notes` have a number each, and whether their texts changed. `vectors` have the number of their note, an
        /// embedder, and whether they existed before.
        #[test]
        fn each_changed_text_has_the_embedders_of_its_own_vectors(
            notes in proptest::collection::vec((1u64..6, any::<bool>()), 0..6),
            vectors in proptest::collection::vec((1u64..6, 0u8..3, any::<bool>()), 0..12),
        ) {
            let mut writes = Vec::new();
            for (number, is_changed) in notes {
                let before = node(number);
                let content_hash = if is_changed { [7; 32] } else { before.content_hash };
                let after = Node { content_hash, ..before.clone() };
                let (before, after) = (Some(before.encode().unwrap()), Some(after.encode().unwrap()));
                let key = node(number).id.as_bytes().to_vec();
                writes.push(Write { table: Table::Nodes, key, before, after });
            }
            for (number, embedder, has_existed) in vectors {
                let key = [node(number).id.as_bytes().as_slice(), &[0, 0], &[embedder]].concat();
                let before = has_existed.then(|| vec![1]);
                writes.push(Write { table: Table::Vectors, key, before, after: None });
            }
            let mut expected: Vec<ChangedText<'_>> = Vec::new();
            for write in writes.iter().filter(|write| write.table == Table::Nodes) {
                let before = Node::decode(write.before.as_deref().unwrap()).unwrap();
                let after = Node::decode(write.after.as_deref().unwrap()).unwrap();
                let own = |vector: &&Write| vector.before.is_some() && vector.node_id() == Some(before.id);
                let embedders = writes.iter().filter(own).filter_map(Write::embedder).collect();
                if after.content_hash != before.content_hash {
                    expected.push((before, embedders));
                }
            }
            prop_assert_eq!(changed_texts(&writes).unwrap(), expected);
        }
    }
}
