//! Reads what repairs and opens have moved to the quarantine.

use super::journal::{self, MANIFEST};
use super::lost_notes;
use super::part_files::{part_files, unreadable};
use crate::engine::{Engine, lsm};
use crate::index_entries::LostNote;
use crate::keys;
use crate::log::intact_records;
use crate::logged_transaction::{LoggedTransaction, Write};
use crate::record_encoding::Record as _;
use crate::table::Table;
use crate::tenants::TenantRow;
use crate::transaction_range::TransactionRange;
use crate::views::Views;
use crate::watchdog::HEARTBEAT_TIMEOUT;
use poc_graph::error::{Error, Result};
use poc_graph::{Edge, Neighbor, Node, NodeId, Tenant, Tuple, View, Visit};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A file or folder in the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinePart {
    /// The name of the file or folder.
    pub name: String,
    /// The size on disk, in bytes.
    pub bytes: u64,
    /// The number of changes of any tenant that are readable in pieces of a log. Records are not counted.
    pub changes: u64,
    /// The range from the first to the last of these changes.
    pub range: Option<TransactionRange>,
    /// Whether this is a piece of a log without any readable change, such as an interrupted write leaves at the end.
    pub is_unreadable_piece: bool,
    /// Whether this is a damaged copy of a shared log that was replaced by what the shared log has.
    pub is_replaced_copy: bool,
}

/// The contents of the quarantine of the store in a directory, sorted by name. The store may be open.
///
/// # Errors
/// `unavailable` if the quarantine cannot be read.
pub fn quarantine_parts(directory: &Path) -> Result<Vec<QuarantinePart>> {
    let mut found = Vec::new();
    for (name, files) in named_files(directory)? {
        let is_replaced_copy = is_replaced_copy(directory, &name);
        let (bytes, changes, range, is_unreadable_piece) = (0, 0, None, false);
        let mut part = QuarantinePart { name, bytes, changes, range, is_unreadable_piece, is_replaced_copy };
        let is_piece = !files.is_empty() && files.iter().all(|file| is_log(file));
        for file in files {
            part.bytes += fs::metadata(&file).map_or(0, |found| found.len());
            each_change(&file, &mut |txn| {
                part.changes += 1;
                let TransactionRange { first, last } = part.range.unwrap_or(TransactionRange::one(txn.seq));
                part.range = Some(TransactionRange { first: first.min(txn.seq), last: last.max(txn.seq) });
            })?;
        }
        part.is_unreadable_piece = is_piece && part.changes == 0;
        found.push(part);
    }
    Ok(found)
}

/// Whether a part of the quarantine of the store in a directory is a damaged copy of a shared log that was replaced by
/// what the shared log has.
pub fn is_replaced_copy(directory: &Path, name: &str) -> bool {
    journal::is_replaced_copy(&directory.join("quarantine").join(name))
}

/// The names of [`quarantine_parts`], without reading their files.
///
/// # Errors
/// `unavailable` when a folder cannot be read.
pub fn quarantine_names(directory: &Path) -> Result<Vec<String>> {
    Ok(named_files(directory)?.into_keys().collect())
}

/// Deletes a file or folder in the quarantine permanently. A repair that moved it there cannot be undone afterwards:
/// only the list of its moves is kept. Returns the total size of the deleted files in bytes.
///
/// # Errors
/// `not_found` when the quarantine does not contain it, `unavailable` when it cannot be deleted.
pub fn delete_quarantine_part(directory: &Path, name: &str) -> Result<u64> {
    let path = part_path(directory, name)?;
    let manifest = path.join(MANIFEST);
    let deleted: Vec<PathBuf> = files(&path)?.into_iter().filter(|file| *file != manifest).collect();
    let bytes = deleted.iter().map(|file| fs::metadata(file).map_or(0, |found| found.len())).sum();
    delete(&path, &manifest).map_err(|error| {
        Error::unavailable(format!("`{}` cannot be deleted: {error}", path.display()))
            .hint("repeat the command: it deletes what is left")
    })?;
    Ok(bytes)
}

