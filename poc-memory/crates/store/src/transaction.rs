//! A transaction under construction. Its reads see everything built before it; its writes are atomic.

mod error;
mod graph_records;

pub(super) use error::TransactionError;

use super::engine::Engine;
use super::engine_key::EngineKey;
use super::index_entries;
use super::keys::{self, ID};
use super::logged_transaction::Write;
use super::overlay::Overlay;
use super::record_encoding::Record;
use super::records::Records;
use super::table::Table;
use poc_graph::error::Result;
use poc_graph::{NodeId, Tenant, View};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A transaction under construction. It reads and writes only records of its tenant.
pub struct Transaction<'a> {
    tenant: Tenant,
    seq: u64,
    before: RecordsBefore<'a>,
    writes: Vec<Write>,
    // Indexes in `writes`, by the engine's key.
    write_indexes: BTreeMap<EngineKey, usize>,
    // The nodes that it wrote, by id, because edges look their nodes up.
    own_nodes: FxHashMap<NodeId, OwnNode>,
    undoes: Vec<u64>,
}

/// A node that the transaction wrote.
#[derive(Clone, Copy)]
struct OwnNode {
    // Its index in `writes`.
    write: usize,
    // Whether it is live; `None` if its record must be decoded to know it.
    is_live: Option<bool>,
}

/// The records as they were before the transaction.
struct RecordsBefore<'a> {
    engine: &'a dyn Engine,
    overlay: &'a Overlay,
    view: &'a View,
    // The nodes that did not exist and that the transaction wrote.
    new_nodes: FxHashSet<NodeId>,
    // The values of records that were read ahead, by the engine's key.
    read_ahead: BTreeMap<EngineKey, Option<Vec<u8>>>,
}

impl<'a> Transaction<'a> {
    /// Creates a transaction that will get the sequence number `seq`.
    pub(super) fn new(
        engine: &'a dyn Engine,
        tenant: Tenant,
        seq: u64,
        overlay: &'a Overlay,
        view: &'a View,
    ) -> Self {
        let (new_nodes, read_ahead) = (FxHashSet::default(), BTreeMap::new());
        let before = RecordsBefore { engine, overlay, view, new_nodes, read_ahead };
        let (writes, write_indexes, own_nodes) = (Vec::new(), BTreeMap::new(), FxHashMap::default());
        Transaction { tenant, seq, before, writes, write_indexes, own_nodes, undoes: Vec::new() }
    }

    /// The writes so far.
    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Whether any record differs from its value before the transaction.
    pub(super) fn has_changes(&self) -> bool {
        self.writes.iter().any(|write| write.before != write.after)
    }

    /// The writes, and the numbers of the transactions it undoes. A record that has its old value again stays in the
    /// list, because positions in the list are recorded.
    pub(super) fn into_parts(self) -> (Vec<Write>, Vec<u64>) {
        (self.writes, self.undoes)
    }

    /// Records in the cause that this transaction undoes all that is left of transaction `seq`.
    pub fn set_undoes(&mut self, seq: u64) {
        self.undoes.push(seq);
    }

