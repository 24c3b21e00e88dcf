//! Restores what the quarantine has, into which opening and repairing a damaged store move unusable files.

use super::{Memory, insert_plan};
use poc_graph::error::{Error, Result};
use poc_graph::{Edge, Node, NodeId, Tuple, Visit};
use poc_store::{
    QuarantineNote, QuarantineRecord, QuarantineTenant, Record as _, Table, Transaction, quarantine_contents,
    quarantine_lost_notes, quarantine_names,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The op of the transactions.
pub(super) const OP: &str = "quarantine restore";

/// Number of notes that are embedded together.
const BATCH: usize = 32;

/// Maximum size of the notes and other records that are stored in one transaction, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Maximum number of edges that are stored in one transaction.
const MAX_EDGES: usize = 50_000;

/// Number of notes whose orphaned records are deleted in one transaction.
const ORPHAN_BATCH: usize = 100;

/// An estimate of the size of a note in a transaction, in bytes, without its body and its vectors.
const NOTE_BYTES: usize = 1 << 10;

/// What was restored, or in a dry run what would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuarantineReport {
    /// The keys of the notes that the memory lacked.
    pub restored: Vec<String>,
    /// Number of restored edges: those that the memory lacked, between notes that it has.
    pub edges: u64,
    /// Number of notes that the memory already has, in any version. They are not changed.
    pub present: u64,
    /// The keys of the notes that the memory already has, but that have another key, title or text in the quarantine.
    pub different: Vec<String>,
    /// Number of notes that were deleted before they were quarantined. They are not restored.
    pub deleted: u64,
    /// Notes that cannot be restored, with the reason.
    pub conflicts: Vec<String>,
    /// Numbers of other restored records by kind, such as `visit`.
    pub records: BTreeMap<&'static str, u64>,
    /// Numbers of other records that the memory lacks and that are not restored, by kind and reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// The notes of the records that are left out with the reason [`NO_NOTE`]: the name of each, or its id if the
    /// quarantine has no name.
    pub lost_notes: BTreeMap<NodeId, String>,
    /// The changes that were made, in ascending order, each with its tenant; empty in a dry run.
    pub changes: Vec<(Tuple, u64)>,
}

impl QuarantineReport {
    fn add(&mut self, counts: RecordCounts) {
        self.lost_notes.extend(counts.lost_notes.into_iter().map(|id| (id, id.to_string())));
        for (all, some) in [(&mut self.records, counts.restored), (&mut self.left_out, counts.left_out)] {
            for (name, count) in some {
                *all.entry(name).or_default() += count;
            }
        }
    }
}

/// Restores the notes, edges and other records that a part of the quarantine has and the memory lacks: of all tenants,
/// or only of the memory's tenant if that is not the default one. If the store has lost the name of that tenant, it
/// is recorded again. Nothing that the memory has is changed, and the quarantine stays.
///
/// # Errors
/// `not_found` when the quarantine has no such part or no files of it any more, or the part nothing of the tenant.
pub fn restore(memory: &Memory, part: &str, actor: &str, dry_run: bool) -> Result<QuarantineReport> {
    let mut report = QuarantineReport::default();
    let known = memory.store.tenants()?;
    let store = memory.paths.store();
    let mut contents = quarantine_contents(&store, part)?;
    require_files(&store, part)?;
    let wanted = Some(memory.store.tuple()).filter(|tuple| !tuple.is_default());
    if let Some(wanted) = wanted {
        contents.retain(|tenant, _| *tenant == wanted.id());
        if contents.is_empty() {
            return Err(Error::not_found(format!("`{part}` has nothing of the tenant `{wanted}`"))
                .hint(format!("`poc-memory doctor quarantine show {part} --json` names its tenants"))
                .field("tenant"));
        }
    }
    for (tenant, own) in contents {
        let in_store = known.iter().map(|named| &named.tuple).find(|tuple| tuple.id() == tenant);
        let Some(tuple) = wanted.or(own.tuple.as_ref()).or(in_store) else {
            let notes = own.notes.len();
            report.conflicts.push(format!(
                "the data of a tenant whose name is unknown ({notes} of its notes): with its `--tenant KEY=VALUE`, the \
                 command restores it"
            ));
            continue;
        };
        let restore = TenantRestore {
            memory: &memory.of(tuple),
            actor,
            dry_run,
            accepted: AcceptedRecords::default(),
            report: &mut report,
        };
        restore.run(own)?;
    }
    if !report.lost_notes.is_empty() {
        for note in quarantine_lost_notes(&store, part)? {
            if let (Some(shown), Some(name)) = (report.lost_notes.get_mut(&note.id), note.name) {
                *shown = name;
            }
        }
    }
    Ok(report)
}

