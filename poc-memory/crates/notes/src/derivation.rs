//! Notes that were derived from others, such as facts and digests, and what happens to them when their sources
//! change.
//!
//! A derived note has a `derived-from` edge to each of its sources. When the text of a source changes, or
//! when a source is superseded, expires or is deleted, its derived notes become stale until the agent that
//! wrote them has reviewed them. A derived note of an agent ends with its last source: it expires when that
//! source expires and is deleted when that source is deleted. The same holds for a confirmed question, which
//! never becomes stale, because no agent could review it. Other notes of people never end. A quotation that repeats a
//! question of the message before its source is deleted with either of them.

#[cfg(test)]
mod tests;

use super::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, Ix, Node, NodeId, NodeType, State, View, provenance};
use poc_store::{Record as _, Records, Table, Transaction};
use std::collections::{BTreeSet, HashSet};

/// Adds a `derived-from` edge from a note to each of its sources.
///
/// # Errors
/// Those of the store.
pub fn add_sources(
    tx: &mut Transaction<'_>,
    derived: NodeId,
    sources: &[NodeId],
    provenance: &str,
    reason: &str,
    now: Timestamp,
) -> Result<()> {
    for &source in sources {
        if source == derived || tx.edge(derived, EdgeKind::DerivedFrom, source)?.is_some() {
            continue;
        }
        tx.put_edge(&Edge {
            src: derived,
            dst: source,
            kind: EdgeKind::DerivedFrom,
            strength: 1.0,
            created: now,
            touched: now,
            provenance: provenance.to_owned(),
            reason: reason.to_owned(),
        })?;
    }
    Ok(())
}

/// Makes a note derived from these sources and from no others.
///
/// # Errors
/// Those of the store.
pub fn set_sources(
    tx: &mut Transaction<'_>,
    derived: NodeId,
    sources: &[NodeId],
    provenance: &str,
    reason: &str,
    now: Timestamp,
) -> Result<()> {
    for edge in tx.edges(derived)? {
        let leads_to_source = edge.kind == EdgeKind::DerivedFrom && edge.src == derived;
        if leads_to_source && !sources.contains(&edge.dst) {
            tx.delete_edge(derived, EdgeKind::DerivedFrom, edge.dst)?;
        }
    }
    add_sources(tx, derived, sources, provenance, reason, now)
}

/// The live notes that were derived from a note.
///
/// # Errors
/// Those of the store.
pub fn derived_notes(tx: &Transaction<'_>, source: NodeId) -> Result<Vec<Node>> {
    let edges = tx.edges(source)?;
    let derived = edges.iter().filter(|edge| edge.kind == EdgeKind::DerivedFrom && edge.dst == source);
    let mut notes = Vec::new();
    for edge in derived {
        notes.extend(tx.node(edge.src)?.filter(|node| node.state.is_live()));
    }
    Ok(notes)
}

/// Marks the notes derived from a note as stale: its text has changed, or another note replaces it.
pub(super) fn source_changed(tx: &mut Transaction<'_>, source: NodeId, now: Timestamp) -> Result<()> {
    for note in derived_notes(tx, source)? {
        set_stale(tx, note, now)?;
    }
    Ok(())
}

/// The live notes that end with their sources and have no live source left, apart from the notes `leaving`.
pub(super) fn ended_notes(view: &View, mut leaving: HashSet<NodeId>) -> Vec<NodeId> {
    let derived = (0..view.slots()).filter(|&ix| {
        view.is_live(ix)
            && ends_with_sources(view.provenance_name(ix), view.type_name(ix))
            && view.sources(ix).next().is_some()
    });
    let mut candidates: Vec<(Ix, NodeId)> = derived.filter_map(|ix| Some((ix, view.id(ix)?))).collect();
    let mut ended_notes = Vec::new();
    loop {
        let is_gone = |ix: Ix| !view.is_live(ix) || view.id(ix).is_none_or(|id| leaving.contains(&id));
        let (gone, rest): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|(ix, id)| leaving.contains(id) || view.sources(*ix).all(is_gone));
        let before = ended_notes.len();
        ended_notes.extend(gone.into_iter().map(|(_, id)| id).filter(|id| !leaving.contains(id)));
        if ended_notes.len() == before {
            return ended_notes;
        }
        leaving.extend(ended_notes.iter().copied());
        candidates = rest;
    }
}

