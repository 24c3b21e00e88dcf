//! Undo: restores records to what they were before a change, unless they were changed again since.

mod units;

use super::history::ChangeSummary;
use super::import::IMPORT_OP;
use super::{Memory, history, quarantine, weight};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::{Activity, Edge, EdgeKind, Node, NodeId};
use poc_rank::decay::{decayed, lambda};
use poc_store::{Commit, LoggedTransaction, REPAIR_OP, Record, Table, Transaction, Write};
use std::borrow::Cow;
use std::collections::HashSet;
use units::{UnitOutcome, Units};

/// The outcome of undoing one change or action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoItem {
    /// A summary of the change.
    pub summary: String,
    /// Why it could not be undone; `None` if it was undone.
    pub refused: Option<String>,
}

/// The outcome of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// Number of the change that the undo made, which can be undone itself; `None` if nothing was undone.
    pub seq: Option<u64>,
    /// The outcome of each part of the undo.
    pub items: Vec<UndoItem>,
}

/// Undoes one change, given by the number of its transaction: all of it, or nothing if a record was changed
/// since. If the same call made several transactions, as an import does, all of them are undone, the latest
/// first, each by its own transaction; those whose records were changed since are left unchanged. Of such a
/// transaction of an import, only the notes and links that were changed since are left, if its notes are independent
/// of each other. An undo is itself a change and can be undone.
///
/// # Errors
/// `not_found` if the tenant's log has no such change, `conflict` if it belongs to a run, is not a change of
/// notes, or was written by a repair in place of lost changes.
pub fn undo(memory: &Memory, seq: u64) -> Result<UndoReport> {
    let txn = revertible(memory, seq)?.ok_or_else(|| match history::dropped(memory, seq) {
        Some(error) => error,
        None => Error::not_found(format!("there is no change {seq}"))
            .hint("`poc-memory changes` shows the latest with their numbers"),
    })?;
    if let Some(run) = txn.cause.run {
        return Err(Error::conflict(format!("change {seq} belongs to the run `{run}`"))
            .hint(format!("undo the run: `poc-memory undo {run}`")));
    }
    // The repair may have re-created all notes whose changes were lost, and an undo would delete them.
    if txn.cause.op == REPAIR_OP {
        return Err(Error::conflict(format!(
            "change {seq} was written by a repair, in place of lost changes"
        ))
        .hint("`poc-memory repair --undo` reverts the repair"));
    }
    if txn.writes.iter().any(|write| !history::is_note_table(write.table) && !is_kept(write.table)) {
        return Err(Error::conflict(format!("change {seq} (`{}`) changed more than notes", txn.cause.op))
            .hint("only changes of notes can be undone"));
    }
    if !changes_notes(&txn) {
        return Err(Error::conflict(format!("change {seq} (`{}`) changed no note", txn.cause.op)));
    }
    let began = memory.cause("manual", "undo");
    let parts = history::of_call(memory, seq, &txn.cause)?;
    let is_single = parts.len() == 1;
    let (mut undone, mut first, mut refused) = (ChangeSummary::default(), None, Vec::new());
    let mut last = None;
    let mut reverted = Vec::new();
    let mut notes_of_call: Option<HashSet<NodeId>> = None;
    for &part in &parts {
        let Some(txn) = revertible(memory, part)?.filter(changes_notes) else { continue };
        let mut summary = ChangeSummary::default();
        summary.add(memory, &txn.writes)?;
        let cause = if is_single { began.clone() } else { began.part(memory.now()) };
        let Commit { seq, value } = memory.store.transact(cause.clone(), |tx| {
            let writes = without_renewed(tx, &txn)?;
            let refused = restore(memory, tx, &writes)?;
            if refused.is_none() {
                tx.set_undoes(part);
            }
            Ok(refused)
        })?;
        if value.is_none() {
            undone.join(summary);
            (first, last) = (Some(txn.cause), Some(seq));
            continue;
        }
        let units = if txn.cause.op == IMPORT_OP { Units::of(&txn) } else { None };
        let Some(units) = units else {
            refused.push(UndoItem { summary: summary.text(&txn.cause), refused: value });
            continue;
        };
        let notes = match notes_of_call.take() {
            Some(notes) => notes,
            None => notes_of(memory, &parts)?,
        };
        let Commit { seq, value: outcomes } = memory.store.transact(cause, |tx| {
            let outcomes = units.undo(memory, tx, &notes)?;
            if !outcomes.iter().any(|outcome| matches!(outcome, UnitOutcome::Left(_))) {
                tx.set_undoes(part);
            }
            Ok(outcomes)
        })?;
        notes_of_call = Some(notes);
        if outcomes.iter().all(|outcome| matches!(outcome, UnitOutcome::Reverted)) {
            reverted.push(UndoItem { summary: summary.text(&txn.cause), refused: value });
            continue;
        }
        let mut summary = ChangeSummary::default();
        for (writes, outcome) in units.writes().zip(outcomes) {
            match outcome {
                UnitOutcome::Undone => {
                    summary.add(memory, writes)?;
                    (first, last) = (Some(txn.cause.clone()), Some(seq));
                }
                UnitOutcome::Reverted => {}
                UnitOutcome::Left(reason) => {
                    let mut left = ChangeSummary::default();
                    left.add(memory, writes)?;
                    refused.push(UndoItem { summary: left.text(&txn.cause), refused: Some(reason) });
                }
            }
        }
        undone.join(summary);
    }
    let done = first.map(|cause| UndoItem { summary: undone.text(&cause), refused: None });
    if done.is_none() && refused.is_empty() {
        refused = reverted;
    }
    Ok(UndoReport { seq: last, items: done.into_iter().chain(refused).collect() })
}

