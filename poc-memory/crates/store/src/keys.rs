//! The layout of the keys of each table, with functions to build and parse them.
//!
//! Numbers are big-endian, so that keys sort by number. Only the last part of a key has a variable length.

use poc_graph::error::{Error, Result};
use poc_graph::{EdgeId, EdgeKind, NodeId, Tenant};

/// The length of an id in bytes.
pub(super) const ID: usize = 16;

/// The prefix of the keys of names, hashes and keywords. It was originally reserved for a tenant, which now precedes
/// the number of the table instead.
const ENTRY_PREFIX: [u8; 16] = [0; 16];

/// The length of an edge's key in bytes.
pub(super) const EDGE_LENGTH: usize = 2 * ID + 1;

/// The key of an edge under its source. The key of its mirror has source and target swapped.
pub(super) fn edge(from: NodeId, kind: EdgeKind, to: NodeId) -> [u8; EDGE_LENGTH] {
    let mut key = [kind as u8; EDGE_LENGTH];
    let (source, rest) = key.split_at_mut(ID);
    source.copy_from_slice(from.as_bytes());
    rest.split_at_mut(1).1.copy_from_slice(to.as_bytes());
    key
}

/// The edge that has a key. The key of its mirror gives the reversed edge.
pub(super) fn read_edge(key: &[u8]) -> Result<EdgeId> {
    let parts = || {
        let (src, rest) = id(key)?;
        let (&kind, rest) = rest.split_first()?;
        let (dst, rest) = id(rest)?;
        let kind = *EdgeKind::ALL.get(usize::from(kind))?;
        rest.is_empty().then_some(EdgeId { src, kind, dst })
    };
    parts().ok_or_else(|| damaged("an edge"))
}

/// The key of a node's vector for one passage and embedder.
pub(super) fn vector(id: NodeId, passage: u16, embedder: &str) -> Vec<u8> {
    [id.as_bytes().as_slice(), &passage.to_be_bytes(), embedder.as_bytes()].concat()
}

/// The parts of a vector's key. The embedder is returned as bytes.
pub(super) fn read_vector(key: &[u8]) -> Result<(NodeId, u16, &[u8])> {
    let parts = || {
        let (id, rest) = id(key)?;
        let (passage, embedder) = rest.split_first_chunk()?;
        Some((id, u16::from_be_bytes(*passage), embedder))
    };
    parts().ok_or_else(|| damaged("a vector"))
}

/// The key of the entry for a node's name.
pub(super) fn name(key: &str) -> Vec<u8> {
    [ENTRY_PREFIX.as_slice(), key.as_bytes()].concat()
}

/// The name in a key built by [`name`].
pub(super) fn read_name(key: &[u8]) -> Option<&str> {
    key.strip_prefix(&ENTRY_PREFIX).and_then(|name| std::str::from_utf8(name).ok())
}

/// The prefix of the keys of all nodes with a content hash.
pub(super) fn hash_prefix(hash: &[u8; 32]) -> Vec<u8> {
    [ENTRY_PREFIX.as_slice(), hash].concat()
}

/// The key of the entry for a node's content hash.
pub(super) fn hash(hash: &[u8; 32], id: NodeId) -> Vec<u8> {
    [&hash_prefix(hash), id.as_bytes().as_slice()].concat()
}

/// The prefix of the keys of all nodes with a keyword.
pub(super) fn keyword_prefix(word: &str) -> Vec<u8> {
    [ENTRY_PREFIX.as_slice(), word.as_bytes(), b"\0"].concat()
}

/// The key of the entry for one of a node's keywords.
pub(super) fn keyword(word: &str, id: NodeId) -> Vec<u8> {
    [&keyword_prefix(word), id.as_bytes().as_slice()].concat()
}

/// The keyword and the node in a key built by [`keyword`].
pub(super) fn read_keyword(key: &[u8]) -> Option<(&str, NodeId)> {
    let rest = key.get(ID..)?;
    let (word, id) = rest.split_at_checked(rest.len().checked_sub(ID + 1)?)?;
    let (&0, id) = id.split_first()? else { return None };
    Some((std::str::from_utf8(word).ok()?, NodeId::from_bytes(id.try_into().ok()?)))
}