/// Refuses a part of the quarantine of the store in a folder if only the list of its moves is left.
///
/// # Errors
/// `not_found` if the part has no files any more, `unavailable` if the quarantine cannot be read.
pub fn require_files(store: &Path, part: &str) -> Result<()> {
    if quarantine_names(store)?.iter().any(|name| name == part) {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "`{part}` has no files in the quarantine any more: its repair was undone, or they were deleted"
    )))
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
            None => lacking.push(node),
        }
    }
    Ok(lacking)
}

/// Restores what the memory of a tenant lacks, in transactions of bounded size.
struct TenantRestore<'a> {
    memory: &'a Memory,
    actor: &'a str,
    dry_run: bool,
    /// What was restored so far.
    accepted: AcceptedRecords,
    report: &'a mut QuarantineReport,
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
    fn run(mut self, own: QuarantineTenant) -> Result<()> {
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

/// The notes and runs that were restored so far.
#[derive(Clone, Default)]
struct AcceptedRecords {
    /// The versions of the notes.
    versions: FxHashMap<NodeId, u32>,
    /// The ids of the runs.
    runs: FxHashSet<[u8; ID]>,
}

impl AcceptedRecords {
    /// Whether a record belongs to a note that the memory lacked. The memory has no such record then: in a dry run,
    /// what is stored under its key would be deleted first.
    fn has_note_of(&self, record: &QuarantineRecord) -> bool {
        let is_of_note = matches!(record.table, Table::Visits | Table::Activity | Table::Frames);
        let id = record.key.first_chunk::<ID>().map(|id| NodeId::from_bytes(*id));
        is_of_note && id.is_some_and(|id| self.versions.contains_key(&id))
    }
}

/// The length of an id in bytes.
const ID: usize = 16;

/// Numbers of records by kind, and for those that are left out also by reason.
#[derive(Default)]
struct RecordCounts {
    restored: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<&'static str, u64>,
    /// The notes of records that are left out with the reason [`NO_NOTE`].
    lost_notes: BTreeSet<NodeId>,
}

/// The approximate size of a note with its vectors, in bytes.
fn note_length(note: &EmbeddedNote<'_>) -> usize {
    // A component of a vector takes one byte.
    NOTE_BYTES + note.node.body.len() + note.vectors.iter().map(Vec::len).sum::<usize>()
}

/// The size of a record in bytes.
fn length(record: &QuarantineRecord) -> usize {
    record.key.len() + record.value.len()
}

/// Divides notes or records, whose sizes `length` tells, into groups of at most [`MAX_BYTES`]. A larger one is a group
/// of its own.
fn groups<T>(all: &[T], length: impl Fn(&T) -> usize) -> Vec<&[T]> {
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

/// The reason for which records of notes are left out that neither the memory nor the part has.
pub const NO_NOTE: &str = "data of notes that the memory does not have";
/// Other records that are left out, with the reason.
const LATER_VISITS: &str = "visits of later versions of notes than the memory has";
const OTHER_PROPOSALS: &str = "proposals whose runs are not restored: they may have been decided";
const AGENT_STATES: &str = "states of agents: they name changes by numbers that other changes may have now";
const RESERVATIONS: &str = "budgets that were reserved for calls of models: the calls have ended";
const SYNC_RECORDS: &str = "records of syncs: a sync would delete from the remote what this memory lacks, so \
     `poc-memory profile remote bind` must bind it again";
const VAULT_RECORDS: &str = "records of vaults: a sync would take notes that this memory lacks for deleted ones, so \
     `poc-memory vault add` must bind the folder again";

/// The name of a record that can be restored, or in the inner error why it is left out.
fn classify(
    tx: &Transaction<'_>,
    record: &QuarantineRecord,
    accepted: &AcceptedRecords,
) -> Result<std::result::Result<&'static str, &'static str>> {
    let key = record.key.as_slice();
    let version = || -> Result<Option<u32>> {
        let Some(id) = key.first_chunk::<ID>().map(|id| NodeId::from_bytes(*id)) else { return Ok(None) };
        match accepted.versions.get(&id) {
            Some(version) => Ok(Some(*version)),
            None => Ok(tx.node(id)?.map(|node| node.version)),
        }
    };
    Ok(match record.table {
        Table::Visits => match version()? {
            Some(version) if Visit::decode(&record.value)?.version <= version => Ok("visit"),
            Some(_) => Err(LATER_VISITS),
            None => Err(NO_NOTE),
        },
        Table::Activity => version()?.map(|_| "weight").ok_or(NO_NOTE),
        Table::Frames => version()?.map(|_| "Markdown frame").ok_or(NO_NOTE),
        Table::Messages => Ok("message"),
        Table::Samples => Ok("cosine histogram"),
        Table::Runs => Ok("run"),
        Table::Occurrences => Ok("scheduled run"),
        // The row of a run that the memory has says what became of its proposals.
        Table::Proposals => match key.first_chunk::<ID>() {
            Some(run) if accepted.runs.contains(run) => Ok("proposal"),
            _ => Err(OTHER_PROPOSALS),
        },
        Table::Agents | Table::AgentStates | Table::TenantSpending => Err(AGENT_STATES),
        Table::Reservations => Err(RESERVATIONS),
        Table::Meta => Err(SYNC_RECORDS),
        Table::Vaults => Err(VAULT_RECORDS),
        Table::Nodes
        | Table::Edges
        | Table::EdgesIn
        | Table::Vectors
        | Table::Keys
        | Table::Hashes
        | Table::Keywords
        | Table::Changes
        | Table::Tenants => Err("records that are derived from others"),
    })
}

/// Why a note cannot be restored.
fn conflict(tx: &Transaction<'_>, node: &Node) -> Result<Option<String>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestMemory;
    use poc_graph::time::Timestamp;
    use poc_graph::{EdgeKind, VisitOutcome};
    use poc_store::VerifyCallbacks;
    use poc_store::testing::{count_by_scan, counts_of_view};
    use std::fs;

    #[test]
    fn each_table_is_restored_or_left_out_with_a_reason() {
        let memory = TestMemory::new();
        let own = memory.note("own", "The gate opens at noon.").as_bytes().to_vec();
        let (lost, run) = (vec![9; ID], [7; ID]);
        let accepted = AcceptedRecords { runs: [run].into_iter().collect(), ..AcceptedRecords::default() };
        let visit =
            |version| Visit { at: Timestamp(1), outcome: VisitOutcome::Processed, version }.encode().unwrap();
        let nothing = Vec::new;
        for (table, key, value, expected) in [
            (Table::Visits, &own, visit(1), Ok("visit")),
            (Table::Visits, &own, visit(2), Err(LATER_VISITS)),
            (Table::Visits, &lost, visit(1), Err(NO_NOTE)),
            (Table::Activity, &own, nothing(), Ok("weight")),
            (Table::Activity, &lost, nothing(), Err(NO_NOTE)),
            (Table::Frames, &own, nothing(), Ok("Markdown frame")),
            (Table::Frames, &lost, nothing(), Err(NO_NOTE)),
            (Table::Messages, &lost, nothing(), Ok("message")),
            (Table::Samples, &lost, nothing(), Ok("cosine histogram")),
            (Table::Runs, &lost, nothing(), Ok("run")),
            (Table::Occurrences, &lost, nothing(), Ok("scheduled run")),
            (Table::Proposals, &run.to_vec(), nothing(), Ok("proposal")),
            (Table::Proposals, &lost, nothing(), Err(OTHER_PROPOSALS)),
            (Table::Agents, &lost, nothing(), Err(AGENT_STATES)),
            (Table::AgentStates, &lost, nothing(), Err(AGENT_STATES)),
            (Table::TenantSpending, &lost, nothing(), Err(AGENT_STATES)),
            (Table::Reservations, &lost, nothing(), Err(RESERVATIONS)),
            (Table::Meta, &lost, nothing(), Err(SYNC_RECORDS)),
            (Table::Vaults, &lost, nothing(), Err(VAULT_RECORDS)),
        ] {
            let record = QuarantineRecord { table, key: key.clone(), value };
            let classified = memory.store.preview(|tx| classify(tx, &record, &accepted)).unwrap();
            assert_eq!(classified, expected, "{table:?}");
        }
    }

    #[test]
    fn a_conflict_names_the_other_note_and_says_whether_its_text_differs() {
        let memory = TestMemory::new();
        let own = memory.note("gate", "The gate opens at noon.");
        let own = memory.store.node(own).unwrap().unwrap();
        let of = |key: &str, body: &str, aliases: &[&str]| {
            let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
            let id = memory.new_node_id();
            let mut node = Node { id, key: key.into(), body: body.into(), aliases, ..own.clone() };
            node.content_hash = node.hash();
            memory.store.preview(|tx| conflict(tx, &node)).unwrap().unwrap_or_default()
        };
        let shown = [
            of("gate", "The gate opens at dawn.", &[]),
            of("gate", &own.body, &[]),
            of("door", "The door is shut.", &["gate"]),
            of("door", &own.body, &[]),
            of("door", "The door is shut.", &[]),
        ];
        insta::assert_snapshot!(shown.join("\n"), @r"
        `gate`: the memory has another note of this name, with another text
        `gate`: the memory has another note of this name, with the same text
        `door`: its name `gate` now belongs to the note `gate`, which has another text
        `door`: the note `gate` has the same text
        ");
    }

    /// A store that an earlier release has repaired may have links and visits of a note that it lacks.
    #[test]
    fn a_dry_run_and_a_restore_agree_if_the_memory_has_records_of_a_lost_note() {
        let memory = TestMemory::new();
        let own = memory.note("own", "The gate opens at noon.");
        let lost = memory.note("lost", "A ship lies at anchor.");
        let link = |src, dst| Edge { src, dst, ..poc_graph::testing::edge(1, 2, EdgeKind::Link, 0.5) };
        let visit = Visit { at: Timestamp(1), outcome: VisitOutcome::Processed, version: 1 };
        let run = |act: &dyn Fn(&mut Transaction<'_>) -> Result<()>| {
            memory.store.transact(memory.cause("manual", "test"), act).unwrap();
        };
        run(&|tx| {
            tx.put_edge(&link(own, lost))?;
            tx.put_edge(&link(lost, own))?;
            tx.put_visit("linker", lost, &visit)
        });
        let added = memory.store.transaction(memory.store.last_seq()).unwrap().unwrap().writes;
        let edges = counts_of_view(&memory.store.view()).0[2];
        let folder = memory.paths.store();
        fs::create_dir_all(folder.join("quarantine")).unwrap();
        fs::copy(folder.join("log/00000000000000000001.log"), folder.join("quarantine/piece.log")).unwrap();
        run(&|tx| tx.delete_node(lost));
        let left = edges - counts_of_view(&memory.store.view()).0[2];
        run(&|tx| {
            added.iter().try_for_each(|write| tx.put_raw(write.table, &write.key, write.after.clone()))
        });
        let announced = restore(&memory, "piece.log", "manual", true).unwrap();
        let mut restored = restore(&memory, "piece.log", "manual", false).unwrap();
        let change = (memory.store.tuple().clone(), memory.store.last_seq());
        assert_eq!((std::mem::take(&mut restored.changes), &restored), (vec![change], &announced));
        assert_eq!(
            (restored.restored.len(), restored.edges, restored.records.get("visit")),
            (1, left, Some(&1))
        );
        // The view is built from the records when no saved one fits.
        let counts = counts_of_view(&memory.store.view());
        assert_eq!((counts.0[2], &counts), (edges, &count_by_scan(&memory.store)));
        let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
        assert!(memory.store.verify(&callbacks).unwrap().is_empty());
    }

    #[test]
    fn no_group_of_records_is_too_large_for_a_transaction() {
        let record =
            |size| QuarantineRecord { table: Table::Messages, key: vec![1; ID], value: vec![0; size] };
        let records = [100, MAX_BYTES, MAX_BYTES / 2, MAX_BYTES / 3, 100, MAX_BYTES / 2].map(record);
        let groups = groups(&records, length);
        assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [1, 1, 3, 1]);
    }
}
