//! The history of nodes and of the memory.

use super::diff::{self, FieldChange};
use super::{Memory, resolve};
use poc_graph::error::{Error, Result};
use poc_graph::{Edge, Node, NodeId, Visibility};
use poc_store::{Cause, LoggedChange, LoggedChangeKind, LoggedTransaction, Record, Table, Write};
use rustc_hash::FxHashSet;

/// The history of one node.
#[derive(Clone, Debug)]
pub struct History {
    /// The node.
    pub id: NodeId,
    /// Its key, or the last one if it was deleted.
    pub key: String,
    /// Its changes, oldest first.
    pub entries: Vec<NodeChange>,
}

/// One change of a node.
#[derive(Clone, Debug)]
pub struct NodeChange {
    /// Number of the transaction.
    pub seq: u64,
    /// When, by whom and by which op.
    pub cause: Cause,
    /// What happened to the node.
    pub kind: ChangeKind,
    /// The version after the change; for a deletion the last version.
    pub version: u32,
    /// The fields that changed.
    pub fields: Vec<FieldChange>,
}

/// What a change did to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Created,
    /// It has a new version.
    Changed,
    /// It was deleted.
    Deleted,
}

impl ChangeKind {
    /// The name in text and JSON output.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Changed => "changed",
            ChangeKind::Deleted => "deleted",
        }
    }
}

/// The history of the node with an id or a key. A deleted node is found by its id only.
pub fn find(memory: &Memory, name: &str, visibility: Visibility) -> Result<History> {
    match memory.find(name) {
        Ok(node) => resolve::seen(node, visibility)
            .and_then(|node| Ok(History { id: node.id, key: node.key, entries: entries(memory, node.id)? })),
        Err(unknown) => {
            let Ok(id) = name.parse::<NodeId>() else {
                let hint = unknown.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
                return Err(
                    unknown.hint(format!("{hint}a note that was deleted has its history under its id"))
                );
            };
            let changes = memory.store.history(id)?;
            match changes.last().map(|change| &change.kind) {
                Some(LoggedChangeKind::Deleted(node)) => {
                    let key = resolve::seen(Node::clone(node), visibility)?.key;
                    Ok(History { id, key, entries: changes.into_iter().map(entry).collect() })
                }
                _ => Err(unknown),
            }
        }
    }
}

/// The changes of a node, oldest first.
pub fn entries(memory: &Memory, id: NodeId) -> Result<Vec<NodeChange>> {
    Ok(memory.store.history(id)?.into_iter().map(entry).collect())
}

fn entry(change: LoggedChange) -> NodeChange {
    let (kind, version, fields) = match &change.kind {
        LoggedChangeKind::Changed { before, after } => {
            (ChangeKind::Changed, after.version, diff::fields(before, after))
        }
        LoggedChangeKind::Created(version) => (ChangeKind::Created, *version, Vec::new()),
        LoggedChangeKind::Deleted(before) => (ChangeKind::Deleted, before.version, Vec::new()),
    };
    NodeChange { seq: change.seq, cause: change.cause, kind, version, fields }
}

/// The error for a change that was dropped by a compaction; `None` if it was not.
pub fn dropped(memory: &Memory, seq: u64) -> Option<Error> {
    let base = memory.store.history_base().filter(|base| (1..=base.seq).contains(&seq))?;
    let message =
        format!("change {seq} was dropped: the history begins after change {}, of {}", base.seq, base.at);
    Some(Error::not_found(message).hint("a backup may still have it"))
}

/// A recent change of the memory.
#[derive(Clone, Debug)]
pub struct RecentChange {
    /// Number of the transaction.
    pub seq: u64,
    /// When, by whom and by which op.
    pub cause: Cause,
    /// Keys of the nodes whose records it wrote; the id of a node that was deleted since.
    pub nodes: Vec<String>,
}

/// The latest changes of notes whose cause `is_listed` accepts, newest first, at most `most`.
pub fn latest(memory: &Memory, most: usize, is_listed: &dyn Fn(&Cause) -> bool) -> Result<Vec<RecentChange>> {
    let mut found = Vec::new();
    let base = memory.store.history_base().map_or(0, |base| base.seq);
    for seq in (base + 1..=memory.store.last_seq()).rev() {
        if found.len() >= most {
            break;
        }
        let Some(txn) = memory.store.transaction(seq)? else { continue };
        if is_listed(&txn.cause) && txn.writes.iter().any(|write| is_note_table(write.table)) {
            let nodes = touched_keys(memory, &txn)?;
            found.push(RecentChange { seq, cause: txn.cause, nodes });
        }
    }
    Ok(found)
}

/// The keys of the nodes that a transaction wrote, or if it wrote none, of those whose edges, weight or visits
/// it wrote.
fn touched_keys(memory: &Memory, txn: &LoggedTransaction) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    for write in txn.writes.iter().filter(|write| write.table == Table::Nodes) {
        if let Some(node) = write.after.as_deref().or(write.before.as_deref()) {
            keys.push(Node::decode(node)?.key);
        }
    }
    if !keys.is_empty() {
        return Ok(keys);
    }
    let of_a_node = |write: &&Write| matches!(write.table, Table::Edges | Table::Activity | Table::Visits);
    let mut ids: Vec<NodeId> = Vec::new();
    for write in txn.writes.iter().filter(of_a_node) {
        ids.extend(write.node_id());
        if write.table == Table::Edges
            && let Some(edge) = write.after.as_deref().or(write.before.as_deref())
        {
            ids.push(Edge::decode(edge)?.dst);
        }
    }
    let mut seen = FxHashSet::default();
    ids.retain(|id| seen.insert(*id));
    for id in ids {
        keys.push(memory.store.node(id)?.map_or_else(|| id.to_string(), |node| node.key));
    }
    Ok(keys)
}

/// A one-line summary of a change.
pub(super) fn summary(memory: &Memory, txn: &LoggedTransaction) -> Result<String> {
    let keys: Vec<String> = touched_keys(memory, txn)?.into_iter().map(|key| format!("`{key}`")).collect();
    let of = match keys.as_slice() {
        [] => String::new(),
        [one] => format!(" of {one}"),
        [one, another] => format!(" of {one} and {another}"),
        [one, rest @ ..] => format!(" of {one} and {} more", rest.len()),
    };
    let writes = |table| txn.writes.iter().any(|write| write.table == table);
    // An import creates the links of its notes in a transaction of its own.
    let only = if txn.cause.op != "link" && writes(Table::Edges) && !writes(Table::Nodes) {
        " (links only)"
    } else {
        ""
    };
    Ok(format!("{}{only}{of} by {}, {}", txn.cause.op, txn.cause.actor, txn.cause.at))
}

/// Whether a table holds notes or data of notes.
pub(super) fn is_note_table(table: Table) -> bool {
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
        | Table::Meta
        | Table::Changes
        | Table::Tenants
        | Table::Samples
        | Table::Vaults => false,
    }
}
