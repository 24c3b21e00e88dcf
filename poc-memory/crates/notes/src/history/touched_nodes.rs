//! The nodes that a transaction changed.

use crate::Memory;
use poc_graph::error::Result;
use poc_graph::{Edge, Node, NodeId};
use poc_store::{LoggedChangeKind, Record, Table, Write};
use rustc_hash::FxHashSet;

/// The nodes that a transaction changed.
pub(super) enum TouchedNodes {
    /// The keys of the nodes whose records it wrote, and for each changed key the new and the former one.
    Written { keys: Vec<String>, renamed: Vec<(String, String)> },
    /// If it wrote no record of a node: the nodes whose edges, weight or visits it wrote.
    Linked(Vec<NodeId>),
}

impl TouchedNodes {
    pub(super) fn of(writes: &[Write]) -> Result<TouchedNodes> {
        let (mut keys, mut renamed) = (Vec::new(), Vec::new());
        for write in writes.iter().filter(|write| write.table == Table::Nodes) {
            let key = |image: Option<&[u8]>| -> Result<Option<String>> {
                image.map(|bytes| Node::decode(bytes).map(|node| node.key)).transpose()
            };
            let (before, after) = (key(write.before.as_deref())?, key(write.after.as_deref())?);
            if let (Some(before), Some(after)) = (&before, &after)
                && before != after
            {
                renamed.push((after.clone(), before.clone()));
            }
            keys.extend(after.or(before));
        }
        if !keys.is_empty() {
            return Ok(TouchedNodes::Written { keys, renamed });
        }
        let of_a_node =
            |write: &&Write| matches!(write.table, Table::Edges | Table::Activity | Table::Visits);
        let mut ids: Vec<NodeId> = Vec::new();
        for write in writes.iter().filter(of_a_node) {
            ids.extend(write.node_id());
            if write.table == Table::Edges
                && let Some(edge) = write.after.as_deref().or(write.before.as_deref())
            {
                ids.push(Edge::decode(edge)?.dst);
            }
        }
        let mut seen = FxHashSet::default();
        ids.retain(|id| seen.insert(*id));
        Ok(TouchedNodes::Linked(ids))
    }

    /// The keys of the nodes.
    pub(super) fn keys(self, memory: &Memory) -> Result<Vec<String>> {
        match self {
            TouchedNodes::Written { keys, .. } => Ok(keys),
            TouchedNodes::Linked(ids) => ids.into_iter().map(|id| last_key(memory, id)).collect(),
        }
    }
}

/// The key of a node, or the last one if it was deleted; its id if the log has no key any more.
pub(crate) fn last_key(memory: &Memory, id: NodeId) -> Result<String> {
    if let Some(node) = memory.store.node(id)? {
        return Ok(node.key);
    }
    Ok(match memory.store.history(id)?.pop().map(|change| change.kind) {
        Some(LoggedChangeKind::Deleted(node)) => node.key,
        _ => id.to_string(),
    })
}

/// Whether a table holds notes or data of notes.
pub(crate) fn is_note_table(table: Table) -> bool {
    match table {
        Table::Nodes
        | Table::Edges
        | Table::EdgesIn
        | Table::Vectors
        | Table::Keys
        | Table::Hashes
        | Table::Keywords
        | Table::Visits
        | Table::Activity
        | Table::Messages
        | Table::Frames => true,
        Table::Runs
        | Table::Occurrences
        | Table::Agents
        | Table::AgentStates
        | Table::Proposals
        | Table::Reservations
        | Table::TenantSpending
        | Table::Meta
        | Table::Changes
        | Table::Tenants
        | Table::Samples
        | Table::Vaults => false,
    }
}
