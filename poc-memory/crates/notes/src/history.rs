//! The history of nodes and of the memory.

mod calls;
mod change_summary;
mod recent_changes;
mod touched_nodes;
mod transaction_summary;

pub use calls::UnfinishedCall;
use calls::last_of_call;
pub(crate) use calls::{CallEnds, PartsOfCalls, of_call, undone_by};
pub(crate) use change_summary::ChangeSummary;
pub use recent_changes::{MAX_KEYS, RecentChange, latest, latest_among};
pub(crate) use touched_nodes::{is_note_table, last_key};
pub(crate) use transaction_summary::LargeTransactions;

use super::diff::{self, FieldChange};
use super::{Memory, resolve};
use poc_graph::cancellation;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Node, NodeId, Visibility, normal_key};
use poc_store::{Cause, LoggedChange, LoggedChangeKind, Record, Table, Write};
use rustc_hash::FxHashSet;

/// The op in the cause of the transactions of an undo.
pub const UNDO_OP: &str = "undo";

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
    /// Number of the last transaction of its call that changed notes, with which the list of changes names all of them.
    pub last: u64,
    /// When, by whom and by which op.
    pub cause: Cause,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The version after the change; for a deletion the last version.
    pub version: u32,
    /// The fields that changed.
    pub fields: Vec<FieldChange>,
    /// Whether a later change undid it.
    pub undone: bool,
}

/// The kind of a change of a node.
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

    /// What a write does to a record of a table; `None` if it is not a record of this table.
    fn of(write: &Write, table: Table) -> Option<ChangeKind> {
        match (&write.before, &write.after) {
            _ if write.table != table => None,
            (None, Some(_)) => Some(ChangeKind::Created),
            (Some(_), Some(_)) => Some(ChangeKind::Changed),
            (Some(_), None) => Some(ChangeKind::Deleted),
            (None, None) => None,
        }
    }
}

/// Maximum number of transactions, from the latest on, that are scanned for a deleted node with a key.
const MAX_SCANNED: usize = 1000;

/// The history of the node with an id or a key. A deleted node is found by its id, or by its key if its deletion is
/// among the latest transactions.
///
/// # Errors
/// `not_found` if there is no such node, or it is not visible.
pub fn find(memory: &Memory, name: &str, visibility: Visibility) -> Result<History> {
    match memory.find(name) {
        Ok(node) => resolve::require_visible_node(node, visibility).and_then(|node| {
            Ok(History { id: node.id, key: node.key, entries: entries(memory, node.id, None)? })
        }),
        Err(unknown) => {
            let id = match name.parse::<NodeId>() {
                Ok(id) => Some(id),
                Err(_) if unknown.code == Code::NotFound => last_deleted(memory, name)?,
                Err(_) => None,
            };
            let Some(id) = id else {
                let of_deleted = "the history of a deleted note is found by its id";
                let hint = match unknown.hint.as_deref() {
                    Some(hint) if hint.ends_with('?') => format!("{hint} Otherwise, {of_deleted}"),
                    Some(hint) => format!("{hint}; {of_deleted}"),
                    None => of_deleted.to_owned(),
                };
                return Err(unknown.hint(hint));
            };
            let changes = memory.store.history(id)?;
            match changes.last().map(|change| &change.kind) {
                Some(LoggedChangeKind::Deleted(node)) => {
                    let key = resolve::require_visible_node(Node::clone(node), visibility)?.key;
                    Ok(History { id, key, entries: node_changes(memory, changes, None)? })
                }
                _ => Err(unknown),
            }
        }
    }
}

/// The node that was deleted last of those with a key.
pub(super) fn last_deleted(memory: &Memory, key: &str) -> Result<Option<NodeId>> {
    let key = normal_key(key);
    let store = &memory.store;
    for seq in (store.first_seq()..=store.last_seq()).rev().take(MAX_SCANNED) {
        cancellation::check()?;
        let Some(txn) = store.transaction(seq)? else { continue };
        for write in txn.writes.iter().rev().filter(|write| write.table == Table::Nodes) {
            if let (Some(before), None) = (write.before.as_deref(), &write.after)
                && Node::decode(before)?.key == *key
            {
                return Ok(write.node_id());
            }
        }
    }
    Ok(None)
}

/// The changes of a node, oldest first, up to the transaction `last` if one is given.
pub fn entries(memory: &Memory, id: NodeId, last: Option<u64>) -> Result<Vec<NodeChange>> {
    let mut changes = memory.store.history(id)?;
    changes.retain(|change| last.is_none_or(|last| change.seq <= last));
    node_changes(memory, changes, last)
}

/// The changes of a node, oldest first, each with whether a later one undid it. The last transaction of the store is
/// that of the log, or `last` if it is given.
fn node_changes(memory: &Memory, changes: Vec<LoggedChange>, last: Option<u64>) -> Result<Vec<NodeChange>> {
    let newest = last.unwrap_or_else(|| memory.store.last_seq());
    let mut undone = UndoTracker::default();
    let mut entries: Vec<NodeChange> = changes
        .into_iter()
        .rev()
        .map(|change| {
            let last = match last_of_call(memory, change.seq, newest) {
                // This change can be shown although other transactions cannot be read.
                Err(error) if is_about_the_log(&error) => change.seq,
                last => last?,
            };
            let undone = undone.add(change.seq, &change.cause);
            Ok(NodeChange { last, undone, ..node_change(change) })
        })
        .collect::<Result<_>>()?;
    entries.reverse();
    Ok(entries)
}

/// Whether an error means that a transaction is damaged or cannot be read.
fn is_about_the_log(error: &Error) -> bool {
    matches!(error.code, Code::Damaged | Code::Unavailable) && !cancellation::is_cancellation(error)
}

/// The numbers of undone transactions, collected from the latest transaction to the first: an undo that is
/// undone itself undoes nothing.
#[derive(Default)]
struct UndoTracker(FxHashSet<u64>);

impl UndoTracker {
    /// Adds the next earlier transaction, and says whether it is undone.
    fn add(&mut self, seq: u64, cause: &Cause) -> bool {
        let is_undone = self.0.contains(&seq);
        if !is_undone {
            self.0.extend(&cause.undoes);
        }
        is_undone
    }
}

fn node_change(change: LoggedChange) -> NodeChange {
    let (kind, version, fields) = match &change.kind {
        LoggedChangeKind::Changed { before, after } => {
            (ChangeKind::Changed, after.version, diff::fields(before, after))
        }
        LoggedChangeKind::Created(version) => (ChangeKind::Created, *version, Vec::new()),
        LoggedChangeKind::Deleted(before) => (ChangeKind::Deleted, before.version, Vec::new()),
    };
    let LoggedChange { seq, cause, .. } = change;
    NodeChange { seq, last: seq, cause, kind, version, fields, undone: false }
}

/// The error for a change that is older than the history; `None` for any other number.
pub fn missing_change(memory: &Memory, seq: u64) -> Option<Error> {
    let base = memory.store.history_base().filter(|base| (1..=base.seq).contains(&seq))?;
    let message =
        format!("change {seq} is missing: the history begins after change {}, of {}", base.seq, base.at);
    Some(Error::not_found(message).hint(memory.store.missing_history_hint()))
}
