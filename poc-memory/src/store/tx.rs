//! One transaction: reads that see everything built before it, writes that land together.

use super::{Record, Table};
use crate::error::Result;
use crate::graph::{Activity, Edge, EdgeKind, Node, NodeId, RunId, Tenant, View, Visit};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a transaction happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// When.
    pub at: Timestamp,
    /// Who: `manual`, `import:FILE`, `agent:NAME`, `daemon`.
    pub actor: String,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The op that was called.
    pub op: String,
}

/// One changed record: before and after images, physical.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// The table.
    pub table: Table,
    /// The key.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// The value before; `None` when there was none.
    #[serde(with = "serde_bytes")]
    pub before: Option<Vec<u8>>,
    /// The value after; `None` when it was deleted.
    #[serde(with = "serde_bytes")]
    pub after: Option<Vec<u8>>,
}

/// What the log holds: one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Txn {
    /// Position in the log, from 1 without gaps.
    pub seq: u64,
    /// Why it happened.
    pub cause: Cause,
    /// What it changed, each key once, in the order first written.
    pub writes: Vec<Write>,
}

/// A transaction being built.
pub struct Tx<'a> {
    _store: std::marker::PhantomData<&'a ()>,
}

impl Tx<'_> {
    /// The graph as of the last transaction built before this one. It does not contain this
    /// transaction's own writes.
    pub fn view(&self) -> &View {
        todo!()
    }

    /// A record, with this transaction's own writes.
    pub fn get<R: Record>(&self, _key: &[u8]) -> Result<Option<R>> {
        todo!()
    }

    /// The records whose key starts with `prefix`, by key, with this transaction's own writes.
    pub fn scan<R: Record>(&self, _prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        todo!()
    }

    /// Puts a record.
    pub fn put<R: Record>(&mut self, _key: &[u8], _record: &R) -> Result<()> {
        todo!()
    }

    /// Deletes a record; nothing happens when it is not there.
    pub fn delete<R: Record>(&mut self, _key: &[u8]) -> Result<()> {
        todo!()
    }

    /// Puts raw bytes, or deletes: for undo, which restores before-images.
    pub fn put_raw(&mut self, _table: Table, _key: &[u8], _value: Option<Vec<u8>>) -> Result<()> {
        todo!()
    }

    /// The raw bytes of a record.
    pub fn get_raw(&self, _table: Table, _key: &[u8]) -> Result<Option<Vec<u8>>> {
        todo!()
    }

    /// How many records this transaction has changed so far: `written()` before and after an
    /// action names that action's writes.
    pub fn written(&self) -> usize {
        todo!()
    }

    /// The node with this id, in any state.
    pub fn node(&self, _id: NodeId) -> Result<Option<Node>> {
        todo!()
    }

    /// The node with this key.
    pub fn find_key(&self, _tenant: Tenant, _key: &str) -> Result<Option<NodeId>> {
        todo!()
    }

    /// The live node with this content hash.
    pub fn find_hash(&self, _tenant: Tenant, _hash: &[u8; 32]) -> Result<Option<NodeId>> {
        todo!()
    }

    /// The live nodes with a keyword.
    pub fn with_keyword(&self, _tenant: Tenant, _keyword: &str) -> Result<Vec<NodeId>> {
        todo!()
    }

    /// Puts a node and keeps keys, hashes and keywords in step with it. A key that belongs to
    /// another node is a conflict.
    pub fn put_node(&mut self, _node: &Node) -> Result<()> {
        todo!()
    }

    /// Deletes a node with its edges, vectors, keywords, visits and activity.
    pub fn delete_node(&mut self, _id: NodeId) -> Result<()> {
        todo!()
    }

    /// The activity of a node.
    pub fn activity(&self, _id: NodeId) -> Result<Option<Activity>> {
        todo!()
    }

    /// Puts the activity of a node.
    pub fn put_activity(&mut self, _id: NodeId, _activity: &Activity) -> Result<()> {
        todo!()
    }

    /// One edge.
    pub fn edge(&self, _src: NodeId, _kind: EdgeKind, _dst: NodeId) -> Result<Option<Edge>> {
        todo!()
    }

    /// Every edge of a node, outgoing first.
    pub fn edges(&self, _id: NodeId) -> Result<Vec<Edge>> {
        todo!()
    }

    /// Puts an edge and its mirror.
    pub fn put_edge(&mut self, _edge: &Edge) -> Result<()> {
        todo!()
    }

    /// Deletes an edge and its mirror.
    pub fn delete_edge(&mut self, _src: NodeId, _kind: EdgeKind, _dst: NodeId) -> Result<()> {
        todo!()
    }

    /// Puts the vectors of a node for an embedder: part 0 is the title, passages follow. Parts it
    /// had beyond these are deleted.
    pub fn put_vectors(&mut self, _id: NodeId, _embedder: &str, _parts: &[Vec<f32>]) -> Result<()> {
        todo!()
    }

    /// Puts the last visit of a node by an agent.
    pub fn put_visit(&mut self, _agent: &str, _id: NodeId, _visit: &Visit) -> Result<()> {
        todo!()
    }
}
