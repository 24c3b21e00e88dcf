//! Undoes a transaction of an import or a sync, or of the undo of one, in units: each note with all of its records, and
//! each link of other notes. Notes that depend on each other are one unit.

use super::restore::{is_kept, named_node, restore_unless_used};
use super::unit_dependencies::UnitDependencies;
use super::unit_order::{Attempt, undo_in_rounds};
use crate::Memory;
use poc_graph::error::Result;
use poc_graph::{Edge, EdgeId, EdgeKind, NodeId};
use poc_store::{LoggedTransaction, Table, Transaction, Write};
use std::collections::{HashMap, HashSet};

/// The note or the edge to which a write belongs. For notes that depend on each other, it is the same note.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Note(NodeId),
    Edge(EdgeId),
}

/// The outcome of undoing a unit.
pub(super) enum UnitOutcome {
    Undone,
    /// Its note or edge was as before the transaction already.
    Reverted,
    /// It is unchanged, for this reason.
    Left(String),
}

/// The writes of a transaction by the units that can be undone independently, in the order of their first writes.
pub(super) struct Units<'t> {
    txn: &'t LoggedTransaction,
    writes: Vec<Vec<Write>>,
}

impl Units<'_> {
    /// The units of a transaction. `None` if it has only one, or if a record belongs to no unit.
    pub(super) fn of(txn: &LoggedTransaction) -> Option<Units<'_>> {
        let of_nodes = txn.writes.iter().filter(|write| write.table == Table::Nodes);
        let notes: HashSet<NodeId> = of_nodes.filter_map(Write::node_id).collect();
        let groups = NoteGroups::of(txn, &notes);
        let mut indexes: HashMap<Owner, usize> = HashMap::new();
        let mut writes: Vec<Vec<Write>> = Vec::new();
        for write in txn.writes.iter().filter(|write| !is_kept(write.table)) {
            let index = *indexes.entry(owner(write, &notes, &groups)?).or_insert(writes.len());
            match writes.get_mut(index) {
                Some(unit) => unit.push(write.clone()),
                None => writes.push(vec![write.clone()]),
            }
        }
        (writes.len() > 1).then_some(Units { txn, writes })
    }

    /// The writes of each unit.
    pub(super) fn writes(&self) -> impl Iterator<Item = &[Write]> {
        self.writes.iter().map(Vec::as_slice)
    }

    /// The notes of the units that were not undone.
    pub(super) fn notes_left(&self, outcomes: &[UnitOutcome]) -> HashSet<NodeId> {
        let units = self.writes.iter().zip(outcomes);
        let left = units.filter(|(_, outcome)| matches!(outcome, UnitOutcome::Left(_)));
        let writes = left.flat_map(|(unit, _)| unit);
        writes
            .filter(|write| matches!(write.table, Table::Nodes | Table::Frames))
            .filter_map(Write::node_id)
            .collect()
    }

    /// Undoes all units that were not changed since. `notes` are those of the whole call.
    pub(super) fn undo(
        &self,
        memory: &Memory,
        tx: &mut Transaction<'_>,
        notes: &HashSet<NodeId>,
    ) -> Result<Vec<UnitOutcome>> {
        let made =
            self.txn.writes.iter().filter(|write| write.table == Table::Edges && write.after.is_some());
        let own: HashSet<EdgeId> = made.filter_map(Write::edge_id).collect();
        let is_own = |edge: &Edge| own.contains(&edge.id()) || is_replaceable(edge.id(), notes);
        let mut outcomes: Vec<UnitOutcome> =
            self.writes.iter().map(|_| UnitOutcome::Left(String::new())).collect();
        // A unit may be left only until another one is undone, for example because that one has its text.
        let dependencies = UnitDependencies::of(tx, &self.writes)?;
        undo_in_rounds(self.writes.len(), |index| {
            let (Some(unit), Some(outcome)) = (self.writes.get(index), outcomes.get_mut(index)) else {
                return Ok(Attempt::Left);
            };
            if is_reverted(tx, unit)? {
                *outcome = UnitOutcome::Reverted;
                return Ok(Attempt::Reverted);
            }
            let writes = without_settled_edges(tx, unit, notes)?;
            if let Some(reason) = restore_unless_used(memory, tx, &writes, &is_own)? {
                *outcome = UnitOutcome::Left(reason);
                return Ok(Attempt::Left);
            }
            *outcome = UnitOutcome::Undone;
            Ok(Attempt::Undone(dependencies.waiting_for(unit)?))
        })?;
        Ok(outcomes)
    }
}

/// Groups of notes that depend on each other, because one replaces the other, got its key, or took over its edges or
/// visits. This is a union-find structure: each note has a parent in its group, and the root is its own parent.
#[derive(Default)]
struct NoteGroups {
    parents: HashMap<NodeId, NodeId>,
    /// The number of notes of each group, by its root. The smaller group is joined to the larger one, so that no note has
    /// many ancestors.
    sizes: HashMap<NodeId, usize>,
}

impl NoteGroups {
    /// The groups of a transaction that wrote these notes.
    fn of(txn: &LoggedTransaction, notes: &HashSet<NodeId>) -> NoteGroups {
        let mut groups = NoteGroups::default();
        let edges =
            || txn.writes.iter().filter(|write| write.table == Table::Edges).filter_map(Write::edge_id);
        for edge in edges().filter(|edge| edge.kind == EdgeKind::Supersedes) {
            groups.join(edge.src, edge.dst);
        }
        for write in txn.writes.iter().filter(|write| write.table == Table::Keys) {
            if let (Some(before), Some(after)) = named(write)
                && before != after
            {
                groups.join(before, after);
            }
        }
        if groups.parents.is_empty() {
            return groups;
        }
        let related: Vec<EdgeId> = edges()
            .filter(|edge| !edge.kind.is_automatic())
            .filter(|edge| {
                [edge.src, edge.dst].iter().all(|end| notes.contains(end) || groups.contains(*end))
            })
            .collect();
        for edge in related {
            groups.join(edge.src, edge.dst);
        }
        groups
    }

