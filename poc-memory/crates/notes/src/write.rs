//! Stores a message as chunks: nodes with edges to each other and to the nodes written just before.

use super::draft::{self, check_size};
use super::{Memory, chunks, insert_plan, key, sequence};
use poc_graph::error::{Error, Result};
use poc_graph::{
    Activity, Category, ChunkRef, DERIVED_TITLE_CHARS, Message, MessageId, Node, NodeId, NodeType, Origin,
    State, Trust, title_of,
};
use poc_store::{Cause, Transaction};
use serde_json::{Map, Value};

/// A message to write.
#[derive(Clone, Debug)]
pub struct MessageDraft {
    /// The text.
    pub text: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The keywords of each chunk.
    pub keywords: Vec<String>,
    /// Who writes it.
    pub provenance: String,
    /// How far its text is trusted.
    pub trust: Trust,
}

/// The result of storing a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteReport {
    /// The message.
    pub message: MessageId,
    /// Its chunks, in the order of the text.
    pub nodes: Vec<NodeId>,
    /// Number of edges created.
    pub edges: usize,
    /// Sequence number of the transaction.
    pub seq: u64,
}

/// Splits, embeds and stores a message. Writing the same text twice creates two messages.
///
/// # Errors
/// `invalid_argument` if the text is blank, or if the text, its metadata, one of its chunks or their number exceeds a
/// limit of `[write]` or `[insert]`; those of the embedder and the store.
pub fn write(memory: &Memory, draft: MessageDraft, cause: Cause) -> Result<WriteReport> {
    let config = &memory.config.write;
    let metadata = checked_metadata(&draft, config)?;
    let keywords = draft::checked_keywords(&draft.keywords, &memory.config)?;
    let now = cause.at;
    let mut message = Message {
        id: memory.new_message_id(),
        text: draft.text,
        metadata,
        created: now,
        provenance: draft.provenance,
        chunks: Vec::new(),
    };
    let nodes = nodes(memory, &message, &keywords, draft.trust)?;
    message.chunks = nodes.iter().map(|node| node.id).collect();
    let vectors = insert_plan::embed(memory, &nodes.iter().collect::<Vec<_>>())?;
    let embedder = memory.embedder.name();
    let commit = memory.store.transact(cause, |tx| {
        let before = recent_chunks(tx, &message, config)?;
        for (node, vectors) in nodes.iter().zip(&vectors) {
            let taken = |key: &str| Ok(tx.find_key(key)?.is_some());
            let node = Node { key: key::unique(&node.key, taken)?, ..node.clone() };
            tx.put_node(&node)?;
            tx.put_activity(node.id, &Activity::initial(now))?;
            tx.put_vectors(node.id, embedder, vectors)?;
        }
        tx.put_message(&message)?;
        create_edges(tx, &message, &before, config)
    })?;
    Ok(WriteReport { message: message.id, nodes: message.chunks, edges: commit.value, seq: commit.seq })
}

/// Checks that a message is not blank and that neither its text nor its metadata is too long. Returns the
/// metadata as JSON.
fn checked_metadata(draft: &MessageDraft, config: &poc_config::WriteConfig) -> Result<String> {
    if draft.text.trim().is_empty() {
        return Err(Error::invalid("the message is blank").hint("give a text").field("text"));
    }
    draft::no_nul(&draft.text, "text")?;
    if draft.text.len() > config.max_message_bytes {
        return Err(Error::invalid(format!(
            "the message has {} bytes, more than the maximum of {}",
            draft.text.len(),
            config.max_message_bytes
        ))
        .hint("split it into several")
        .field("text"));
    }
    let metadata = Value::Object(draft.metadata.clone()).to_string();
    if metadata.len() > config.max_metadata_bytes {
        return Err(Error::invalid(format!(
            "the metadata has {} bytes as JSON, more than the maximum of {}",
            metadata.len(),
            config.max_metadata_bytes
        ))
        .hint("move long values into the message")
        .field("metadata"));
    }
    Ok(metadata)
}