/// Deletes a file or folder, durably. The manifest of a folder is kept.
fn delete(path: &Path, manifest: &Path) -> io::Result<()> {
    let remove = |path: &Path| if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    if manifest.exists() {
        for entry in fs::read_dir(path)? {
            let entry = entry?.path();
            if entry != manifest {
                remove(&entry)?;
            }
        }
        return File::open(path)?.sync_all();
    }
    remove(path)?;
    path.parent().map_or(Ok(()), |quarantine| File::open(quarantine)?.sync_all())
}

/// The files of each part of the quarantine, by its name.
fn named_files(directory: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let quarantine = directory.join("quarantine");
    let mut found = BTreeMap::new();
    if !quarantine.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(&quarantine).map_err(|error| unreadable(&quarantine, &error))? {
        let path = entry.map_err(|error| unreadable(&quarantine, &error))?.path();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut files = files(&path)?;
        let all = files.len();
        files.retain(|file| *file != path.join(MANIFEST));
        // A repair that was undone, or whose files were deleted, leaves the list of its moves.
        if all == 0 || !files.is_empty() {
            found.insert(name, files);
        }
    }
    Ok(found)
}

/// The quarantined data of one tenant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuarantineTenant {
    /// The keys and values that identify the tenant; `None` if the quarantine does not have them.
    pub tuple: Option<Tuple>,
    /// The notes, each in the state after its last change in the quarantine. A deleted note is in its state before the
    /// deletion.
    pub notes: Vec<QuarantineNote>,
    /// The edges in the state after their last change, without deleted ones.
    pub edges: Vec<Edge>,
    /// The other records in the state after their last change, without deleted ones and those that follow from notes
    /// and edges. The default tenant has those of the tables that all tenants share.
    pub records: Vec<QuarantineRecord>,
}

impl QuarantineTenant {
    /// Whether only the name is known.
    fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.edges.is_empty() && self.records.is_empty()
    }
}

/// A record in the quarantine that is neither a note nor an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRecord {
    /// The table.
    pub table: Table,
    /// The key in the table.
    pub key: Vec<u8>,
    /// The encoded record.
    pub value: Vec<u8>,
}

/// A note in the quarantine.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantineNote {
    /// The note.
    pub node: Node,
    /// Whether the last change of the note deleted it.
    pub deleted: bool,
}

/// The contents of a file or folder in the quarantine, by tenant: the intact changes in pieces of a log, and the intact
/// records of the engine.
///
/// # Errors
/// `not_found` if the quarantine has no such file or folder, `unavailable` if a file cannot be read or the temporary
/// folder cannot be used.
pub fn quarantine_contents(directory: &Path, name: &str) -> Result<BTreeMap<Tenant, QuarantineTenant>> {
    let path = part_path(directory, name)?;
    let mut newest: BTreeMap<(Tenant, Table, Vec<u8>), (u64, Write)> = BTreeMap::new();
    let mut add = |seq: u64, tenant: Tenant, write: Write| {
        if follows_from_notes(write.table) {
            return;
        }
        let tenant = if write.table.is_shared() { Tenant::default() } else { tenant };
        let record_key = (tenant, write.table, write.key.clone());
        if newest.get(&record_key).is_none_or(|(known, _)| *known <= seq) {
            newest.insert(record_key, (seq, write));
        }
    };
    for file in files(&path)? {
        each_change(&file, &mut |txn| {
            txn.writes.into_iter().for_each(|write| add(txn.seq, txn.tenant, write));
        })?;
        each_record(&file, &mut |watermark, full, value| {
            if let Some((tenant, table, key)) = Table::split_engine_key(full) {
                let after = value.map(<[u8]>::to_vec);
                let write = Write { table, key: key.to_vec(), before: None, after };
                add(watermark.seq, tenant, write);
            }
        })?;
    }
    let mut found: BTreeMap<Tenant, QuarantineTenant> = BTreeMap::new();
    for ((tenant, table, key), (_, write)) in newest {
        let deleted = write.after.is_none();
        let Some(bytes) = write.after.or(write.before) else { continue };
        match table {
            Table::Nodes => {
                let note = QuarantineNote { node: Node::decode(&bytes)?, deleted };
                found.entry(tenant).or_default().notes.push(note);
            }
            Table::Tenants => {
                let named = keys::read_tenant(&key)?;
                found.entry(named).or_default().tuple = Some(TenantRow::decode(&bytes)?.tuple);
            }
            _ if deleted => {}
            Table::Edges => found.entry(tenant).or_default().edges.push(Edge::decode(&bytes)?),
            _ => {
                let record = QuarantineRecord { table, key, value: bytes };
                found.entry(tenant).or_default().records.push(record);
            }
        }
    }
    found.retain(|_, own| !own.is_empty());
    Ok(found)
}

