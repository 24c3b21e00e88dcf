//! Which message a node is a part of.

use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{ChunkOf, Message, MessageId, NodeId};
use poc_store::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The message of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkOrigin {
    /// The message.
    pub id: MessageId,
    /// Which of its chunks this is, from 1.
    pub chunk: usize,
    /// How many chunks it was cut into.
    pub chunks: usize,
    /// When it was written.
    pub created: Timestamp,
    /// What was given with it.
    pub metadata: Map<String, Value>,
    /// All of it, where that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The message a node with this source is a chunk of; `None` when the message is not there, or does not
/// know the node.
pub fn origin<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<ChunkOrigin>> {
    let Some((of, message)) = of(records, id, source)? else { return Ok(None) };
    Ok(Some(ChunkOrigin {
        id: message.id,
        chunk: of.number,
        chunks: message.chunks.len(),
        created: message.created,
        metadata: metadata(&message.metadata)?,
        text: None,
    }))
}

/// As [`origin`], with the text of the message.
pub fn origin_with_text<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<ChunkOrigin>> {
    let Some((_, message)) = of(records, id, source)? else { return Ok(None) };
    Ok(origin(records, id, source)?.map(|origin| ChunkOrigin { text: Some(message.text), ..origin }))
}

/// The message a node with this source is a chunk of, and which.
pub fn of<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<(ChunkOf, Message)>> {
    let Some(of) = ChunkOf::source(source) else { return Ok(None) };
    let message = records.message(of.message)?.filter(|message| message.chunks.contains(&id));
    Ok(message.map(|message| (of, message)))
}

/// The metadata of a record.
pub fn metadata(json: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(json)
        .map_err(|error| Error::internal(format!("the metadata of a message cannot be read: {error}")))
}
