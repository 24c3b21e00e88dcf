//! The graph's records in a transaction: nodes with their index entries, messages, edges, vectors, activity and visits.

use super::{Transaction, TransactionError};
use crate::record_encoding::Record;
use crate::records::Records;
use crate::table::Table;
use crate::{index_entries, keys, vector_encoding};
use poc_graph::error::Result;
use poc_graph::{Activity, Edge, EdgeId, EdgeKind, Message, MessageId, Node, NodeId, Visit};

impl Transaction<'_> {
    /// The node with this id, in any state.
    pub fn node(&self, id: NodeId) -> Result<Option<Node>> {
        Records::node(self, id)
    }

    /// Whether there is a live node with this id. It is faster than [`Transaction::node`].
    pub fn is_live(&self, id: NodeId) -> Result<bool> {
        let Some(own) = self.own_nodes.get(&id) else {
            return Ok(self.before.view.find(id).is_some_and(|ix| self.before.view.is_live(ix)));
        };
        let record = || self.writes.get(own.write)?.after.as_deref().map(Node::decode);
        match own.is_live {
            Some(is_live) => Ok(is_live),
            None => Ok(record().transpose()?.is_some_and(|node| node.state.is_live())),
        }
    }

    /// The node with this key or alias.
    pub fn find_key(&self, key: &str) -> Result<Option<NodeId>> {
        Records::find_key(self, key)
    }

    /// The live node with this content hash; if there are several, the one with the smallest id.
    pub fn find_hash(&self, hash: &[u8; 32]) -> Result<Option<NodeId>> {
        Records::find_hash(self, hash)
    }

    /// The live nodes with a keyword.
    pub fn nodes_with_keyword(&self, keyword: &str) -> Result<Vec<NodeId>> {
        let prefix = keys::keyword_prefix(keyword);
        let found = self.raw_range(Table::Keywords, &prefix)?;
        Ok(found.iter().filter_map(|(key, _)| keys::read_id_after(prefix.len(), key)).collect())
    }

    /// Writes a node and updates its entries for key, aliases, content hash and keywords.
    ///
    /// # Errors
    /// `conflict` if its key or one of its aliases belongs to another node.
    pub fn put_node(&mut self, node: &Node) -> Result<()> {
        if node.tenant != self.tenant {
            return Err(TransactionError::OtherTenant(node.id).into());
        }
        for name in node.names() {
            if let Some(owner) = self.find_key(name)?
                && owner != node.id
            {
                return Err(TransactionError::KeyTaken { key: name.to_owned(), owner }.into());
            }
        }
        let old = self.node(node.id)?;
        if old.is_none() && self.before.view.find(node.id).is_none() {
            self.before.new_nodes.insert(node.id);
        }
        self.put(node.id.as_bytes(), node)?;
        if let Some(own) = self.own_nodes.get_mut(&node.id) {
            own.is_live = Some(node.state.is_live());
        }
        // Unchanged entries are not written again.
        let wanted = index_entries::of_node(node);
        for (table, key) in old.iter().flat_map(index_entries::of_node) {
            if !wanted.iter().any(|entry| entry.0 == table && entry.1 == key) {
                self.put_raw(table, &key, None)?;
            }
        }
        for (table, key) in wanted {
            self.put_raw(table, &key, Some(index_entries::value(table, node.id)))?;
        }
        Ok(())
    }

    /// Deletes a node with its edges, vectors, keywords, visits and activity, if it exists.
    pub fn delete_node(&mut self, id: NodeId) -> Result<()> {
        let Some(node) = self.node(id)? else { return Ok(()) };
        self.delete_records_of(id)?;
        for (table, key) in index_entries::of_node(&node) {
            self.put_raw(table, &key, None)?;
        }
        self.delete::<Node>(id.as_bytes())
    }

    /// Deletes the edges, vectors, visits, activity and Markdown frames of a node that does not exist, before it is
    /// created again. Only a store that was repaired by an earlier release, or that is a repaired copy of a shared log,
    /// may have them: intact transactions added them, and the one that created the node was lost. Does nothing if the
    /// node exists.
    pub fn delete_orphans(&mut self, id: NodeId) -> Result<()> {
        match self.raw(Table::Nodes, id.as_bytes())? {
            Some(_) => Ok(()),
            None => self.delete_records_of(id),
        }
    }

    fn delete_records_of(&mut self, id: NodeId) -> Result<()> {
        for table in [Table::Edges, Table::EdgesIn] {
            for key in self.raw_keys(table, id.as_bytes())? {
                let edge = keys::read_edge(&key)?;
                let EdgeId { src, kind, dst } = if table == Table::Edges { edge } else { edge.reversed() };
                self.delete_edge(src, kind, dst)?;
            }
        }
        for table in [Table::Vectors, Table::Visits, Table::Frames] {
            for key in self.raw_keys(table, id.as_bytes())? {
                self.put_raw(table, &key, None)?;
            }
        }
        self.delete::<Activity>(id.as_bytes())
    }

    /// The message with an id.
    pub fn message(&self, id: MessageId) -> Result<Option<Message>> {
        Records::message(self, id)
    }

    /// Writes a message.
    pub fn put_message(&mut self, message: &Message) -> Result<()> {
        self.put(message.id.as_bytes(), message)
    }

    /// Deletes a message if it exists.
    pub fn delete_message(&mut self, id: MessageId) -> Result<()> {
        self.delete::<Message>(id.as_bytes())
    }

    /// The messages whose ids start with these bytes, sorted by id.
    pub fn messages(&self, prefix: &[u8]) -> Result<Vec<Message>> {
        Ok(self.range::<Message>(prefix)?.into_iter().map(|(_, message)| message).collect())
    }

    /// Deletes the vectors of a node except those from some embedders.
    pub fn retain_vectors(&mut self, id: NodeId, embedders: &[&[u8]]) -> Result<()> {
        for (key, _) in self.raw_range(Table::Vectors, id.as_bytes())? {
            if !embedders.contains(&keys::read_vector(&key)?.2) {
                self.put_raw(Table::Vectors, &key, None)?;
            }
        }
        Ok(())
    }

    /// The number of vectors of a node, from all embedders.
    pub fn count_vectors(&self, id: NodeId) -> Result<usize> {
        Ok(self.raw_range(Table::Vectors, id.as_bytes())?.len())
    }

    /// The activity of a node.
    pub fn activity(&self, id: NodeId) -> Result<Option<Activity>> {
        Records::activity(self, id)
    }

    /// Writes the activity of a node, which must exist.
    pub fn put_activity(&mut self, id: NodeId, activity: &Activity) -> Result<()> {
        self.must_exist(id)?;
        self.put(id.as_bytes(), activity)
    }

    /// The edge of a kind between two nodes.
    pub fn edge(&self, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<Option<Edge>> {
        Records::edge(self, src, kind, dst)
    }

    /// Every edge of a node, outgoing first.
    pub fn edges(&self, id: NodeId) -> Result<Vec<Edge>> {
        Records::edges(self, id)
    }

    /// Writes an edge and its mirror. Both nodes must exist.
    pub fn put_edge(&mut self, edge: &Edge) -> Result<()> {
        self.must_exist(edge.src)?;
        self.must_exist(edge.dst)?;
        self.write_edge(edge)
    }

    /// Writes an edge and its mirror if the target is live, and returns whether it is. The source must exist.
    pub fn put_edge_to_live(&mut self, edge: &Edge) -> Result<bool> {
        let is_live = self.is_live(edge.dst)?;
        if is_live {
            self.must_exist(edge.src)?;
            self.write_edge(edge)?;
        }
        Ok(is_live)
    }

    fn write_edge(&mut self, edge: &Edge) -> Result<()> {
        self.put(&keys::edge(edge.src, edge.kind, edge.dst), edge)?;
        self.put_raw(Table::EdgesIn, &keys::edge(edge.dst, edge.kind, edge.src), Some(Vec::new()))
    }

    /// Deletes an edge and its mirror.
    pub fn delete_edge(&mut self, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<()> {
        self.delete::<Edge>(&keys::edge(src, kind, dst))?;
        self.put_raw(Table::EdgesIn, &keys::edge(dst, kind, src), None)
    }

    /// Writes the vectors of a node whose text is new: passage 0 is the title, the others are those of the body.
    /// Deletes surplus passages and the vectors from other embedders, which belong to the old text. The node must
    /// exist.
    pub fn put_vectors(&mut self, id: NodeId, embedder: &str, vectors: &[Vec<f32>]) -> Result<()> {
        self.must_exist(id)?;
        for (key, _) in self.raw_range(Table::Vectors, id.as_bytes())? {
            let (_, passage, of) = keys::read_vector(&key)?;
            if of != embedder.as_bytes() || usize::from(passage) >= vectors.len() {
                self.put_raw(Table::Vectors, &key, None)?;
            }
        }
        self.add_vectors(id, embedder, vectors)
    }

    /// Writes vectors of an unchanged text from another embedder. The node must exist.
    pub fn add_vectors(&mut self, id: NodeId, embedder: &str, vectors: &[Vec<f32>]) -> Result<()> {
        self.must_exist(id)?;
        for (passage, vector) in vectors.iter().enumerate() {
            let passage = u16::try_from(passage).map_err(|_| TransactionError::TooManyPassages(id))?;
            self.put_raw(
                Table::Vectors,
                &keys::vector(id, passage, embedder),
                Some(vector_encoding::encode(vector)?),
            )?;
        }
        Ok(())
    }

    /// The last visit of a node by an agent.
    pub fn visit(&self, agent: &str, id: NodeId) -> Result<Option<Visit>> {
        self.record(&keys::visit(id, agent))
    }

    /// Writes the last visit of a node by an agent, if the node exists.
    pub fn put_visit(&mut self, agent: &str, id: NodeId, visit: &Visit) -> Result<()> {
        if self.raw(Table::Nodes, id.as_bytes())?.is_none() {
            return Ok(());
        }
        self.put(&keys::visit(id, agent), visit)
    }

    fn must_exist(&self, id: NodeId) -> Result<()> {
        let exists = match self.own_node(id) {
            Some(own) => own.is_some(),
            None => self.before.view.find(id).is_some(),
        };
        if exists { Ok(()) } else { Err(TransactionError::NoNode(id).into()) }
    }
}