/// The nodes that some transactions wrote.
fn notes_of(memory: &Memory, parts: &[u64]) -> Result<HashSet<NodeId>> {
    let mut notes = HashSet::new();
    for &part in parts {
        let txn = memory.store.transaction(part)?;
        let writes = txn.iter().flat_map(|txn| &txn.writes);
        notes.extend(writes.filter(|write| write.table == Table::Nodes).filter_map(Write::node_id));
    }
    Ok(notes)
}

/// A transaction of the tenant with the writes that an undo may revert. Records of runs and histograms that were
/// restored from the quarantine stay.
fn revertible(memory: &Memory, seq: u64) -> Result<Option<LoggedTransaction>> {
    let mut txn = memory.store.transaction(seq)?;
    if let Some(txn) = txn.as_mut().filter(|txn| txn.cause.op == quarantine::OP) {
        txn.writes.retain(|write| history::is_note_table(write.table) || is_kept(write.table));
    }
    Ok(txn)
}

/// The writes of a transaction, without visits and weights that were restored from the quarantine and have changed
/// since: an undo does not revert these.
fn without_renewed<'t>(tx: &Transaction<'_>, txn: &'t LoggedTransaction) -> Result<Cow<'t, [Write]>> {
    if txn.cause.op != quarantine::OP {
        return Ok(Cow::Borrowed(txn.writes.as_slice()));
    }
    let mut writes = Vec::with_capacity(txn.writes.len());
    for write in &txn.writes {
        let is_renewable = matches!(write.table, Table::Visits | Table::Activity);
        if !is_renewable || tx.get_raw(write.table, &write.key)? == write.after {
            writes.push(write.clone());
        }
    }
    Ok(Cow::Owned(writes))
}

/// Whether a transaction changed notes. One that writes only vectors, as in a migration, did not.
fn changes_notes(txn: &LoggedTransaction) -> bool {
    !txn.writes.iter().all(|write| is_kept(write.table) || write.table == Table::Vectors)
}

