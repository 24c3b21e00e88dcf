//! The message that a node is a chunk of.

use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{ChunkRef, Message, MessageId, NodeId};
use poc_store::{DAMAGED_HINT, Records};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The message that a chunk comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkOrigin {
    /// Id of the message.
    pub id: MessageId,
    /// Number of this chunk in the message, from 1.
    pub chunk: usize,
    /// Number of chunks of the message.
    pub chunks: usize,
    /// When it was written.
    pub created: Timestamp,
    /// The metadata given with the message.
    pub metadata: Map<String, Value>,
    /// The whole text, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The message that a node with this source is a chunk of; `None` if there is no such message or it does not
/// list the node.
pub fn origin<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<ChunkOrigin>> {
    of(records, id, source)?.map(|(of, message)| origin_in(&of, &message)).transpose()
}

/// Like [`origin`], with the text of the message.
pub fn origin_with_text<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<ChunkOrigin>> {
    let Some((of, message)) = of(records, id, source)? else { return Ok(None) };
    let origin = origin_in(&of, &message)?;
    Ok(Some(ChunkOrigin { text: Some(message.text), ..origin }))
}

/// The message of a chunk, without its text.
fn origin_in(of: &ChunkRef, message: &Message) -> Result<ChunkOrigin> {
    Ok(ChunkOrigin {
        id: message.id,
        chunk: of.number,
        chunks: message.chunks.len(),
        created: message.created,
        metadata: metadata(&message.metadata)?,
        text: None,
    })
}

/// The message that a node with this source is a chunk of, with the chunk's reference.
pub fn of<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    source: Option<&str>,
) -> Result<Option<(ChunkRef, Message)>> {
    let Some(of) = ChunkRef::from_source(source) else { return Ok(None) };
    let message = records.message(of.message)?.filter(|message| message.chunks.contains(&id));
    Ok(message.map(|message| (of, message)))
}

/// Parses the metadata of a message record.
pub fn metadata(json: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(json).map_err(|error| {
        Error::damaged(format!("the metadata of a message cannot be read: {error}")).hint(DAMAGED_HINT)
    })
}
