//! Messages: texts kept verbatim, and stored as one node per chunk.

use super::id::{MessageId, NodeId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A message and the nodes created from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The permanent id of the message.
    pub id: MessageId,
    /// The text, verbatim.
    pub text: String,
    /// The metadata given with the message, as the text of a JSON object.
    pub metadata: String,
    /// When the message was written.
    pub created: Timestamp,
    /// Who stored the message, in the format of [`Node::provenance`](crate::Node::provenance).
    pub provenance: String,
    /// The nodes created from it, in the order of the text. Some may have been deleted since.
    pub chunks: Vec<NodeId>,
}

/// Identifies the part of a message that a node holds. It is stored in the node's source as
/// `message:ID#NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// The id of the message.
    pub message: MessageId,
    /// The position of the chunk in the message, from 1.
    pub number: usize,
}

const SCHEME: &str = "message:";

impl ChunkRef {
    /// Parses the source of a node; `None` if it does not refer to a chunk.
    pub fn from_source(source: Option<&str>) -> Option<ChunkRef> {
        source?.parse().ok()
    }
}

impl fmt::Display for ChunkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}#{}", self.message, self.number)
    }
}

impl FromStr for ChunkRef {
    type Err = ();
    fn from_str(text: &str) -> Result<ChunkRef, ()> {
        let (message, number) = text.strip_prefix(SCHEME).and_then(|rest| rest.split_once('#')).ok_or(())?;
        let chunk =
            ChunkRef { message: message.parse().map_err(drop)?, number: number.parse().map_err(drop)? };
        // Only the canonical spelling, because the source is part of the content hash.
        if chunk.number > 0 && chunk.to_string() == text { Ok(chunk) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_of_a_chunk_source_is_accepted() {
        let id = "019aa5b30800700080000000000000ab";
        let chunk = ChunkRef::from_source(Some(&format!("message:{id}#12"))).unwrap();
        assert_eq!((chunk.message.to_string().as_str(), chunk.number), (id, 12));
        assert_eq!(chunk.to_string(), format!("message:{id}#12"));
        let upper = format!("message:{}#1", id.to_uppercase());
        for other in
            ["", "message:", "message:1#1", &upper, &format!("message:{id}#0"), &format!("message:{id}#01")]
        {
            assert_eq!(ChunkRef::from_source(Some(other)), None, "{other}");
        }
        assert_eq!(ChunkRef::from_source(None), None);
    }
}