/// Whether an undo leaves the records of a table unchanged: counters of samples, because others were added
/// since; names of tenants; and the records of a vault's files, because the files themselves do not change.
fn is_kept(table: Table) -> bool {
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
fn restore_unless_used(
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
            None => return Ok(Some(format!("{} changed since", record_name(tx, write)?))),
        }
    }
    let embedded = changed_texts(writes)?;
    let missing = missing_vectors(&embedded, memory.embedder.name());
    for reason in
        [duplicate_text(tx, writes)?, retired_successor(tx, writes)?, missing_end(tx, writes)?, missing]
    {
        if reason.is_some() {
            return Ok(reason);
        }
    }
    let created: Vec<Node> = writes
        .iter()
        .filter(|write| write.table == Table::Nodes && write.before.is_none())
        .filter_map(|write| write.after.as_deref().map(Node::decode))
        .collect::<Result<_>>()?;
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
    let (Table::Activity, Some(left), Some(now)) = (write.table, write.after.as_deref(), now) else {
        return Ok(None);
    };
    let (left, now) = (Activity::decode(left)?, Activity::decode(now)?);
    let may_differ = takes_over || now.accesses > left.accesses;
    let Some(node) = node_of(tx, write)?.filter(|_| may_differ) else { return Ok(None) };
    let before = match write.before.as_deref() {
        Some(before) => Activity::decode(before)?,
        None => Activity::new(node.created, 1.0),
    };
    let (lambda, bounds) = (lambda(&config.weight, node.category), &config.weight);
    let moved = left.weight - weight::current(&before, lambda, bounds, left.touched);
    let remains = decayed(moved, lambda, now.touched.seconds_since(left.touched));
    let weight = (now.weight - remains).clamp(bounds.floor, bounds.cap);
    let own = Activity { weight, ..now };
    if !takes_over {
        return Ok(Some((node.id, own)));
    }
    let taken = left.accesses.saturating_sub(before.accesses);
    let is_replayed = (now.replay_interval, now.replayed) != (left.replay_interval, left.replayed);
    let (replay_interval, replayed) = if is_replayed {
        (now.replay_interval, now.replayed)
    } else {
        (before.replay_interval, before.replayed)
    };
    let judged = if now.judged == left.judged { before.judged } else { now.judged };
    let accesses = now.accesses.saturating_sub(taken);
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
    let (Some(left), Some(_)) = (write.after.as_deref(), now) else { return Ok(false) };
    Ok(match write.table {
        Table::Visits => true,
        Table::Edges => is_learned(Edge::decode(left)?.kind),
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

/// Whether a record is as the change left it. The origin of a note is ignored, because a push changes only
/// the origin, and so are its other names, which follow its file, unless the change itself has set them. A note that
/// the change created may have become stale or active again since, with its sources.
fn is_unchanged(write: &Write, now: Option<&[u8]>) -> Result<bool> {
    let left = write.after.as_deref();
    if left == now || write.table != Table::Nodes {
        return Ok(left == now);
    }
    let (Some(left), Some(now)) = (left, now) else { return Ok(false) };
    let (left, now) = (Node::decode(left)?, Node::decode(now)?);
    let other_names = if sets_other_names(write, &left)? { &left.other_names } else { &now.other_names };
    let other_names = other_names.clone();
    let left = Node { origin: now.origin, other_names, ..left };
    let follows_sources = write.before.is_none() && left.state.is_live() && now.state.is_live();
    let Node { state, version, modified, .. } = now;
    Ok(left == now || follows_sources && Node { state, version, modified, ..left } == now)
}

/// Whether a write changed the other names of a note that existed. `left` is the note as it left it.
fn sets_other_names(write: &Write, left: &Node) -> Result<bool> {
    let before = write.before.as_deref().map(Node::decode).transpose()?;
    Ok(before.is_some_and(|before| before.other_names != left.other_names))
}

/// The record before a write. A note keeps the other names that it got since, unless the write itself set them.
fn with_present_names(tx: &Transaction<'_>, write: &Write) -> Result<Option<Vec<u8>>> {
    let (Table::Nodes, Some(before), Some(left)) =
        (write.table, write.before.as_deref(), write.after.as_deref())
    else {
        return Ok(write.before.clone());
    };
    let (before, left) = (Node::decode(before)?, Node::decode(left)?);
    let now = tx.node(before.id)?.filter(|now| now.other_names != left.other_names);
    match now {
        Some(now) if before.other_names == left.other_names => {
            Ok(Some(Node { other_names: now.other_names, ..before }.encode()?))
        }
        _ => Ok(write.before.clone()),
    }
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

/// A description of a record for messages.
fn record_name(tx: &Transaction<'_>, write: &Write) -> Result<String> {
    let what = match write.table {
        Table::Nodes => "the note",
        Table::Activity => "the weight of the note",
        Table::Edges | Table::EdgesIn => "a link of the note",
        _ => "a record of the note",
    };
    Ok(match node_of(tx, write)? {
        Some(node) => format!("{what} `{}`", node.key),
        None => format!("{what} was deleted, or it"),
    })
}

/// The node a record belongs to.
fn node_of(tx: &Transaction<'_>, write: &Write) -> Result<Option<Node>> {
    Ok(write.node_id().map(|id| tx.node(id)).transpose()?.flatten())
}

/// Deletes a restored edge or visit if one of its notes was deleted since. This happens when the undo
/// restores a note whose neighbours are gone.
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
fn retired_successor(tx: &Transaction<'_>, writes: &[Write]) -> Result<Option<String>> {
    for write in writes.iter().filter(|write| write.table == Table::Edges) {
        let Some(edge) = write.before.as_deref().map(Edge::decode).transpose()? else { continue };
        if edge.kind != EdgeKind::Supersedes {
            continue;
        }
        let own = writes.iter().find(|own| own.table == Table::Nodes && own.key == edge.src.as_bytes());
        let successor = match own {
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
fn missing_end(tx: &Transaction<'_>, writes: &[Write]) -> Result<Option<String>> {
    if writes.iter().any(|write| write.table == Table::Nodes) {
        return Ok(None);
    }
    for write in writes.iter().filter(|write| write.table == Table::Edges) {
        let Some(edge) = write.before.as_deref().map(Edge::decode).transpose()? else { continue };
        for (end, other) in [(edge.src, edge.dst), (edge.dst, edge.src)] {
            if tx.node(end)?.is_none() {
                let other = tx.node(other)?.map_or_else(|| other.to_string(), |node| node.key);
                return Ok(Some(format!("a note linked with `{other}` was deleted; restore it first")));
            }
        }
    }
    Ok(None)
}

/// Why a text cannot be restored: the writes only have vectors of an embedder that is no longer in use.
fn missing_vectors(embedded: &[ChangedText<'_>], embedder: &str) -> Option<String> {
    let lacking =
        |(_, makers): &&ChangedText<'_>| !makers.is_empty() && !makers.contains(&embedder.as_bytes());
    embedded.iter().find(lacking).map(|(Node { key, .. }, _)| {
        format!("the text of `{key}` has no vectors of the current embedder `{embedder}`")
    })
}

/// A note and the names of the embedders of its vectors.
type ChangedText<'a> = (Node, Vec<&'a [u8]>);

/// The notes whose text was changed or deleted, as they were before, with the embedders of the vectors of that
/// text.
fn changed_texts(writes: &[Write]) -> Result<Vec<ChangedText<'_>>> {
    let mut found = Vec::new();
    for write in writes.iter().filter(|write| write.table == Table::Nodes) {
        let Some(before) = write.before.as_deref().map(Node::decode).transpose()? else { continue };
        let after = write.after.as_deref().map(Node::decode).transpose()?;
        if after.is_some_and(|after| after.content_hash == before.content_hash) {
            continue;
        }
        let own = |vector: &&Write| vector.before.is_some() && vector.node_id() == Some(before.id);
        let makers = writes.iter().filter(own).filter_map(Write::embedder).collect();
        found.push((before, makers));
    }
    Ok(found)
}

/// Why a note cannot become live again: another live note now has the same text.
fn duplicate_text(tx: &Transaction<'_>, writes: &[Write]) -> Result<Option<String>> {
    for write in writes.iter().filter(|write| write.table == Table::Nodes) {
        let Some(node) = write.before.as_deref().map(Node::decode).transpose()? else { continue };
        let same = tx.find_hash(&node.content_hash)?.filter(|_| node.state.is_live());
        if let Some(same) = same.filter(|same| *same != node.id)
            && !writes.iter().any(|write| write.table == Table::Nodes && write.key == same.as_bytes())
            && let Some(same) = tx.node(same)?
        {
            return Ok(Some(format!("`{}` now has the same text", same.key)));
        }
    }
    Ok(None)
}

/// Undoes a change that is one transaction.
#[cfg(test)]
pub(super) fn undo_single(memory: &Memory, seq: u64) -> Result<UndoItem> {
    let items = undo(memory, seq)?.items;
    assert_eq!(items.len(), 1, "{items:?}");
    items.into_iter().next().ok_or_else(|| Error::internal("nothing was undone"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestMemory;
    use poc_graph::Category;
    use poc_graph::error::Code;

    #[test]
    fn a_change_of_only_the_other_names_prevents_no_undo_and_stays() {
        let memory = TestMemory::new();
        memory.note("gate", "The gate opens at noon.");
        let node = memory.find("gate").unwrap();
        let write = |op: &str, node: &Node| {
            memory.store.transact(memory.cause("manual", op), |tx| tx.put_node(node)).unwrap().seq
        };
        let later = Node { category: Category::Core, version: node.version + 1, ..node.clone() };
        let changed = write("insert", &later);
        let named = |name: &str| Node { other_names: vec![name.to_owned()], ..later.clone() };
        let first = write("vault names", &named("The Gate"));
        write("vault names", &named("Noon"));
        assert!(undo_single(&memory, first).unwrap().refused.is_some(), "its names changed since");
        assert_eq!(undo_single(&memory, changed).unwrap().refused, None);
        assert_eq!(memory.find("gate").unwrap(), Node { other_names: vec!["Noon".into()], ..node });
    }

    #[test]
    fn changes_that_a_repair_wrote_are_not_undone() {
        let memory = TestMemory::new();
        memory.note("kept", "The gate opens at noon.");
        let node = memory.find("kept").unwrap();
        let again = Node { title: "Found again".into(), version: node.version + 1, ..node };
        let write = |op: &str| {
            memory.store.transact(memory.cause("manual", op), |tx| tx.put_node(&again)).unwrap().seq
        };
        assert_eq!(undo(&memory, write(REPAIR_OP)).unwrap_err().code, Code::Conflict);
        assert_eq!(memory.find("kept").unwrap().title, "Found again");
    }
}
