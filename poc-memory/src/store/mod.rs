//! Durable truth: the log, the record engine that materialises it, and transactions.

mod record;
mod table;
mod tx;

pub use record::Record;
pub use table::Table;
pub use tx::{Cause, Tx, Txn, Write};

use crate::error::Result;
use crate::graph::{Activity, Delta, Edge, Node, NodeId, Tenant, View, Visit};
use crate::time::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// Something derived from the log that follows it: an index.
pub trait Follower: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;
    /// The sequence number it reflects; 0 when it must be fed everything.
    fn applied(&self) -> u64;
    /// Takes in what a transaction did.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()>;
    /// Writes what it holds to disk, so that the next open is quick.
    fn checkpoint(&self) -> Result<()>;
}

/// A committed transaction's result.
#[derive(Debug)]
pub struct Committed<T> {
    /// Its sequence number; the last one when nothing was written.
    pub seq: u64,
    /// What the closure returned.
    pub value: T,
}

/// One change of one node.
#[derive(Clone, Debug)]
pub struct Change {
    /// Sequence number of the transaction.
    pub seq: u64,
    /// What caused it.
    pub cause: Cause,
    /// The node before; `None` when it was made.
    pub before: Option<Node>,
    /// The node after; `None` when it was deleted.
    pub after: Option<Node>,
}

/// What recovery found and did at open.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Messages for people: a torn tail cut off, a record engine rebuilt.
    pub notes: Vec<String>,
}

/// The open store. One process holds it at a time.
pub struct Store {
    _private: (),
}

impl Store {
    /// Opens the store in a directory, making it when it is missing. `followers` are caught up.
    pub fn open(_directory: &Path, _followers: Vec<Arc<dyn Follower>>) -> Result<Store> {
        todo!()
    }

    /// What recovery found at open.
    pub fn recovery(&self) -> &Recovery {
        todo!()
    }

    /// The newest published view: everything acknowledged and nothing else.
    pub fn view(&self) -> Arc<View> {
        todo!()
    }

    /// Builds one transaction and waits until it is durable and visible to readers. The closure
    /// sees every transaction built before it; when it fails nothing is written.
    pub fn transact<T>(
        &self,
        _cause: Cause,
        _build: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<Committed<T>> {
        todo!()
    }

    /// A record.
    pub fn get<R: Record>(&self, _key: &[u8]) -> Result<Option<R>> {
        todo!()
    }

    /// The records whose key starts with `prefix`, by key.
    pub fn scan<R: Record>(&self, _prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        todo!()
    }

    /// A node in any state.
    pub fn node(&self, _id: NodeId) -> Result<Option<Node>> {
        todo!()
    }

    /// The activity of a node.
    pub fn activity(&self, _id: NodeId) -> Result<Option<Activity>> {
        todo!()
    }

    /// The node with a key, in any state.
    pub fn find_key(&self, _tenant: Tenant, _key: &str) -> Result<Option<NodeId>> {
        todo!()
    }

    /// Every edge of a node, of all kinds, outgoing first.
    pub fn edges(&self, _id: NodeId) -> Result<Vec<Edge>> {
        todo!()
    }

    /// The last visit of a node by each agent.
    pub fn visits(&self, _id: NodeId) -> Result<Vec<(String, Visit)>> {
        todo!()
    }

    /// Every change of a node that the log still holds, oldest first.
    pub fn history(&self, _id: NodeId) -> Result<Vec<Change>> {
        todo!()
    }

    /// A past transaction.
    pub fn txn(&self, _seq: u64) -> Result<Option<Txn>> {
        todo!()
    }

    /// Sizes on disk in bytes: log, records.
    pub fn sizes(&self) -> Result<(u64, u64)> {
        todo!()
    }

    /// Writes the followers' checkpoints; also done when the store is dropped.
    pub fn checkpoint(&self) -> Result<()> {
        todo!()
    }
}

/// The time a transaction carries.
pub type At = Timestamp;
