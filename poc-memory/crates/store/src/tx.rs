//! A transaction under construction. Its reads see everything built before it; its writes are atomic.

use super::engine::Engine;
use super::overlay::Overlay;
use super::record_encoding::Record;
use super::records::Records;
use super::table::Table;
use super::txn::Write;
use super::{keys, vector};
use poc_graph::error::{Error, Result};
use poc_graph::{Activity, Edge, EdgeKind, Message, MessageId, Node, NodeId, Tenant, View, Visit};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Why a transaction cannot contain a write.
#[derive(Debug, thiserror::Error)]
enum TxError {
    #[error("the key `{key}` belongs to node `{owner}`")]
    KeyTaken { key: String, owner: NodeId },
    #[error("node `{0}` has more than {max} passages", max = u16::MAX)]
    TooManyPassages(NodeId),
    #[error("there is no node `{0}`")]
    NoNode(NodeId),
}

impl From<TxError> for Error {
    fn from(error: TxError) -> Error {
        let message = error.to_string();
        match error {
            TxError::KeyTaken { .. } => {
                Error::conflict(message).hint("choose another key, or change that node")
            }
            TxError::TooManyPassages(_) => Error::invalid(message),
            TxError::NoNode(_) => Error::not_found(message),
        }
    }
}

/// A transaction under construction. It reads and writes only records of its tenant.
pub struct Tx<'a> {
    engine: &'a dyn Engine,
    tenant: Tenant,
    overlay: &'a Overlay,
    view: &'a View,
    seq: u64,
    writes: Vec<Write>,
    // Index in `writes` by the engine's key.
    places: BTreeMap<Vec<u8>, usize>,
    // The same for nodes, which edges ask for.
    own_nodes: FxHashMap<NodeId, usize>,
    // The nodes that did not exist before this transaction.
    new_nodes: FxHashSet<NodeId>,
}

impl<'a> Tx<'a> {
    /// A transaction that gets the sequence number `seq`.
    pub(super) fn new(
        engine: &'a dyn Engine,
        (tenant, seq): (Tenant, u64),
        overlay: &'a Overlay,
        view: &'a View,
    ) -> Self {
        let (writes, places) = (Vec::new(), BTreeMap::new());
        let (own_nodes, new_nodes) = (FxHashMap::default(), FxHashSet::default());
        Tx { engine, tenant, overlay, view, seq, writes, places, own_nodes, new_nodes }
    }

    /// The writes so far.
    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Whether any record differs from its value before.
    pub(super) fn changes(&self) -> bool {
        self.writes.iter().any(|write| write.before != write.after)
    }

    /// The writes. A record that has its old value again stays in the list, because positions are recorded.
    pub(super) fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    /// The tenant.
    pub fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The sequence number that this transaction gets if it changes anything.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The graph as of the last transaction built before this one. It does not contain this
    /// transaction's own writes.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// A record, with this transaction's own writes.
    pub fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>> {
        self.record(key)
    }

