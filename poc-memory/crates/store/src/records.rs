//! A common interface for reading records from the store, inside a transaction and from a past snapshot. A source
//! belongs to one tenant; records of others are not visible.

use super::engine::{Engine, Visitor};
use super::record_encoding::Record;
use super::table::Table;
use super::{keys, vector_encoding};
use poc_graph::error::Result;
use poc_graph::{Activity, Edge, EdgeId, EdgeKind, Message, MessageId, Node, NodeId, Tenant, Visit};

/// A source of records.
pub trait Records {
    /// The encoded record with a key.
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// The encoded records of a table whose keys start with `prefix`, sorted by key.
    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>>;

    /// Whether a damaged store is read, in which the view may have notes without a record.
    fn may_lack_records(&self) -> bool {
        false
    }

    /// The keys of a table that start with `prefix`, sorted.
    fn raw_keys(&self, table: Table, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(self.raw_range(table, prefix)?.into_iter().map(|(key, _)| key).collect())
    }

    /// The decoded record with a key.
    fn record<R: Record>(&self, key: &[u8]) -> Result<Option<R>> {
        self.raw(R::TABLE, key)?.map(|bytes| R::decode(&bytes)).transpose()
    }

    /// The decoded records whose keys start with `prefix`, sorted by key.
    fn range<R: Record>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        let records = self.raw_range(R::TABLE, prefix)?;
        records.into_iter().map(|(key, bytes)| Ok((key, R::decode(&bytes)?))).collect()
    }

    /// The node with an id, in any state.
    fn node(&self, id: NodeId) -> Result<Option<Node>> {
        self.record(id.as_bytes())
    }

    /// The activity of a node; `None` while it has its initial value.
    fn activity(&self, id: NodeId) -> Result<Option<Activity>> {
        self.record(id.as_bytes())
    }

    /// The node with a key or alias, in any state.
    fn find_key(&self, key: &str) -> Result<Option<NodeId>> {
        let Some(id) = self.raw(Table::Keys, &keys::name(key))? else { return Ok(None) };
        // A repair from intact blocks may have kept the entry of a node that it lost.
        let exists = self.raw(Table::Nodes, &id)?.is_some();
        exists.then(|| keys::read_id(&id)).transpose()
    }

    /// The live node with a content hash; if there are several, the one with the smallest id.
    fn find_hash(&self, hash: &[u8; 32]) -> Result<Option<NodeId>> {
        let prefix = keys::hash_prefix(hash);
        for (key, _) in self.raw_range(Table::Hashes, &prefix)? {
            let Some(id) = keys::read_id_after(prefix.len(), &key) else { continue };
            // A repair from intact blocks may have kept the entry of a node that it lost, or of a later text.
            let node = self.node(id)?;
            if node.is_some_and(|node| node.state.is_live() && node.content_hash == *hash) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The edge of a kind between two nodes.
    fn edge(&self, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<Option<Edge>> {
        self.record(&keys::edge(src, kind, dst))
    }

    /// The edges of all kinds that start at a node, sorted by kind and target.
    fn outgoing_edges(&self, id: NodeId) -> Result<Vec<Edge>> {
        let edges: Vec<(_, Edge)> = self.range(id.as_bytes())?;
        Ok(edges.into_iter().map(|(_, edge)| edge).collect())
    }

    /// Every edge of a node, of all kinds, outgoing first.
    fn edges(&self, id: NodeId) -> Result<Vec<Edge>> {
        let mut edges = self.outgoing_edges(id)?;
        for (key, _) in self.raw_range(Table::EdgesIn, id.as_bytes())? {
            let EdgeId { src, kind, dst } = keys::read_edge(&key)?.reversed();
            // An edge from the node to itself is already among the outgoing edges.
            if src != dst {
                edges.extend(self.edge(src, kind, dst)?);
            }
        }
        Ok(edges)
    }

    /// The outgoing edges of a node that have one of some kinds.
    fn edges_from(&self, id: NodeId, kinds: &[EdgeKind]) -> Result<Vec<Edge>> {
        let mut edges = Vec::new();
        for (key, bytes) in self.raw_range(Table::Edges, id.as_bytes())? {
            if kinds.contains(&keys::read_edge(&key)?.kind) {
                edges.push(Edge::decode(&bytes)?);
            }
        }
        Ok(edges)
    }

    /// The message with an id.
    fn message(&self, id: MessageId) -> Result<Option<Message>> {
        self.record(id.as_bytes())
    }

    /// The vectors of a node from an embedder, sorted by passage.
    fn vectors(&self, id: NodeId, embedder: &str) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::new();
        for (key, bytes) in self.raw_range(Table::Vectors, id.as_bytes())? {
            if keys::read_vector(&key)?.2 == embedder.as_bytes() {
                vectors.push(vector_encoding::decode(&bytes)?.to_vec());
            }
        }
        Ok(vectors)
    }

    /// The last visit of a node by each agent.
    fn visits(&self, id: NodeId) -> Result<Vec<(String, Visit)>> {
        let visits: Vec<(_, Visit)> = self.range(id.as_bytes())?;
        visits.into_iter().map(|(key, visit)| Ok((keys::read_visit(&key)?.1.to_owned(), visit))).collect()
    }
}

/// The records of one tenant in an engine.
pub(super) struct TenantRecords<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) tenant: Tenant,
}

impl TenantRecords<'_> {
    /// Calls `each` with the key and value of every record of a table whose key starts with `prefix`, in the order of
    /// keys, until a call fails.
    pub(super) fn scan(&self, table: Table, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        let full = table.engine_key(self.tenant, prefix);
        let prefix_length = full.len() - prefix.len();
        self.engine.scan(&full, &mut |key, value| each(key.get(prefix_length..).unwrap_or_default(), value))
    }

    /// The first key of a table from `from` on, `from` included.
    pub(super) fn first_key(&self, table: Table, from: &[u8]) -> Result<Option<Vec<u8>>> {
        let prefix = table.engine_key(self.tenant, &[]);
        let found = self.engine.first_key(&prefix, &table.engine_key(self.tenant, from))?;
        Ok(found.map(|mut key| key.split_off(prefix.len())))
    }
}

impl Records for TenantRecords<'_> {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine.get(&table.engine_key(self.tenant, key))
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        self.scan(table, prefix, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(())
        })?;
        Ok(found)
    }

    fn raw_keys(&self, table: Table, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        self.scan(table, prefix, &mut |key, _| {
            found.push(key.to_vec());
            Ok(())
        })?;
        Ok(found)
    }
}
