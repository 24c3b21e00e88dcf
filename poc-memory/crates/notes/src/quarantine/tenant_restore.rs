//! Restores what the quarantine has of one tenant, in transactions of bounded size.

use super::record_kinds::{AcceptedRecords, ID, NO_NOTE, classify};
use super::{OP, QuarantineReport};
use crate::{Memory, insert_plan};
use poc_graph::error::Result;
use poc_graph::{Edge, Node, NodeId};
use poc_store::{QuarantineNote, QuarantineRecord, QuarantineTenant, Table, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// Number of notes that are embedded together.
const BATCH: usize = 32;

/// Maximum size of the notes and other records that are stored in one transaction, in bytes.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// Maximum number of edges that are stored in one transaction.
const MAX_EDGES: usize = 50_000;

/// Number of notes whose orphaned records are deleted in one transaction.
const ORPHAN_BATCH: usize = 100;

/// An estimate of the size of a note in a transaction, in bytes, without its body and its vectors.
const NOTE_BYTES: usize = 1 << 10;

/// Restores what the memory of a tenant lacks, in transactions of bounded size.
pub(super) struct TenantRestore<'a> {
    pub(super) memory: &'a Memory,
    pub(super) actor: &'a str,
    pub(super) dry_run: bool,
    /// What was restored so far.
    pub(super) accepted: AcceptedRecords,
    pub(super) report: &'a mut QuarantineReport,
}

/// What one transaction restores.
#[derive(Default)]
struct RestoreBatch<'a> {
    notes: &'a [EmbeddedNote<'a>],
    edges: &'a [Edge],
    records: &'a [QuarantineRecord],
}

/// A note with its vectors.
struct EmbeddedNote<'a> {
    node: &'a Node,
    vectors: Vec<Vec<f32>>,
}

impl TenantRestore<'_> {
    /// Restores the part of the tenant and adds it to the report.
    pub(super) fn run(mut self, own: QuarantineTenant) -> Result<()> {
        let lacking = lacking_notes(self.memory, own.notes, self.report)?;
        self.delete_orphans(&lacking)?;
        let embedded = embed(self.memory, &lacking)?;
        let mut edge_groups = own.edges.chunks(MAX_EDGES);
        let mut record_groups = groups(&own.records, length).into_iter().peekable();
        let mut note_groups = groups(&embedded, note_length);
        // One transaction, so that one `undo` reverts it, unless there is too much for one.
        let last = note_groups.pop().unwrap_or_default();
        for notes in note_groups {
            self.store(&RestoreBatch { notes, ..RestoreBatch::default() })?;
        }
        // Records share the transaction of the last notes if they fit into it.
        let used: usize = last.iter().map(note_length).sum();
        let fit =
            |records: &&[QuarantineRecord]| used + records.iter().map(length).sum::<usize>() <= MAX_BYTES;
        self.store(&RestoreBatch {
            notes: last,
            edges: edge_groups.next().unwrap_or_default(),
            records: record_groups.next_if(fit).unwrap_or_default(),
        })?;
        for edges in edge_groups {
            self.store(&RestoreBatch { edges, ..RestoreBatch::default() })?;
        }
        for records in record_groups {
            self.store(&RestoreBatch { records, ..RestoreBatch::default() })?;
        }
        Ok(())
    }

    /// Deletes records of the notes that the memory lacks. Otherwise an edge that is in the records, and not in the
    /// view, would be taken for one that the memory has.
    fn delete_orphans(&self, lacking: &[Node]) -> Result<()> {
        if self.dry_run {
            return Ok(());
        }
        for batch in lacking.chunks(ORPHAN_BATCH) {
            self.memory.store.transact(self.memory.cause(self.actor, OP), |tx| {
                batch.iter().try_for_each(|node| tx.delete_orphans(node.id))
            })?;
        }
        Ok(())
    }

    /// Restores a batch in one transaction.
    fn store(&mut self, batch: &RestoreBatch<'_>) -> Result<()> {
        let memory = self.memory;
        let stored = memory.store.transact(memory.cause(self.actor, OP), |tx| {
            let mut accepted = self.accepted.clone();
            let conflicts = self.restore_notes(tx, batch.notes, &mut accepted)?;
            let edges = self.restore_edges(tx, batch.edges, &accepted)?;
            let counts = self.restore_records(tx, batch.records, &mut accepted)?;
            if !self.dry_run {
                tx.record_name(memory.store.tuple())?;
            }
            Ok((conflicts, accepted, edges, counts, tx.write_count() > 0))
        })?;
        let (conflicts, accepted, edges, counts, is_change) = stored.value;
        if is_change {
            self.report.changes.push((memory.store.tuple().clone(), stored.seq));
        }
        for (note, conflict) in batch.notes.iter().zip(conflicts) {
            match conflict {
                None => self.report.restored.push(note.node.key.clone()),
                Some(conflict) => self.report.conflicts.push(conflict),
            }
        }
        self.accepted = accepted;
        self.report.edges += edges;
        self.report.add(counts);
        Ok(())
    }

    /// Restores notes and adds them to `accepted`. Returns for each note why it cannot be restored; `None` if it can.
    fn restore_notes(
        &self,
        tx: &mut Transaction<'_>,
        notes: &[EmbeddedNote<'_>],
        accepted: &mut AcceptedRecords,
    ) -> Result<Vec<Option<String>>> {
        let mut conflicts = Vec::with_capacity(notes.len());
        for EmbeddedNote { node, vectors } in notes {
            let conflict = conflict(tx, node)?;
            if conflict.is_none() {
                accepted.versions.insert(node.id, node.version);
                if !self.dry_run {
                    tx.put_node(node)?;
                    tx.put_vectors(node.id, self.memory.embedder.name(), vectors)?;
                }
            }
            conflicts.push(conflict);
        }
        Ok(conflicts)
    }

    /// Restores the edges that the memory lacks, between notes that it has or that are in `accepted`. Returns their
    /// number.
    fn restore_edges(
        &self,
        tx: &mut Transaction<'_>,
        edges: &[Edge],
        accepted: &AcceptedRecords,
    ) -> Result<u64> {
        let mut count = 0;
        for edge in edges {
            let (mut exist, mut is_new) = (true, false);
            for end in [edge.src, edge.dst] {
                let is_accepted = accepted.versions.contains_key(&end);
                exist &= is_accepted || tx.node(end)?.is_some();
                // In a dry run, the orphaned edges of a note that the memory lacks are still there.
                is_new |= self.dry_run && is_accepted;
            }
            if exist && (is_new || tx.edge(edge.src, edge.kind, edge.dst)?.is_none()) {
                count += 1;
                if !self.dry_run {
                    tx.put_edge(edge)?;
                }
            }
        }
        Ok(count)
    }

    /// Restores the records that the memory lacks and that are useful without the lost changes.
    fn restore_records(
        &self,
        tx: &mut Transaction<'_>,
        records: &[QuarantineRecord],
        accepted: &mut AcceptedRecords,
    ) -> Result<RecordCounts> {
        let mut counts = RecordCounts::default();
        for record in records {
            let is_new = self.dry_run && accepted.has_note_of(record);
            if !is_new && tx.get_raw(record.table, &record.key)?.is_some() {
                continue;
            }
            match classify(tx, record, accepted)? {
                Ok(name) => {
                    *counts.restored.entry(name).or_default() += 1;
                    if record.table == Table::Runs {
                        accepted.runs.extend(record.key.last_chunk::<ID>());
                    }
                    if !self.dry_run {
                        tx.put_raw(record.table, &record.key, Some(record.value.clone()))?;
                    }
                }
                Err(reason) => {
                    *counts.left_out.entry(reason).or_default() += 1;
                    if reason == NO_NOTE {
                        let id = record.key.first_chunk::<ID>();
                        counts.lost_notes.extend(id.map(|id| NodeId::from_bytes(*id)));
                    }
                }
            }
        }
        Ok(counts)
    }
}