    /// The tenant of the transaction.
    pub fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The sequence number that this transaction will have if it changes anything.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The graph after the last transaction built before this one, without this transaction's own writes.
    pub fn view(&self) -> &'a View {
        self.before.view
    }

    /// The record with a key, including this transaction's own writes.
    pub fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>> {
        self.record(key)
    }

    /// The records whose keys start with `prefix`, sorted by key, including this transaction's own writes.
    pub fn scan<R: Record>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        self.range(prefix)
    }

    /// The keys of the records that start with `prefix`, sorted, including this transaction's own writes.
    pub fn keys<R: Record>(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.raw_keys(R::TABLE, prefix)
    }

    /// Creates or replaces a record.
    pub fn put<R: Record>(&mut self, key: &[u8], record: &R) -> Result<()> {
        self.put_raw(R::TABLE, key, Some(record.encode()?))
    }

    /// Deletes a record if it exists.
    pub fn delete<R: Record>(&mut self, key: &[u8]) -> Result<()> {
        self.put_raw(R::TABLE, key, None)
    }

    /// Writes or deletes raw bytes. Undo uses it to restore before-images. If the value is the current one, nothing is
    /// written.
    pub fn put_raw(&mut self, table: Table, key: &[u8], value: Option<Vec<u8>>) -> Result<()> {
        if table == Table::Changes {
            return Err(TransactionError::DerivedTable.into());
        }
        let next = self.writes.len();
        let vacant = match self.write_indexes.entry(table.engine_key(self.tenant, key).into()) {
            Entry::Occupied(occupied) => {
                if let Some(write) = self.writes.get_mut(*occupied.get()) {
                    write.after = value;
                }
                if table == Table::Nodes
                    && let Some(own) = keys::find_id(key).and_then(|id| self.own_nodes.get_mut(&id))
                {
                    own.is_live = None;
                }
                return Ok(());
            }
            Entry::Vacant(vacant) => vacant,
        };
        let before = self.before.get(table, key, vacant.key())?;
        if before != value {
            vacant.insert(next);
            if table == Table::Nodes
                && let Some(id) = keys::find_id(key)
            {
                self.own_nodes.insert(id, OwnNode { write: next, is_live: None });
            }
            self.writes.push(Write { table, key: key.to_vec(), before, after: value });
        }
        Ok(())
    }

    /// The encoded record with a key.
    pub fn get_raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.raw(table, key)
    }

    /// Reads records that will be read and written, each once and in the order in which they are stored: in another order,
    /// many of their blocks would be read and decompressed several times. The values are kept in memory until the
    /// transaction ends. Its results stay the same.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read_ahead<'k>(&mut self, records: impl Iterator<Item = (Table, &'k [u8])>) -> Result<()> {
        let tenant = self.tenant;
        let with_key =
            |(table, key): (Table, &'k [u8])| (EngineKey::from(table.engine_key(tenant, key)), (table, key));
        let sorted: BTreeMap<EngineKey, (Table, &[u8])> = records.map(with_key).collect();
        for (full, (table, key)) in sorted {
            let value = self.before.get(table, key, &full)?;
            self.before.read_ahead.insert(full, value);
        }
        Ok(())
    }

    /// The number of records that this transaction has changed so far. Its values before and after an action delimit
    /// the action's writes. A record that is changed again keeps its first position.
    pub fn write_count(&self) -> usize {
        self.writes.len()
    }

    /// Runs several writes as a savepoint: if `act` returns an inner error, its writes are undone.
    pub fn attempt<T, E>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<std::result::Result<T, E>>,
    ) -> Result<std::result::Result<T, E>> {
        let before = (self.writes.clone(), self.write_indexes.clone(), self.own_nodes.clone());
        let outcome = act(self)?;
        if outcome.is_err() {
            (self.writes, self.write_indexes, self.own_nodes) = before;
        }
        Ok(outcome)
    }

    /// The encoded node if this transaction wrote it; `Some(None)` if the transaction deleted it.
    fn own_node(&self, id: NodeId) -> Option<Option<&[u8]>> {
        self.writes.get(self.own_nodes.get(&id)?.write).map(|write| write.after.as_deref())
    }
}

impl RecordsBefore<'_> {
    /// The value of a key. `full` is the engine's key.
    fn get(&self, table: Table, key: &[u8], full: &EngineKey) -> Result<Option<Vec<u8>>> {
        if self.is_absent(table, key) {
            return Ok(None);
        }
        if let Some(known) = self.read_ahead.get(full) {
            return Ok(known.clone());
        }
        match self.overlay.get(full.as_bytes()) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => self.engine.get(full.as_bytes()),
        }
    }

    /// Whether it is known, without reading, that no record with this key or prefix existed. The records of a node are
    /// deleted with it, and by a repair that loses it, so a new node has none.
    fn is_absent(&self, table: Table, key: &[u8]) -> bool {
        if table == Table::Nodes {
            return keys::find_id(key).is_some_and(|id| self.view.find(id).is_none());
        }
        // Only the value of a name's entry, which is not read, shows to which node the name belongs.
        index_entries::owners(table, key, &[])
            .filter_map(keys::find_id)
            .any(|id| self.new_nodes.contains(&id))
    }
}

impl Records for Transaction<'_> {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let full = EngineKey::from(table.engine_key(self.tenant, key));
        if let Some(write) = self.write_indexes.get(&full).and_then(|&at| self.writes.get(at)) {
            return Ok(write.after.clone());
        }
        self.before.get(table, key, &full)
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let full = EngineKey::from(table.engine_key(self.tenant, prefix));
        let prefix_length = full.as_bytes().len() - prefix.len();
        let mut found: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let by_node = !matches!(table, Table::Hashes | Table::Keywords);
        let is_absent = by_node && prefix.get(..ID).is_some_and(|id| self.before.is_absent(table, id));
        if !is_absent {
            self.before.engine.scan(full.as_bytes(), &mut |key, value| {
                found.insert(key.to_vec(), value.to_vec());
                Ok(())
            })?;
        }
        let own = self
            .write_indexes
            .range::<EngineKey, _>(&full..)
            .map(|(key, &at)| (key.as_bytes(), self.writes.get(at).and_then(|write| write.after.as_deref())));
        let own = own.take_while(|(key, _)| key.starts_with(full.as_bytes()));
        for (key, value) in self.before.overlay.range(full.as_bytes()).filter(|_| !is_absent).chain(own) {
            match value {
                Some(value) => found.insert(key.to_vec(), value.to_vec()),
                None => found.remove(key),
            };
        }
        Ok(found
            .into_iter()
            .map(|(key, value)| (key.get(prefix_length..).unwrap_or_default().to_vec(), value))
            .collect())
    }
}