/// The live confirmed questions whose notes damage has lost. A question that a sync or an import has stored before its
/// edges is not among them: unlike here, the transaction that created it added no edge.
pub(super) fn orphaned_questions(memory: &Memory, view: &View) -> Result<Vec<NodeId>> {
    let orphans = (0..view.slots()).filter(|&ix| {
        view.is_live(ix) && view.is_confirmed_question(ix) && view.sources(ix).next().is_none()
    });
    let mut lost = Vec::new();
    for id in orphans.filter_map(|ix| view.id(ix)) {
        let Some(creation) = memory.store.history(id)?.first().map(|change| change.seq) else { continue };
        let Some(creation) = memory.store.transaction(creation)? else { continue };
        let added = creation.writes.iter().filter(|write| write.table == Table::Edges);
        let mut edges = added.filter_map(|write| Edge::decode(write.after.as_deref()?).ok());
        if edges.any(|edge| edge.kind == EdgeKind::DerivedFrom && edge.src == id) {
            lost.push(id);
        }
    }
    Ok(lost)
}

/// Deletes the notes that end with a note, because they were derived from it and from no other live note, and the
/// quotations that repeat a question of it. Marks the other derived notes as stale. Call it before the note is deleted.
/// Returns the deleted notes.
pub(super) fn source_deleted(tx: &mut Transaction<'_>, source: NodeId, now: Timestamp) -> Result<Vec<Node>> {
    let mut ended_notes = Vec::new();
    // Without recursion, because a chain of derived notes may be long, and notes may be derived from each other.
    let mut open = vec![derived_notes(tx, source)?];
    for quotation in answers_to(tx, tx.view(), source)? {
        open.push(derived_notes(tx, quotation.id)?);
        tx.delete_node(quotation.id)?;
        ended_notes.push(quotation);
    }
    while let Some(derived) = open.pop() {
        for listed in derived {
            // It may have ended or become stale since it was listed.
            let Some(note) = tx.node(listed.id)?.filter(|note| note.id != source) else { continue };
            if ends_with_sources(&note.provenance, &note.node_type.0)
                && !has_other_source(tx, note.id, source)?
            {
                open.push(derived_notes(tx, note.id)?);
                tx.delete_node(note.id)?;
                ended_notes.push(note);
            } else {
                set_stale(tx, note, now)?;
            }
        }
    }
    Ok(ended_notes)
}

/// The live quotations of the notes beside a note in its session that repeat a question of it.
pub(super) fn answers_to(records: &impl Records, view: &View, source: NodeId) -> Result<Vec<Node>> {
    // The view tells that most notes have none, without a record being read.
    let beside = quotations_beside(view, source);
    let note = if beside.is_empty() { None } else { records.node(source)? };
    let Some(note) = note else { return Ok(Vec::new()) };
    let repeats = |quotation: &Node| {
        let mut questions = quotation.answered_question().into_iter().flat_map(|asked| asked.split('?'));
        questions.any(|question| !question.trim().is_empty() && note.body.contains(question.trim()))
    };
    let mut answers = Vec::new();
    for id in beside {
        answers.extend(records.node(id)?.filter(|found| found.state.is_live() && repeats(found)));
    }
    Ok(answers)
}

/// The quotations of the notes beside a note in its session.
fn quotations_beside(view: &View, source: NodeId) -> BTreeSet<NodeId> {
    let Some(ix) = view.find(source) else { return BTreeSet::new() };
    let edges = view.edges(ix).iter();
    let beside = edges.filter(|edge| edge.is_outgoing() && edge.kind() == EdgeKind::Structural);
    let derived = beside.flat_map(|edge| view.derived_notes(edge.target()));
    derived.filter(|&ix| view.is_quotation(ix)).filter_map(|ix| view.id(ix)).collect()
}