/// The notes with their vectors.
fn embed<'a>(memory: &Memory, notes: &'a [Node]) -> Result<Vec<EmbeddedNote<'a>>> {
    let mut embedded = Vec::with_capacity(notes.len());
    for batch in notes.chunks(BATCH) {
        let vectors = insert_plan::embed(memory, &batch.iter().collect::<Vec<_>>())?;
        embedded.extend(batch.iter().zip(vectors).map(|(node, vectors)| EmbeddedNote { node, vectors }));
    }
    Ok(embedded)
}

/// The notes that the memory lacks, apart from deleted ones. The others are counted in the report.
fn lacking_notes(
    memory: &Memory,
    notes: Vec<QuarantineNote>,
    report: &mut QuarantineReport,
) -> Result<Vec<Node>> {
    let mut lacking = Vec::new();
    for QuarantineNote { node, deleted } in notes {
        match memory.store.node(node.id)? {
            Some(present) => {
                report.present += 1;
                let is_same =
                    (&present.key, &present.title, &present.body) == (&node.key, &node.title, &node.body);
                if !deleted && !is_same {
                    report.different.push(present.key);
                }
            }
            None if deleted => report.deleted += 1,
            // The memory may have lost a tenant whose name it now spells with composed characters.
            None => lacking.push(Node { tenant: memory.store.tenant(), ..node }),
        }
    }
    Ok(lacking)
}

/// Numbers of records by kind, and for those that are left out also by reason.
#[derive(Default)]
pub(super) struct RecordCounts {
    pub(super) restored: BTreeMap<&'static str, u64>,
    pub(super) left_out: BTreeMap<&'static str, u64>,
    /// The notes of records that are left out with the reason [`NO_NOTE`].
    pub(super) lost_notes: BTreeSet<NodeId>,
}

/// The approximate size of a note with its vectors, in bytes.
fn note_length(note: &EmbeddedNote<'_>) -> usize {
    // A component of a vector takes one byte.
    NOTE_BYTES + note.node.body.len() + note.vectors.iter().map(Vec::len).sum::<usize>()
}

/// The size of a record in bytes.
pub(super) fn length(record: &QuarantineRecord) -> usize {
    record.key.len() + record.value.len()
}

/// Divides notes or records, whose sizes `length` tells, into groups of at most [`MAX_BYTES`]. A larger one is a group
/// of its own.
pub(super) fn groups<T>(all: &[T], length: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut groups = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |one: &&T| {
            bytes += length(one);
            bytes <= MAX_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, later) = rest.split_at(count);
        groups.push(group);
        rest = later;
    }
    groups
}

/// Why a note cannot be restored.
pub(super) fn conflict(tx: &Transaction<'_>, node: &Node) -> Result<Option<String>> {
    for name in node.names() {
        if let Some(owner) = tx.find_key(name)?
            && let Some(owner) = tx.node(owner)?
        {
            let text = match (&owner.title, &owner.body) == (&node.title, &node.body) {
                true => "the same text",
                false => "another text",
            };
            return Ok(Some(match owner.key == node.key {
                true => format!("`{}`: the memory has another note of this name, with {text}", node.key),
                false => format!(
                    "`{}`: its name `{name}` now belongs to the note `{}`, which has {text}",
                    node.key, owner.key
                ),
            }));
        }
    }
    if node.state.is_live()
        && let Some(same) = tx.find_hash(&node.content_hash)?
        && let Some(same) = tx.node(same)?
    {
        return Ok(Some(format!("`{}`: the note `{}` has the same text", node.key, same.key)));
    }
    Ok(None)
}