    fn contains(&self, note: NodeId) -> bool {
        self.parents.contains_key(&note)
    }

    /// The note that represents the group of a note; the note itself if it has none.
    fn representative(&self, mut note: NodeId) -> NodeId {
        while let Some(&next) = self.parents.get(&note).filter(|next| **next != note) {
            note = next;
        }
        note
    }

    fn join(&mut self, one: NodeId, other: NodeId) {
        let (one, other) = (self.representative(one), self.representative(other));
        let size = |root: NodeId| self.sizes.get(&root).copied().unwrap_or(1);
        let (size_of_one, size_of_other) = (size(one), size(other));
        let (smaller, larger) = if size_of_one < size_of_other { (one, other) } else { (other, one) };
        self.parents.insert(smaller, larger);
        self.parents.insert(larger, larger);
        if smaller != larger {
            self.sizes.insert(larger, size_of_one + size_of_other);
        }
    }
}

/// The owner of a write. An edge belongs to the group of one of its notes, if any has one, or to its source if the
/// transaction wrote that note, otherwise to its target.
fn owner(write: &Write, notes: &HashSet<NodeId>, groups: &NoteGroups) -> Option<Owner> {
    let note = |note: NodeId| Owner::Note(groups.representative(note));
    match write.table {
        Table::Nodes | Table::Vectors | Table::Visits | Table::Activity | Table::Frames => {
            write.node_id().map(note)
        }
        Table::Hashes | Table::Keywords => Some(note(NodeId::from_bytes(*write.key.last_chunk()?))),
        Table::Keys => {
            let (before, after) = named(write);
            after.or(before).map(note)
        }
        Table::Edges | Table::EdgesIn => {
            let edge = write.edge_id()?;
            let ends = [edge.src, edge.dst];
            if let Some(end) = ends.into_iter().find(|end| groups.contains(*end)) {
                return Some(note(end));
            }
            // When a note is replaced by one with a place of its own in a session, its neighbours are connected. These
            // edges name neither note.
            if edge.kind == EdgeKind::Structural && !groups.parents.is_empty() && !notes.is_empty() {
                return None;
            }
            let end = ends.into_iter().find(|end| notes.contains(end));
            Some(end.map_or(Owner::Edge(edge), Owner::Note))
        }
        _ => None,
    }
}

/// The notes that a key named before and after a write.
fn named(write: &Write) -> (Option<NodeId>, Option<NodeId>) {
    (named_node(write.before.as_deref()), named_node(write.after.as_deref()))
}

/// Whether an edge is an automatic one between notes of the call. A new text of one of them replaces it.
fn is_replaceable(edge: EdgeId, notes: &HashSet<NodeId>) -> bool {
    edge.kind.is_automatic() && notes.contains(&edge.src) && notes.contains(&edge.dst)
}

/// Whether the notes of a unit, or its edges if it has no note, are as before the transaction.
fn is_reverted(tx: &Transaction<'_>, unit: &[Write]) -> Result<bool> {
    let has_notes = unit.iter().any(|write| write.table == Table::Nodes);
    let table = if has_notes { Table::Nodes } else { Table::Edges };
    let mut changed =
        unit.iter().filter(|write| write.table == table && write.before != write.after).peekable();
    if changed.peek().is_none() {
        return Ok(false);
    }
    for write in changed {
        if tx.get_raw(write.table, &write.key)? != write.before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The writes of a unit, except those of edges that need no undo. These are edges that were deleted since, together
/// with the note at their other end, and automatic edges between notes of the call that changed since, because the text
/// of the other note changed.
fn without_settled_edges(
    tx: &Transaction<'_>,
    unit: &[Write],
    notes: &HashSet<NodeId>,
) -> Result<Vec<Write>> {
    let mut settled: HashSet<EdgeId> = HashSet::new();
    for write in unit.iter().filter(|write| write.table == Table::Edges) {
        let Some(edge) = write.edge_id() else { continue };
        let now = tx.get_raw(write.table, &write.key)?;
        if now == write.after {
            continue;
        }
        let is_gone = now == write.before && (tx.node(edge.src)?.is_none() || tx.node(edge.dst)?.is_none());
        if is_gone || is_replaceable(edge, notes) {
            settled.insert(edge);
        }
    }
    let is_settled = |write: &&Write| write.edge_id().is_some_and(|edge| settled.contains(&edge));
    Ok(unit.iter().filter(|write| !is_settled(write)).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::node;

    #[test]
    fn no_note_of_a_long_chain_of_replacements_has_many_ancestors() {
        let mut groups = NoteGroups::default();
        let note = |number: u64| node(number).id;
        (1..1000).for_each(|number| groups.join(note(number), note(number + 1)));
        groups.join(note(7), note(900));
        let representative = groups.representative(note(1));
        for number in 1..=1000 {
            let ancestors = std::iter::successors(Some(note(number)), |note| {
                groups.parents.get(note).copied().filter(|parent| parent != note)
            });
            assert!(ancestors.count() <= 11);
            assert_eq!(groups.representative(note(number)), representative);
        }
        assert!(!groups.contains(note(1001)));
    }
}