/// The notes that the repair that made a part of the quarantine lost, and of which a name or the id was left. Empty if
/// the part is not of a repair, or if the repair was undone.
///
/// # Errors
/// `not_found` if the quarantine has no such part, `unavailable` or `damaged` if their list cannot be read.
pub fn quarantine_lost_notes(directory: &Path, name: &str) -> Result<Vec<LostNote>> {
    lost_notes::read(&part_path(directory, name)?)
}

/// Whether the records of a table are derived from notes, edges and the log.
fn follows_from_notes(table: Table) -> bool {
    matches!(
        table,
        Table::EdgesIn | Table::Vectors | Table::Keys | Table::Hashes | Table::Keywords | Table::Changes
    )
}

/// Numbers of records of all tenants that can be read in the quarantine, that the store lacks, and that can be
/// restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestorableRecords {
    /// Notes that were not deleted.
    pub notes: u64,
    /// Edges between notes that the store or the quarantine has.
    pub links: u64,
    /// Visits of notes that the store or the quarantine has, in this version or a later one.
    pub visits: u64,
    /// Weights of notes that the store or the quarantine has.
    pub weights: u64,
    /// Messages.
    pub messages: u64,
    /// Runs of agents.
    pub runs: u64,
}

/// Counts the quarantined records that a store with these views and records lacks.
pub(super) fn missing_in(
    contents: &BTreeMap<Tenant, QuarantineTenant>,
    views: &Views,
    engine: &dyn Engine,
) -> Result<RestorableRecords> {
    let mut all = RestorableRecords::default();
    for (tenant, own) in contents {
        let view = views.get(tenant).map_or_else(Default::default, Arc::clone);
        let stored = StoredTenant::new(*tenant, view, engine, &own.notes);
        all.links += own.edges.iter().filter(|edge| stored.lacks_edge(edge)).count() as u64;
        all.notes += stored.missing.len() as u64;
        for record in &own.records {
            let count = match record.table {
                Table::Visits => &mut all.visits,
                Table::Activity => &mut all.weights,
                Table::Messages => &mut all.messages,
                Table::Runs => &mut all.runs,
                _ => continue,
            };
            if stored.lacks_record(record)? {
                *count += 1;
            }
        }
    }
    Ok(all)
}

/// A tenant of the store with which the quarantine is compared.
struct StoredTenant<'a> {
    tenant: Tenant,
    view: Arc<View>,
    engine: &'a dyn Engine,
    /// The quarantined notes that the store lacks, with their versions.
    missing: FxHashMap<NodeId, u32>,
}

impl<'a> StoredTenant<'a> {
    fn new(tenant: Tenant, view: Arc<View>, engine: &'a dyn Engine, notes: &[QuarantineNote]) -> Self {
        let missing = notes
            .iter()
            .filter(|note| !note.deleted && view.find(note.node.id).is_none())
            .map(|note| (note.node.id, note.node.version))
            .collect();
        StoredTenant { tenant, view, engine, missing }
    }

    /// Whether the store lacks an edge and has both of its nodes, or can get them from the quarantine.
    fn lacks_edge(&self, edge: &Edge) -> bool {
        let exists = |id: NodeId| self.missing.contains_key(&id) || self.view.find(id).is_some();
        exists(edge.src) && exists(edge.dst) && !self.has_edge(edge)
    }

