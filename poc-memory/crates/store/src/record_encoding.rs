//! The encoding of records: a version byte, followed by postcard.

use super::encoding_error::EncodingError;
use super::table::Table;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why bytes cannot be decoded as a record.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("a record of {table:?} is damaged: {source}")]
    Damaged { table: Table, source: postcard::Error },
    #[error("a record of {table:?} has version {version}, this release reads up to {newest}")]
    NewerVersion { table: Table, version: u8, newest: u8 },
    #[error("a record of {table:?} is empty")]
    Empty { table: Table },
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Error {
        match error {
            RecordError::NewerVersion { .. } => Error::conflict(error.to_string())
                .hint("use the release that wrote it, or a newer one; nothing was changed"),
            RecordError::Damaged { .. } | RecordError::Empty { .. } => Error::damaged(error.to_string()),
        }
    }
}

/// The size for which memory is taken before a record is encoded, in bytes: that of an edge with its reason, of which an
/// import writes the most.
const TYPICAL_BYTES: usize = 96;

/// A type whose values are the records of a table.
pub trait Record: Serialize + DeserializeOwned {
    /// The table of the records.
    const TABLE: Table;
    /// The version of the encoding, which is the first byte of every record.
    const VERSION: u8 = 1;

    /// Decodes the body of a record in an earlier version; all earlier versions remain readable. `None` if there was no
    /// such version.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Self>> {
        let _ = (version, body);
        None
    }

    /// Encodes the value, including the version byte.
    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(TYPICAL_BYTES);
        bytes.push(Self::VERSION);
        Ok(postcard::to_extend(self, bytes).map_err(|error| EncodingError::new("a record", error))?)
    }

    /// Decodes a value of any version.
    fn decode(bytes: &[u8]) -> Result<Self> {
        let (table, newest) = (Self::TABLE, Self::VERSION);
        let (&version, body) = bytes.split_first().ok_or(RecordError::Empty { table })?;
        let value =
            if version == newest { Some(postcard::from_bytes(body)) } else { Self::earlier(version, body) };
        let value = value.ok_or(RecordError::NewerVersion { table, version, newest })?;
        Ok(value.map_err(|source| RecordError::Damaged { table, source })?)
    }
}

impl Record for poc_graph::Node {
    const TABLE: Table = Table::Nodes;
    const VERSION: u8 = 3;

    /// Version 2 had no other names, and version 1 no aliases either. A zero byte at the end is an empty list.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Self>> {
        let missing: &[u8] = match version {
            1 => &[0, 0],
            2 => &[0],
            _ => return None,
        };
        Some(postcard::from_bytes(&[body, missing].concat()))
    }
}
impl Record for poc_graph::Edge {
    const TABLE: Table = Table::Edges;
}
impl Record for poc_graph::Activity {
    const TABLE: Table = Table::Activity;
    const VERSION: u8 = 2;

    /// Version 1 had no time of the last feedback.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Self>> {
        type First = (f64, Timestamp, u64, u16, Option<Timestamp>);
        let read = |(weight, touched, accesses, replay_interval, replayed): First| Self {
            weight,
            touched,
            accesses,
            replay_interval,
            replayed,
            judged: None,
        };
        (version == 1).then(|| postcard::from_bytes(body).map(read))
    }
}
impl Record for poc_graph::Message {
    const TABLE: Table = Table::Messages;
}
impl Record for poc_graph::Visit {
    const TABLE: Table = Table::Visits;
}
impl Record for poc_rank::histogram::Histogram {
    const TABLE: Table = Table::Samples;
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::{Node, testing};

    #[test]
    fn nodes_of_earlier_versions_lack_the_names_that_came_later() {
        let node = Node { aliases: vec!["was".into()], ..testing::node(1) };
        let bytes = node.encode().unwrap();
        let Some((0, body)) = bytes[1..].split_last() else { panic!("no empty list at the end") };
        assert_eq!(Node::decode(&[&[2][..], body].concat()).unwrap(), node);
        let bare = testing::node(1).encode().unwrap();
        let first = [&[1][..], &bare[1..bare.len() - 2]].concat();
        assert_eq!(Node::decode(&first).unwrap(), testing::node(1));
        let named = Node { other_names: vec!["Zebra Plan".into()], ..node };
        assert_eq!(Node::decode(&named.encode().unwrap()).unwrap(), named);
        assert!(Node::decode(&[&[4][..], body].concat()).is_err());
    }
}
