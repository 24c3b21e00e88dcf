//! Reads records, vectors and the history of nodes from a store.

use super::creation::Creation;
use super::logged_transaction::LoggedTransaction;
use super::record_encoding::Record;
use super::records::Records as _;
use super::table::Table;
use super::{LoggedChange, LoggedChangeKind, Store, keys};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Edge, Message, MessageId, Node, NodeId, Visit};

impl Store {
    /// The record with a key.
    pub fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>> {
        self.records().record(key)
    }

    /// The records whose keys start with `prefix`, sorted by key.
    pub fn scan<R: Record>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, R)>> {
        self.records().range(prefix)
    }

    /// The record keys that start with `prefix`, sorted. The values are not decoded.
    pub fn keys<R: Record>(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.records().raw_keys(R::TABLE, prefix)
    }

    /// The first record key from `from` on, `from` included. Reads no other records, however many there are.
    pub fn first_key<R: Record>(&self, from: &[u8]) -> Result<Option<Vec<u8>>> {
        self.records().first_key(R::TABLE, from)
    }

    /// The node with an id, in any state.
    pub fn node(&self, id: NodeId) -> Result<Option<Node>> {
        self.records().node(id)
    }

    /// The activity of a node.
    pub fn activity(&self, id: NodeId) -> Result<Option<Activity>> {
        self.records().activity(id)
    }

    /// The node with a key or alias, in any state.
    pub fn find_key(&self, key: &str) -> Result<Option<NodeId>> {
        self.records().find_key(key)
    }

    /// The live node with a content hash; if there are several, the one with the smallest id.
    pub fn find_hash(&self, hash: &[u8; 32]) -> Result<Option<NodeId>> {
        self.records().find_hash(hash)
    }

    /// Every edge of a node, of all kinds, outgoing first.
    pub fn edges(&self, id: NodeId) -> Result<Vec<Edge>> {
        self.records().edges(id)
    }

    /// The last visit of a node by each agent.
    pub fn visits(&self, id: NodeId) -> Result<Vec<(String, Visit)>> {
        self.records().visits(id)
    }

    /// The ids of the messages written before an instant, sorted.
    pub fn messages_before(&self, before: Timestamp) -> Result<Vec<MessageId>> {
        let mut found = Vec::new();
        // Decodes one message at a time, because all texts together may not fit into memory.
        self.records().scan(Table::Messages, &[], &mut |_, bytes| {
            let message = Message::decode(bytes)?;
            found.extend((message.created < before).then_some(message.id));
            Ok(())
        })?;
        Ok(found)
    }

    /// The changes of a node that the log still has, oldest first.
    pub fn history(&self, id: NodeId) -> Result<Vec<LoggedChange>> {
        let mut changes = Vec::new();
        let base = self.shared.log.base_seq();
        for (key, creation) in self.records().raw_range(Table::Changes, id.as_bytes())? {
            let seq = keys::read_change(&key)?;
            let mut created = None;
            if !creation.is_empty() {
                let creation = Creation::decode(&creation)?;
                let kind = LoggedChangeKind::Created(creation.version);
                created = Some(LoggedChange { seq, cause: creation.cause(), kind });
            }
            // A later creation may be the undo of a deletion, and only the log has what it undoes.
            let reads_log = seq > base && (created.is_none() || !changes.is_empty());
            let payload = if reads_log { self.shared.log.read_payload(seq)? } else { None };
            let Some(payload) = payload else {
                changes.extend(created);
                continue;
            };
            let found = LoggedTransaction::decode_write(&payload, self.tenant, Table::Nodes, id.as_bytes())?;
            let Some((cause, write)) = found else {
                changes.extend(created);
                continue;
            };
            let node = |bytes: &[u8]| Node::decode(bytes).map(Box::new);
            let kind = match (write.before.as_deref(), write.after.as_deref()) {
                (Some(before), Some(after)) => {
                    LoggedChangeKind::Changed { before: node(before)?, after: node(after)? }
                }
                (None, Some(after)) => LoggedChangeKind::Created(node(after)?.version),
                (Some(before), None) => LoggedChangeKind::Deleted(node(before)?),
                (None, None) => continue,
            };
            changes.push(LoggedChange { seq, cause, kind });
        }
        Ok(changes)
    }

    /// The vectors of a node from an embedder, sorted by passage.
    pub fn vectors(&self, id: NodeId, embedder: &str) -> Result<Vec<Vec<f32>>> {
        self.records().vectors(id, embedder)
    }
}