/// Marks a stale note as active again if it has not changed since it was read: its agent has compared it with
/// the current text of its sources and kept it.
///
/// # Errors
/// Those of the store.
pub fn confirm(tx: &mut Transaction<'_>, read: &Node, now: Timestamp) -> Result<()> {
    match tx.node(read.id)? {
        Some(note) if note.state == State::Stale && note.version == read.version => {
            set_state(tx, note, State::Active, now)
        }
        _ => Ok(()),
    }
}

/// Gives a successor the sources of a superseded note and the notes derived from it, which become stale. A message or a
/// note of a person that replaces what an agent derived gets no sources: search would show these in its place.
pub(super) fn inherit(tx: &mut Transaction<'_>, old: NodeId, new: NodeId, now: Timestamp) -> Result<()> {
    source_changed(tx, old, now)?;
    let ends = |tx: &Transaction<'_>, id: NodeId| -> Result<bool> {
        Ok(tx.node(id)?.is_some_and(|node| ends_with_sources(&node.provenance, &node.node_type.0)))
    };
    let gets_sources = !ends(tx, old)? || ends(tx, new)?;
    for edge in tx.edges(old)?.into_iter().filter(|edge| edge.kind == EdgeKind::DerivedFrom) {
        if edge.src == old && !gets_sources {
            continue;
        }
        let moved = |end: NodeId| if end == old { new } else { end };
        let (src, dst) = (moved(edge.src), moved(edge.dst));
        if src != dst && tx.edge(src, edge.kind, dst)?.is_none() {
            tx.put_edge(&Edge { src, dst, ..edge })?;
        }
    }
    Ok(())
}

/// Whether a note ends with its sources, and none of them is live any more. Damage may have lost those of a confirmed
/// question.
pub(super) fn has_ended(tx: &Transaction<'_>, note: &Node) -> Result<bool> {
    let edges = tx.edges(note.id)?;
    let is_question = note.node_type.0 == NodeType::QUESTION && Node::is_question_key(&note.key);
    let is_derived =
        is_question || edges.iter().any(|edge| edge.kind == EdgeKind::DerivedFrom && edge.src == note.id);
    let may_end = ends_with_sources(&note.provenance, &note.node_type.0);
    Ok(is_derived && may_end && !has_other_source(tx, note.id, note.id)?)
}

/// Whether a note was derived from a live note other than `source`.
pub(super) fn has_other_source(tx: &Transaction<'_>, derived: NodeId, source: NodeId) -> Result<bool> {
    for edge in tx.edges(derived)? {
        let is_other = edge.kind == EdgeKind::DerivedFrom && edge.src == derived && edge.dst != source;
        if is_other && tx.node(edge.dst)?.is_some_and(|other| other.state.is_live()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a note was derived from another one, directly or through others.
pub(super) fn is_derived_from(tx: &Transaction<'_>, derived: NodeId, source: NodeId) -> Result<bool> {
    let (mut open, mut known) = (vec![derived], HashSet::from([derived]));
    while let Some(note) = open.pop() {
        for edge in tx.edges(note)? {
            if edge.kind != EdgeKind::DerivedFrom || edge.src != note {
                continue;
            }
            if edge.dst == source {
                return Ok(true);
            }
            if known.insert(edge.dst) {
                open.push(edge.dst);
            }
        }
    }
    Ok(false)
}

/// Whether a derived note ends with its last source: what an agent wrote, and a question.
fn ends_with_sources(provenance: &str, node_type: &str) -> bool {
    provenance::is_agent(provenance) || node_type == NodeType::QUESTION
}

/// Marks a derived note as stale, unless it is a question.
fn set_stale(tx: &mut Transaction<'_>, note: Node, now: Timestamp) -> Result<()> {
    if note.node_type.0 == NodeType::QUESTION {
        return Ok(());
    }
    set_state(tx, note, State::Stale, now)
}

fn set_state(tx: &mut Transaction<'_>, note: Node, state: State, now: Timestamp) -> Result<()> {
    if note.state == state {
        return Ok(());
    }
    let version = note.version.saturating_add(1);
    tx.put_node(&Node { state, version, modified: now, ..note })
}
