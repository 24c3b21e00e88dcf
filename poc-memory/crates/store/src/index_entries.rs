//! Entries that follow from nodes and edges: those for names, content hashes and keywords, and the mirrors of edges.
//!
//! The transaction that creates a node or an edge writes its entries, and later ones do not write them again. If that
//! transaction is lost and a later one is not, the node or the edge is there without its entries. In the same way, what
//! a later transaction adds to a node can be there without the node.

use crate::engine::{Engine, Put};
use crate::keys::{self, ID};
use crate::record_encoding::Record as _;
use crate::table::Table;
use poc_graph::error::Result;
use poc_graph::{EdgeId, Node, NodeId, Tenant};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The keys of the entries of a node: for its key, its aliases and, if it is live, its content hash and keywords.
pub(crate) fn of_node(node: &Node) -> Vec<(Table, Vec<u8>)> {
    let mut entries: Vec<(Table, Vec<u8>)> =
        node.names().map(|name| (Table::Keys, keys::name(name))).collect();
    if node.state.is_live() {
        entries.push((Table::Hashes, keys::hash(&node.content_hash, node.id)));
        let words = node.keywords.iter();
        entries.extend(words.map(|word| (Table::Keywords, keys::keyword(word, node.id))));
    }
    entries
}

/// The value of an entry of a node.
pub(crate) fn value(table: Table, id: NodeId) -> Vec<u8> {
    if table == Table::Keys { id.as_bytes().to_vec() } else { Vec::new() }
}

/// A note of which damage has left only entries, or records that were added to it, such as links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostNote {
    /// Its tenant.
    #[serde(default, skip_serializing_if = "Tenant::is_default")]
    pub tenant: Tenant,
    /// Its id.
    pub id: NodeId,
    /// Its key or one of its aliases; `None` if no entry for a name is left.
    pub name: Option<String>,
}

/// The notes that an engine lacks, although the entries and other records that `deletions` remove belong to them, sorted
/// by tenant and id. The engine must still have the entries for names; other records may already be deleted from it.
pub(crate) fn lost_notes<'a>(
    engine: &dyn Engine,
    deletions: impl Iterator<Item = &'a Put>,
) -> Result<Vec<LostNote>> {
    let mut lost: BTreeMap<(Tenant, NodeId), Option<String>> = BTreeMap::new();
    for (full, _) in deletions.filter(|(_, value)| value.is_none()) {
        let Some((tenant, table, key)) = Table::split_engine_key(full) else { continue };
        // Only the entry for a name has the id in its value.
        let found = if table == Table::Keys { engine.get(full)?.unwrap_or_default() } else { Vec::new() };
        for id in owners(table, key, &found) {
            let Ok(id) = keys::read_id(id) else { continue };
            if engine.get(&Table::Nodes.engine_key(tenant, id.as_bytes()))?.is_some() {
                continue;
            }
            let name = keys::read_name(key).filter(|_| table == Table::Keys);
            let known = lost.entry((tenant, id)).or_default();
            if known.is_none() {
                *known = name.map(str::to_owned);
            }
        }
    }
    Ok(lost.into_iter().map(|((tenant, id), name)| LostNote { tenant, id, name }).collect())
}