    /// The records whose key starts with `prefix`, by key, with this transaction's own writes.
    pub fn scan<R: Record>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        self.range(prefix)
    }

    /// The keys of the records that start with `prefix`, in order, with this transaction's own writes.
    pub fn keys<R: Record>(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.raw_keys(R::TABLE, prefix)
    }

    /// Puts a record.
    pub fn put<R: Record>(&mut self, key: &[u8], record: &R) -> Result<()> {
        self.put_raw(R::TABLE, key, Some(record.encode()?))
    }

    /// Deletes a record; nothing happens when it is not there.
    pub fn delete<R: Record>(&mut self, key: &[u8]) -> Result<()> {
        self.put_raw(R::TABLE, key, None)
    }

    /// Puts or deletes raw bytes, for undo, which restores before-images. Putting the current value writes
    /// nothing.
    pub fn put_raw(&mut self, table: Table, key: &[u8], value: Option<Vec<u8>>) -> Result<()> {
        if table == Table::Changes {
            return Err(Error::internal("the table of changes is derived and cannot be written"));
        }
        let full = table.engine_key(self.tenant, key);
        if let Some(write) = self.places.get(&full).and_then(|&at| self.writes.get_mut(at)) {
            write.after = value;
            return Ok(());
        }
        let before = self.before(table, key, &full)?;
        if before != value {
            self.places.insert(full, self.writes.len());
            if let Some(id) = Some(table).filter(|table| *table == Table::Nodes).and(keys::read_id(key).ok())
            {
                self.own_nodes.insert(id, self.writes.len());
            }
            self.writes.push(Write { table, key: key.to_vec(), before, after: value });
        }
        Ok(())
    }

    /// The raw bytes of a record.
    pub fn get_raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.raw(table, key)
    }

    /// How many records this transaction has changed so far. The values before and after an action delimit
    /// that action's writes. A record that is changed again keeps its first position.
    pub fn write_count(&self) -> usize {
        self.writes.len()
    }

    /// Runs several writes as a savepoint: when `act` returns an inner error, its writes are undone.
    pub fn attempt<T, E>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<std::result::Result<T, E>>,
    ) -> Result<std::result::Result<T, E>> {
        let before = (self.writes.clone(), self.places.clone(), self.own_nodes.clone());
        let outcome = act(self)?;
        if outcome.is_err() {
            (self.writes, self.places, self.own_nodes) = before;
        }
        Ok(outcome)
    }

    /// The node with this id, in any state.
    pub fn node(&self, id: NodeId) -> Result<Option<Node>> {
        Records::node(self, id)
    }

    /// Whether there is a live node with this id. Quicker than [`Tx::node`].
    pub fn is_live(&self, id: NodeId) -> Result<bool> {
        match self.own_node(id) {
            Some(None) => Ok(false),
            Some(Some(bytes)) => Ok(Node::decode(bytes)?.state.is_live()),
            None => Ok(self.view.find(id).is_some_and(|ix| self.view.is_live(ix))),
        }
    }

    /// The node with this key or alias.
    pub fn find_key(&self, key: &str) -> Result<Option<NodeId>> {
        Records::find_key(self, key)
    }

    /// The live node with this content hash; the one with the smallest id when there are several.
    pub fn find_hash(&self, hash: &[u8; 32]) -> Result<Option<NodeId>> {
        Records::find_hash(self, hash)
    }

    /// The live nodes with a keyword.
    pub fn nodes_with_keyword(&self, keyword: &str) -> Result<Vec<NodeId>> {
        let prefix = keys::keyword_prefix(keyword);
        let found = self.raw_range(Table::Keywords, &prefix)?;
        Ok(found.iter().filter_map(|(key, _)| keys::read_id_after(prefix.len(), key)).collect())
    }

    /// Puts a node and updates its entries for key, aliases, content hash and keywords.
    ///
    /// # Errors
    /// `conflict` when its key or one of its aliases belongs to another node.
    pub fn put_node(&mut self, node: &Node) -> Result<()> {
        if node.tenant != self.tenant {
            return Err(Error::internal(format!("the node `{}` is of another tenant", node.id)));
        }
        for name in node.names() {
            if let Some(owner) = self.find_key(name)?
                && owner != node.id
            {
                return Err(TxError::KeyTaken { key: name.to_owned(), owner }.into());
            }
        }
        let before = self.node(node.id)?;
        if before.is_none() && self.view.find(node.id).is_none() {
            self.new_nodes.insert(node.id);
        }
        self.put(node.id.as_bytes(), node)?;
        // Unchanged entries are not written again.
        let wanted = entries(node);
        for (table, key) in before.iter().flat_map(entries) {
            if !wanted.iter().any(|entry| entry.0 == table && entry.1 == key) {
                self.put_raw(table, &key, None)?;
            }
        }
        for (table, key) in wanted {
            let value = if table == Table::Keys { node.id.as_bytes().to_vec() } else { Vec::new() };
            self.put_raw(table, &key, Some(value))?;
        }
        Ok(())
    }

    /// Deletes a node with its edges, vectors, keywords, visits and activity. Nothing happens when
    /// it is not there.
    pub fn delete_node(&mut self, id: NodeId) -> Result<()> {
        let Some(node) = self.node(id)? else { return Ok(()) };
        for edge in self.edges(id)? {
            self.delete_edge(edge.src, edge.kind, edge.dst)?;
        }
        for table in [Table::Vectors, Table::Visits, Table::Frames] {
            for (key, _) in self.raw_range(table, id.as_bytes())? {
                self.put_raw(table, &key, None)?;
            }
        }
        for (table, key) in entries(&node) {
            self.put_raw(table, &key, None)?;
        }
        self.delete::<Activity>(id.as_bytes())?;
        self.delete::<Node>(id.as_bytes())
    }

    /// A message.
    pub fn message(&self, id: MessageId) -> Result<Option<Message>> {
        Records::message(self, id)
    }

    /// Puts a message.
    pub fn put_message(&mut self, message: &Message) -> Result<()> {
        self.put(message.id.as_bytes(), message)
    }

    /// Deletes a message; nothing happens when it is not there.
    pub fn delete_message(&mut self, id: MessageId) -> Result<()> {
        self.delete::<Message>(id.as_bytes())
    }

    /// The messages whose ids start with these bytes, by id.
    pub fn messages(&self, prefix: &[u8]) -> Result<Vec<Message>> {
        Ok(self.range::<Message>(prefix)?.into_iter().map(|(_, message)| message).collect())
    }

    /// Deletes the vectors of a node except those by some embedders.
    pub fn retain_vectors(&mut self, id: NodeId, embedders: &[&[u8]]) -> Result<()> {
        for (key, _) in self.raw_range(Table::Vectors, id.as_bytes())? {
            if !embedders.contains(&keys::read_vector(&key)?.2) {
                self.put_raw(Table::Vectors, &key, None)?;
            }
        }
        Ok(())
    }

    /// How many vectors a node has, by any embedder.
    pub fn count_vectors(&self, id: NodeId) -> Result<usize> {
        Ok(self.raw_range(Table::Vectors, id.as_bytes())?.len())
    }

    /// The activity of a node.
    pub fn activity(&self, id: NodeId) -> Result<Option<Activity>> {
        Records::activity(self, id)
    }

    /// Puts the activity of a node, which must exist.
    pub fn put_activity(&mut self, id: NodeId, activity: &Activity) -> Result<()> {
        self.must_exist(id)?;
        self.put(id.as_bytes(), activity)
    }

    /// One edge.
    pub fn edge(&self, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<Option<Edge>> {
        Records::edge(self, src, kind, dst)
    }

    /// Every edge of a node, outgoing first.
    pub fn edges(&self, id: NodeId) -> Result<Vec<Edge>> {
        Records::edges(self, id)
    }

    /// Puts an edge and its mirror. Both nodes must exist.
    pub fn put_edge(&mut self, edge: &Edge) -> Result<()> {
        self.must_exist(edge.src)?;
        self.must_exist(edge.dst)?;
        self.put(&keys::edge(edge.src, edge.kind, edge.dst), edge)?;
        self.put_raw(Table::EdgesIn, &keys::edge(edge.dst, edge.kind, edge.src), Some(Vec::new()))
    }

    /// Deletes an edge and its mirror.
    pub fn delete_edge(&mut self, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<()> {
        self.delete::<Edge>(&keys::edge(src, kind, dst))?;
        self.put_raw(Table::EdgesIn, &keys::edge(dst, kind, src), None)
    }

    /// Puts the vectors of a node whose text is new: part 0 is the title, passages follow. Deletes surplus
    /// parts and the vectors of other embedders, which are of the old text. The node must exist.
    pub fn put_vectors(&mut self, id: NodeId, embedder: &str, parts: &[Vec<f32>]) -> Result<()> {
        self.must_exist(id)?;
        for (key, _) in self.raw_range(Table::Vectors, id.as_bytes())? {
            let (_, part, of) = keys::read_vector(&key)?;
            if of != embedder.as_bytes() || usize::from(part) >= parts.len() {
                self.put_raw(Table::Vectors, &key, None)?;
            }
        }
        self.add_vectors(id, embedder, parts)
    }

    /// Puts vectors of an unchanged text by another embedder. The node must exist.
    pub fn add_vectors(&mut self, id: NodeId, embedder: &str, parts: &[Vec<f32>]) -> Result<()> {
        self.must_exist(id)?;
        for (part, vector) in parts.iter().enumerate() {
            let part = u16::try_from(part).map_err(|_| TxError::TooManyPassages(id))?;
            self.put_raw(Table::Vectors, &keys::vector(id, part, embedder), Some(vector::encode(vector)?))?;
        }
        Ok(())
    }

    /// The last visit of a node by an agent.
    pub fn visit(&self, agent: &str, id: NodeId) -> Result<Option<Visit>> {
        self.record(&keys::visit(id, agent))
    }

    /// Puts the last visit of a node by an agent. Nothing happens when the node does not exist.
    pub fn put_visit(&mut self, agent: &str, id: NodeId, visit: &Visit) -> Result<()> {
        if self.raw(Table::Nodes, id.as_bytes())?.is_none() {
            return Ok(());
        }
        self.put(&keys::visit(id, agent), visit)
    }

    fn must_exist(&self, id: NodeId) -> Result<()> {
        let exists = match self.own_node(id) {
            Some(own) => own.is_some(),
            None => self.view.find(id).is_some(),
        };
        if exists { Ok(()) } else { Err(TxError::NoNode(id).into()) }
    }

    /// The record of a node that this transaction wrote; `Some(None)` when it deleted the node.
    fn own_node(&self, id: NodeId) -> Option<Option<&[u8]>> {
        self.writes.get(*self.own_nodes.get(&id)?).map(|write| write.after.as_deref())
    }

    /// The value before this transaction; `full` is the engine's key.
    fn before(&self, table: Table, key: &[u8], full: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.is_absent(table, key) {
            return Ok(None);
        }
        match self.overlay.get(full) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => self.engine.get(full),
        }
    }

    /// Whether it is known without reading that no record with this key, or none with this prefix, existed before
    /// this transaction. The records of a node are deleted with it, so a new node has none.
    fn is_absent(&self, table: Table, key: &[u8]) -> bool {
        let id = |bytes: Option<&[u8]>| bytes.and_then(|bytes| keys::read_id(bytes).ok());
        let is_new = |bytes| id(bytes).is_some_and(|id| self.new_nodes.contains(&id));
        match table {
            Table::Nodes => id(Some(key)).is_some_and(|id| self.view.find(id).is_none()),
            Table::Activity | Table::Vectors | Table::Visits | Table::Frames => is_new(key.get(..ID)),
            Table::Edges | Table::EdgesIn => is_new(key.get(..ID)) || is_new(key.get(ID + 1..)),
            Table::Hashes | Table::Keywords => is_new(key.len().checked_sub(ID).and_then(|at| key.get(at..))),
            _ => false,
        }
    }
}