    fn has_edge(&self, edge: &Edge) -> bool {
        let (Some(src), Some(dst)) = (self.view.find(edge.src), self.view.find(edge.dst)) else {
            return false;
        };
        let is_same = |near: &Neighbor| {
            near.target() == dst && near.kind() == edge.kind && (near.is_outgoing() || src == dst)
        };
        self.view.edges(src).iter().chain(self.view.other_edges(src)).any(is_same)
    }

    /// Whether the store lacks a record and can get it from the quarantine. The note of a visit or of a weight must
    /// exist, and a visit must not be of a later version of it.
    fn lacks_record(&self, record: &QuarantineRecord) -> Result<bool> {
        let QuarantineRecord { table, key, value } = record;
        let is_restorable = match table {
            Table::Visits => {
                let visited = Visit::decode(value)?.version;
                self.version(key)?.is_some_and(|version| visited <= version)
            }
            Table::Activity => self.version(key)?.is_some(),
            _ => true,
        };
        Ok(is_restorable && self.engine.get(&table.engine_key(self.tenant, key))?.is_none())
    }

    /// The version of the note with which a key begins, in the quarantine or in the store.
    fn version(&self, key: &[u8]) -> Result<Option<u32>> {
        let Some(id) = key.first_chunk().map(|id| NodeId::from_bytes(*id)) else { return Ok(None) };
        if let Some(version) = self.missing.get(&id) {
            return Ok(Some(*version));
        }
        let stored = self.engine.get(&Table::Nodes.engine_key(self.tenant, id.as_bytes()))?;
        Ok(stored.map(|bytes| Node::decode(&bytes)).transpose()?.map(|node| node.version))
    }
}

/// Calls `each` with every readable record of all tenants in a file or folder of the quarantine: the old and new values
/// in intact changes of pieces of a log, and the intact records of the engine.
///
/// # Errors
/// `not_found` if the quarantine has no such file or folder.
/// `unavailable` if a file cannot be read or the temporary folder cannot be used.
pub fn for_each_quarantine_record(
    directory: &Path,
    name: &str,
    each: &mut dyn FnMut(Table, &[u8]),
) -> Result<()> {
    for file in files(&part_path(directory, name)?)? {
        each_change(&file, &mut |txn| {
            for write in &txn.writes {
                [&write.before, &write.after]
                    .into_iter()
                    .flatten()
                    .for_each(|bytes| each(write.table, bytes));
            }
        })?;
        each_record(&file, &mut |_, full, value| {
            if let (Some((_, table, _)), Some(value)) = (Table::split_engine_key(full), value) {
                each(table, value);
            }
        })?;
    }
    Ok(())
}

/// Calls `each` with the intact records of a file, and warns if it has others.
fn each_record(file: &Path, each: &mut lsm::IntactRecordVisitor) -> Result<()> {
    if let Some(error) = lsm::each_intact_record(file, HEARTBEAT_TIMEOUT, each)? {
        tracing::warn!("not all records in `{}` can be read: {error}", file.display());
    }
    Ok(())
}

/// The path of a file or folder in the quarantine.
pub(super) fn part_path(directory: &Path, name: &str) -> Result<PathBuf> {
    let quarantine = directory.join("quarantine");
    let mut components = Path::new(name).components();
    let is_name = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    let path = quarantine.join(name);
    if is_name && path.exists() {
        return Ok(path);
    }
    Err(Error::not_found(format!("`{}` does not contain `{name}`", quarantine.display())))
}

/// All files of a part of the quarantine.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    part_files(path).into_iter().collect()
}

/// Calls `each` with the intact changes in a file, if it is a segment of a log or a piece of one.
fn each_change(file: &Path, each: &mut dyn FnMut(LoggedTransaction)) -> Result<()> {
    if !is_log(file) {
        return Ok(());
    }
    let bytes = fs::read(file).map_err(|error| unreadable(file, &error))?;
    for record in intact_records(&bytes, 0) {
        if let Ok(txn) = LoggedTransaction::decode(record.payload) {
            each(txn);
        }
    }
    Ok(())
}

/// Whether a file is a segment of a log or a piece of one, by its name.
pub(super) fn is_log(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().contains(".log"))
}