/// The nodes of a message. Their keys are not yet unique.
fn nodes(memory: &Memory, message: &Message, keywords: &[String], trust: Trust) -> Result<Vec<Node>> {
    let text = draft::tidy(&message.text);
    let chunks = chunks::chunks(&text, &memory.config.write);
    let max = memory.config.write.max_chunks;
    if chunks.len() > max {
        return Err(Error::invalid(format!(
            "the message has {} chunks of a few sentences, more than the maximum of {max}",
            chunks.len()
        ))
        .hint("split it into several")
        .field("text"));
    }
    let node = |(index, chunk): (usize, &str)| {
        let title = title_of(chunk)
            .unwrap_or_else(|| chunk.chars().filter(|c| !c.is_control()).take(DERIVED_TITLE_CHARS).collect());
        check_size(&title, chunk, keywords, memory.config.insert.max_node_bytes).map_err(|error| {
            Error { message: format!("chunk {} of the message: {}", index + 1, error.message), ..error }
                .hint("use shorter sentences: a chunk contains a few complete sentences")
                .field("text")
        })?;
        let mut node = Node {
            id: memory.new_node_id(),
            tenant: memory.store.tenant(),
            key: key::slug(&title),
            title,
            body: chunk.to_owned(),
            node_type: NodeType("episodic".into()),
            category: Category::General,
            keywords: keywords.to_vec(),
            provenance: message.provenance.clone(),
            trust,
            author: None,
            source: Some(ChunkRef { message: message.id, number: index + 1 }.to_string()),
            emotion: 0.0,
            created: message.created,
            modified: message.created,
            expires: None,
            state: State::Active,
            origin: Origin::Local,
            content_hash: [0; 32],
            version: 1,
            aliases: Vec::new(),
            other_names: Vec::new(),
        };
        node.content_hash = node.hash();
        Ok(node)
    };
    chunks.into_iter().enumerate().map(node).collect()
}

/// Creates edges between neighbouring chunks in both directions, and from the first chunk to the nodes written
/// just before. Returns the number of edges.
fn create_edges(
    tx: &mut Transaction<'_>,
    message: &Message,
    before: &[NodeId],
    config: &poc_config::WriteConfig,
) -> Result<usize> {
    let (at, provenance) = (message.created, message.provenance.as_str());
    let mut edges = sequence::edges(&message.chunks, config.structural_weight, at, provenance);
    if let Some(&first) = message.chunks.first() {
        let temporal = |&other: &NodeId| sequence::edge(first, other, config.temporal_weight, at, provenance);
        edges.extend(before.iter().map(temporal));
    }
    edges.iter().try_for_each(|edge| tx.put_edge(edge))?;
    Ok(edges.len())
}

/// Maximum number of ranges of ids that are scanned for recent messages.
const MAX_RANGES: i64 = 16;

/// The newest live chunks of the messages written within `[write] temporal_within` before `message`, newest
/// first.
fn recent_chunks(
    tx: &Transaction<'_>,
    message: &Message,
    config: &poc_config::WriteConfig,
) -> Result<Vec<NodeId>> {
    let since = message.created.minus(config.temporal_within);
    // Ids begin with their creation time, so the ids of an interval share a prefix. An id is never older than
    // the clock, and the newest id is that of the message.
    let (first, last) = (since.0.max(0), message.id.millis());
    let bits = (0..=5)
        .map(|bytes| bytes * 8)
        .find(|bits| (last >> bits) - (first >> bits) < MAX_RANGES)
        .unwrap_or(40);
    let mut found = Vec::new();
    for range in ((first >> bits)..=(last >> bits)).rev() {
        let start = (range << bits).to_be_bytes();
        let prefix = start.get(2..8 - bits / 8).unwrap_or_default();
        for other in tx.messages(prefix)?.into_iter().rev() {
            if !(since..=message.created).contains(&other.created) {
                continue;
            }
            for &chunk in other.chunks.iter().rev() {
                if found.len() >= config.temporal_nodes {
                    return Ok(found);
                }
                if tx.node(chunk)?.is_some_and(|node| node.state.is_live()) {
                    found.push(chunk);
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