/// Bytes of an id.
const ID: usize = 16;

impl Records for Tx<'_> {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let full = table.engine_key(self.tenant, key);
        if let Some(write) = self.places.get(&full).and_then(|&at| self.writes.get(at)) {
            return Ok(write.after.clone());
        }
        self.before(table, key, &full)
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let full = table.engine_key(self.tenant, prefix);
        let front = full.len() - prefix.len();
        let mut found: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let by_node = !matches!(table, Table::Hashes | Table::Keywords);
        let is_absent = by_node && prefix.get(..ID).is_some_and(|id| self.is_absent(table, id));
        if !is_absent {
            self.engine.scan(&full, &mut |key, value| {
                found.insert(key.to_vec(), value.to_vec());
                Ok(())
            })?;
        }
        let own =
            self.places.range(full.clone()..).take_while(|(key, _)| key.starts_with(&full)).map(
                |(key, &at)| (key.as_slice(), self.writes.get(at).and_then(|write| write.after.as_deref())),
            );
        for (key, value) in self.overlay.range(&full).filter(|_| !is_absent).chain(own) {
            match value {
                Some(value) => found.insert(key.to_vec(), value.to_vec()),
                None => found.remove(key),
            };
        }
        Ok(found
            .into_iter()
            .map(|(key, value)| (key.get(front..).unwrap_or_default().to_vec(), value))
            .collect())
    }
}

/// The index entries of a node: its key, its aliases and, when it is live, its content hash and keywords.
fn entries(node: &Node) -> Vec<(Table, Vec<u8>)> {
    let mut entries: Vec<(Table, Vec<u8>)> =
        node.names().map(|name| (Table::Keys, keys::name(name))).collect();
    if node.state.is_live() {
        entries.push((Table::Hashes, keys::hash(&node.content_hash, node.id)));
        let words = node.keywords.iter();
        entries.extend(words.map(|word| (Table::Keywords, keys::keyword(word, node.id))));
    }
    entries
}
