//! Scans of whole tables, one record at a time, to find dangling references.

use super::record_encoding::Record;
use super::table::Table;
use super::{Store, keys};
use poc_graph::error::Result;
use poc_graph::{Edge, EdgeId, NodeId};

impl Store {
    /// Calls `each` with every edge.
    pub fn for_each_edge(&self, each: &mut dyn FnMut(Edge) -> Result<()>) -> Result<()> {
        self.records().scan(Table::Edges, &[], &mut |_, bytes| each(Edge::decode(bytes)?))
    }

    /// Calls `each` with the edge of every entry in the index of incoming edges.
    pub fn for_each_incoming_edge(&self, each: &mut dyn FnMut(EdgeId) -> Result<()>) -> Result<()> {
        self.records().scan(Table::EdgesIn, &[], &mut |key, _| each(keys::read_edge(key)?.reversed()))
    }

    /// Calls `each` with the key of every entry in the index of keywords; see [`parse_keyword_key`].
    pub fn for_each_keyword_key(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.records().scan(Table::Keywords, &[], &mut |key, _| each(key))
    }
}

/// The keyword and the node in a key of the index of keywords; `None` if the key is damaged.
pub fn parse_keyword_key(key: &[u8]) -> Option<(&str, NodeId)> {
    keys::read_keyword(key)
}