/// The changes that make the index entries in an engine agree with its nodes and edges. If several nodes have the same
/// name, its entry stays with one of them. `beat` is called for every record.
pub(crate) fn corrections(engine: &dyn Engine, beat: &dyn Fn()) -> Result<Vec<Put>> {
    let mut corrections: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
    engine.scan(&[], &mut |full, found| {
        beat();
        let Some((tenant, table, key)) = Table::split_engine_key(full) else { return Ok(()) };
        match table {
            Table::Nodes => {
                // A record that cannot be decoded has no entries.
                let Ok(node) = Node::decode(found) else { return Ok(()) };
                for (entry, value) in missing_entries(engine, tenant, &node)? {
                    corrections.entry(entry).or_insert(Some(value));
                }
            }
            Table::Edges => {
                let Ok(edge) = keys::read_edge(key) else { return Ok(()) };
                let mirror = Table::EdgesIn.engine_key(tenant, &edge_key(edge.reversed()));
                if engine.get(&mirror)?.is_none() {
                    corrections.insert(mirror, Some(Vec::new()));
                }
            }
            Table::EdgesIn => {
                let Ok(mirror) = keys::read_edge(key) else { return Ok(()) };
                let edge = Table::Edges.engine_key(tenant, &edge_key(mirror.reversed()));
                if engine.get(&edge)?.is_none() {
                    corrections.insert(full.to_vec(), None);
                }
            }
            Table::Keys | Table::Hashes | Table::Keywords
                if !is_of_node(engine, tenant, table, key, found)? =>
            {
                corrections.entry(full.to_vec()).or_insert(None);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(corrections.into_iter().collect())
}

/// The entries of a node that an engine lacks. An entry for a name may also be one of another node.
fn missing_entries(engine: &dyn Engine, tenant: Tenant, node: &Node) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut missing = Vec::new();
    for (table, key) in of_node(node) {
        let entry = table.engine_key(tenant, &key);
        let is_right = match engine.get(&entry)? {
            Some(named) if table == Table::Keys => is_of_node(engine, tenant, table, &key, &named)?,
            found => found.is_some(),
        };
        if !is_right {
            missing.push((entry, value(table, node.id)));
        }
    }
    Ok(missing)
}

/// The deletions of the edges, vectors, visits, weights and Markdown frames of nodes that do not exist. `beat` is
/// called for every record.
pub(crate) fn orphan_deletions(engine: &dyn Engine, beat: &dyn Fn()) -> Result<Vec<Put>> {
    let mut deletions = Vec::new();
    let mut scanned = Tenant::default();
    let mut nodes: FxHashSet<Vec<u8>> = FxHashSet::default();
    engine.scan(&[], &mut |full, found| {
        beat();
        let Some((tenant, table, key)) = Table::split_engine_key(full) else { return Ok(()) };
        if tenant != scanned {
            scanned = tenant;
            nodes.clear();
        }
        match table {
            // Their table has the lowest number, so they are read before the other records of the tenant.
            Table::Nodes => drop(nodes.insert(key.to_vec())),
            Table::Edges
            | Table::EdgesIn
            | Table::Vectors
            | Table::Visits
            | Table::Activity
            | Table::Frames
                if owners(table, key, found).any(|id| !nodes.contains(id)) =>
            {
                deletions.push((full.to_vec(), None));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(deletions)
}

fn edge_key(EdgeId { src, kind, dst }: EdgeId) -> [u8; keys::EDGE_LENGTH] {
    keys::edge(src, kind, dst)
}

/// Whether an entry is one of the node that it names.
fn is_of_node(engine: &dyn Engine, tenant: Tenant, table: Table, key: &[u8], found: &[u8]) -> Result<bool> {
    let Some(id) = named_node(table, key, found) else { return Ok(false) };
    let Some(bytes) = engine.get(&Table::Nodes.engine_key(tenant, id))? else { return Ok(false) };
    let is_own = |entry: &(Table, Vec<u8>)| entry.0 == table && entry.1 == key;
    Ok(Node::decode(&bytes).is_ok_and(|node| of_node(&node).iter().any(is_own)))
}

/// The id of the node that an entry for a name, a content hash or a keyword names.
fn named_node<'a>(table: Table, key: &'a [u8], found: &'a [u8]) -> Option<&'a [u8]> {
    match table {
        Table::Keys => Some(found),
        _ => key.len().checked_sub(ID).and_then(|at| key.get(at..)),
    }
}

/// The ids of the nodes that a record belongs to. A node belongs to none.
pub(crate) fn owners<'a>(table: Table, key: &'a [u8], found: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let owners = match table {
        Table::Edges | Table::EdgesIn => [key.get(..ID), key.get(ID + 1..)],
        Table::Vectors | Table::Visits | Table::Activity | Table::Frames => [key.get(..ID), None],
        Table::Keys | Table::Hashes | Table::Keywords => [named_node(table, key, found), None],
        _ => [None, None],
    };
    owners.into_iter().flatten()
}