/// The node id that follows `prefix` and ends the key. `None` if the key is that of a longer keyword which itself
/// contains a NUL.
pub(super) fn read_id_after(prefix: usize, key: &[u8]) -> Option<NodeId> {
    let (id, rest) = id(key.get(prefix..)?)?;
    rest.is_empty().then_some(id)
}

/// The key of an agent's visit of a node.
pub(super) fn visit(id: NodeId, agent: &str) -> Vec<u8> {
    [id.as_bytes().as_slice(), agent.as_bytes()].concat()
}

/// The parts of a visit's key.
pub(super) fn read_visit(key: &[u8]) -> Result<(NodeId, &str)> {
    let parts = || {
        let (id, agent) = id(key)?;
        Some((id, std::str::from_utf8(agent).ok()?))
    };
    parts().ok_or_else(|| damaged("a visit"))
}

/// The key of the entry for a transaction that changed a node.
pub(super) fn change(id: NodeId, seq: u64) -> Vec<u8> {
    [id.as_bytes().as_slice(), &seq.to_be_bytes()].concat()
}

/// The sequence number in the key of a change.
pub(super) fn read_change(key: &[u8]) -> Result<u64> {
    let parts = || Some(u64::from_be_bytes(key.get(ID..)?.try_into().ok()?));
    parts().ok_or_else(|| damaged("a change"))
}

/// Parses a key or value that consists of a node id.
pub(super) fn read_id(bytes: &[u8]) -> Result<NodeId> {
    find_id(bytes).ok_or_else(|| damaged("a node"))
}

/// Like [`read_id`]; `None` for any other key or value.
pub(super) fn find_id(bytes: &[u8]) -> Option<NodeId> {
    id(bytes).filter(|(_, rest)| rest.is_empty()).map(|(id, _)| id)
}

/// Parses a key that consists of a tenant.
pub(super) fn read_tenant(bytes: &[u8]) -> Result<Tenant> {
    bytes.try_into().map(Tenant).map_err(|_| damaged("a tenant"))
}

fn id(bytes: &[u8]) -> Option<(NodeId, &[u8])> {
    let (id, rest) = bytes.split_first_chunk::<ID>()?;
    Some((NodeId::from_bytes(*id), rest))
}

/// A key that does not have the layout of its table.
#[derive(Debug, thiserror::Error)]
#[error("the key of {0} is damaged")]
struct DamagedKey(&'static str);

impl From<DamagedKey> for Error {
    fn from(error: DamagedKey) -> Error {
        Error::damaged(error.to_string())
    }
}

fn damaged(what: &'static str) -> Error {
    DamagedKey(what).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::node;

    #[test]
    fn keys_are_read_back() {
        let (a, b) = (node(1).id, node(2).id);
        assert_eq!(
            read_edge(&edge(a, EdgeKind::Semantic, b)).unwrap(),
            EdgeId { src: a, kind: EdgeKind::Semantic, dst: b }
        );
        assert_eq!(read_vector(&vector(a, 300, "hash")).unwrap(), (a, 300, b"hash".as_slice()));
        assert_eq!(read_visit(&visit(a, "linker")).unwrap(), (a, "linker"));
        assert_eq!(read_change(&change(a, 7)).unwrap(), 7);
        assert_eq!(read_keyword(&keyword("a\0b", b)), Some(("a\0b", b)));
        assert_eq!(read_keyword(&keyword("a", b)[2..]), None);
        assert_eq!(read_id(a.as_bytes()).unwrap(), a);
    }

    #[test]
    fn a_key_of_the_wrong_length_is_an_error() {
        let (a, b) = (node(1).id, node(2).id);
        let long = [edge(a, EdgeKind::Link, b).as_slice(), &[0]].concat();
        assert!(read_edge(&long).is_err() && read_edge(&long[..32]).is_err());
        assert!(read_vector(&a.as_bytes()[..]).is_err());
        assert!(read_id(&long).is_err() && read_change(a.as_bytes()).is_err());
    }

    #[test]
    fn a_keyword_with_a_nul_is_not_taken_for_a_shorter_one() {
        let prefix = keyword_prefix("a");
        let other = keyword("a\0b", node(1).id);
        assert!(other.starts_with(&prefix));
        assert_eq!(read_id_after(prefix.len(), &other), None);
        assert_eq!(read_id_after(prefix.len(), &keyword("a", node(1).id)), Some(node(1).id));
    }
}
