//! The message: a text as somebody wrote it, from which its chunks are made.

use super::id::{MessageId, NodeId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Names it for ever.
    pub id: MessageId,
    /// The text, as it was given.
    pub text: String,
    /// What else was given with it: an object in JSON.
    pub metadata: String,
    /// When it was written.
    pub created: Timestamp,
    /// Who wrote it down, in the form of a node's provenance.
    pub provenance: String,
    /// The nodes that were made of it, in the order of the text. Some may be gone since.
    pub chunks: Vec<NodeId>,
}

/// Which part of which message a node is. It stands in the node's source, as `message:ID#NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// The message.
    pub message: MessageId,
    /// The place in it, from 1.
    pub number: usize,
}

const SCHEME: &str = "message:";

impl ChunkRef {
    /// What the source of a node says, if it is that.
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
        let of = ChunkRef { message: message.parse().map_err(drop)?, number: number.parse().map_err(drop)? };
        // One spelling alone, so that what it says and what it is hashed by are the same.
        if of.number > 0 && of.to_string() == text { Ok(of) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_names_a_chunk_in_one_spelling() {
        let id = "019aa5b30800700080000000000000ab";
        let of = ChunkRef::from_source(Some(&format!("message:{id}#12"))).unwrap();
        assert_eq!((of.message.to_string().as_str(), of.number), (id, 12));
        assert_eq!(of.to_string(), format!("message:{id}#12"));
        let upper = format!("message:{}#1", id.to_uppercase());
        for other in
            ["", "message:", "message:1#1", &upper, &format!("message:{id}#0"), &format!("message:{id}#01")]
        {
            assert_eq!(ChunkRef::from_source(Some(other)), None, "{other}");
        }
        assert_eq!(ChunkRef::from_source(None), None);
    }
}
