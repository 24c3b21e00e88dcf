//! The history of nodes and of the memory.

use super::diff::{self, FieldChange};
use super::{Memory, resolve};
use poc_config::schedule::local_second;
use poc_graph::cancellation;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Edge, Node, NodeId, Tenant, Visibility, normal_key, plural};
use poc_store::{Cause, LoggedChange, LoggedChangeKind, Record, Table, Write};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

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

    /// What a write does to a node; `None` if it is not the record of a node.
    fn of(write: &Write) -> Option<ChangeKind> {
        match (write.table, &write.before, &write.after) {
            (Table::Nodes, None, Some(_)) => Some(ChangeKind::Created),
            (Table::Nodes, Some(_), Some(_)) => Some(ChangeKind::Changed),
            (Table::Nodes, Some(_), None) => Some(ChangeKind::Deleted),
            _ => None,
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
                let hint = unknown.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
                return Err(unknown.hint(format!("{hint}use the id to see the history of a deleted note")));
            };
            let changes = memory.store.history(id)?;
            match changes.last().map(|change| &change.kind) {
                Some(LoggedChangeKind::Deleted(node)) => {
                    let key = resolve::require_visible_node(Node::clone(node), visibility)?.key;
                    Ok(History { id, key, entries: with_undone(changes) })
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
    Ok(with_undone(changes))
}

/// The changes of a node, oldest first, each with whether a later one undid it.
fn with_undone(changes: Vec<LoggedChange>) -> Vec<NodeChange> {
    let mut undone = UndoTracker::default();
    let mut entries: Vec<NodeChange> = changes
        .into_iter()
        .rev()
        .map(|change| {
            let undone = undone.add(change.seq, &change.cause);
            NodeChange { undone, ..node_change(change) }
        })
        .collect();
    entries.reverse();
    entries
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
    NodeChange { seq: change.seq, cause: change.cause, kind, version, fields, undone: false }
}

/// The error for a change before the beginning of the history; `None` if it is not.
pub fn dropped(memory: &Memory, seq: u64) -> Option<Error> {
    let base = memory.store.history_base().filter(|base| (1..=base.seq).contains(&seq))?;
    let message =
        format!("change {seq} is missing: the history begins after change {}, of {}", base.seq, base.at);
    Some(Error::not_found(message).hint(memory.store.missing_history_hint()))
}

/// A recent change of the memory: the transaction of a call, or all of them if it made several.
#[derive(Clone, Debug)]
pub struct RecentChange {
    /// Number of the transaction, or of the last one.
    pub seq: u64,
    /// When, by whom and by which op.
    pub cause: Cause,
    /// Keys of the nodes whose records it wrote, at most [`MAX_KEYS`]. If it wrote no node record, the keys
    /// of the nodes whose edges, weight or visits it wrote; of a node that was deleted since, the last key, or its
    /// id if the log has no key any more.
    pub nodes: Vec<String>,
    /// Number of these nodes, including those beyond [`MAX_KEYS`].
    pub count: usize,
    /// The keys that it changed: the key before it, by the key after it.
    pub renamed: BTreeMap<String, String>,
    /// What it did to the nodes whose records it wrote, each kind once.
    pub kinds: Vec<ChangeKind>,
    /// Whether later changes undid all of it.
    pub undone: bool,
}

/// Maximum number of keys that are listed for one change.
pub const MAX_KEYS: usize = 100;

/// How much earlier the time of a change may be than that of a change with a lower number. The time of a slow call is
/// that of its start, and daemons of a shared log have clocks of their own.
const MAX_DISORDER: Span = Span::HOUR;

/// The latest changes of notes whose cause `is_listed` accepts, newest first, at most `max`, and only those made at or
/// after `since`, if it is given. Runs of agents that only recorded visits are left out.
pub fn latest(
    memory: &Memory,
    max: usize,
    since: Option<Timestamp>,
    is_listed: &dyn Fn(&Cause) -> bool,
) -> Result<Vec<RecentChange>> {
    let numbers = memory.store.first_seq()..=memory.store.last_seq();
    latest_among(memory, numbers.rev(), max, since, is_listed)
}

/// Like [`latest`], among the transactions with these numbers, the latest first. The undos of each must be among them.
pub fn latest_among(
    memory: &Memory,
    numbers: impl Iterator<Item = u64>,
    max: usize,
    since: Option<Timestamp>,
    is_listed: &dyn Fn(&Cause) -> bool,
) -> Result<Vec<RecentChange>> {
    let mut found: Vec<(RecentChange, CallNodes)> = Vec::new();
    let mut undone = UndoTracker::default();
    for seq in numbers {
        cancellation::check()?;
        let is_full = found.len() >= max;
        if is_full && found.iter().all(|(change, _)| change.cause.began.is_none()) {
            break;
        }
        let Some(summary) = summary(memory, seq, is_listed)? else { continue };
        let cause = &summary.cause;
        let is_undone = undone.add(seq, cause);
        let is_over = is_full || since.is_some_and(|since| cause.at < since.minus(MAX_DISORDER));
        // The loop continues until all transactions of the calls in the list are read.
        if is_over && found.iter().all(|(change, _)| is_before(cause, &change.cause)) {
            break;
        }
        let Some(nodes) = summary.nodes.as_ref().filter(|_| is_listed(cause)) else { continue };
        let known = found.iter().position(|(change, _)| change.cause.is_same_call(cause));
        if known.is_none() && (is_full || since.is_some_and(|since| cause.at < since)) {
            continue;
        }
        let index = known.unwrap_or(found.len());
        if known.is_none() {
            let change = RecentChange {
                seq,
                cause: cause.clone(),
                nodes: Vec::new(),
                count: 0,
                renamed: BTreeMap::new(),
                kinds: Vec::new(),
                undone: true,
            };
            found.push((change, CallNodes::default()));
        }
        if let Some((change, of_call)) = found.get_mut(index) {
            of_call.add(nodes);
            add_kinds(&mut change.kinds, summary.kinds.iter().copied());
            change.undone &= is_undone;
        }
    }
    let with_nodes = |(mut change, nodes): (RecentChange, CallNodes)| -> Result<RecentChange> {
        cancellation::check()?;
        change.count = nodes.count();
        change.nodes = nodes.keys(memory)?;
        change.renamed = nodes.renamed;
        change.renamed.retain(|key, _| change.nodes.contains(key));
        Ok(change)
    };
    found.into_iter().map(with_nodes).collect()
}

/// The nodes that a call changed, of its transactions that were added so far.
#[derive(Default)]
struct CallNodes {
    /// The keys of the nodes whose records it wrote.
    written: FxHashSet<String>,
    /// The first [`MAX_KEYS`] of these keys.
    written_keys: Vec<String>,
    /// The keys before it of nodes whose keys it changed, by their keys after it.
    renamed: BTreeMap<String, String>,
    /// The nodes of which some transaction wrote only edges, weight or visits.
    linked: FxHashSet<NodeId>,
    /// The first [`MAX_KEYS`] of these nodes.
    linked_ids: Vec<NodeId>,
}

impl CallNodes {
    /// Adds the nodes of a transaction.
    fn add(&mut self, nodes: &TouchedNodes) {
        match nodes {
            TouchedNodes::Written { keys, renamed } => {
                for key in keys.iter().filter(|key| self.written.insert((*key).clone())) {
                    if self.written_keys.len() < MAX_KEYS {
                        self.written_keys.push(key.clone());
                    }
                }
                self.renamed.extend(renamed.iter().cloned());
            }
            TouchedNodes::Linked(ids) => {
                for &id in ids.iter().filter(|id| self.linked.insert(**id)) {
                    if self.linked_ids.len() < MAX_KEYS {
                        self.linked_ids.push(id);
                    }
                }
            }
        }
    }

    /// The number of nodes whose records it wrote or, if it wrote none, of those whose edges, weight or visits it wrote.
    fn count(&self) -> usize {
        // The last parts of an import create only links between its notes.
        if self.written.is_empty() { self.linked.len() } else { self.written.len() }
    }

    /// The keys of the first [`MAX_KEYS`] of these nodes.
    fn keys(&self, memory: &Memory) -> Result<Vec<String>> {
        if !self.written.is_empty() {
            return Ok(self.written_keys.clone());
        }
        self.linked_ids.iter().map(|id| last_key(memory, *id)).collect()
    }
}

/// The data of a transaction that a list of changes shows.
struct TransactionSummary {
    cause: Cause,
    /// Its nodes; `None` if it changed no note, or if it is small and not listed.
    nodes: Option<TouchedNodes>,
    kinds: Vec<ChangeKind>,
}

/// Adds the kinds that a list does not have yet.
fn add_kinds(known: &mut Vec<ChangeKind>, kinds: impl Iterator<Item = ChangeKind>) {
    for kind in kinds {
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
}

/// Minimum number of written nodes of a transaction whose summary is cached, because such a transaction, for example a
/// part of an import, is slow to read.
const MIN_LARGE_NODES: usize = 64;

/// Maximum number of cached summaries of large transactions, with about 200 keys each.
const MAX_CACHED: usize = 512;

/// Cached summaries of the large transactions that were listed last. Transactions are immutable, so the cache
/// is never stale.
#[derive(Default)]
pub(super) struct LargeTransactions(BTreeMap<(Tenant, u64), Arc<TransactionSummary>>);

/// The summary of a transaction; `None` if the log does not have it.
fn summary(
    memory: &Memory,
    seq: u64,
    is_listed: &dyn Fn(&Cause) -> bool,
) -> Result<Option<Arc<TransactionSummary>>> {
    let id = (memory.store.tenant(), seq);
    if let Some(known) = memory.large_transactions.lock().0.get(&id) {
        return Ok(Some(known.clone()));
    }
    let Some(txn) = memory.store.transaction(seq)? else { return Ok(None) };
    let is_change = |write: &Write| {
        is_note_table(write.table) && (write.table != Table::Visits || txn.cause.run.is_none())
    };
    let is_large = txn.writes.iter().filter(|write| write.table == Table::Nodes).count() >= MIN_LARGE_NODES;
    let is_relevant = (is_large || is_listed(&txn.cause)) && txn.writes.iter().any(is_change);
    let nodes = if is_relevant { Some(TouchedNodes::of(&txn.writes)?) } else { None };
    let mut kinds = Vec::new();
    add_kinds(&mut kinds, txn.writes.iter().filter_map(ChangeKind::of));
    let summary = Arc::new(TransactionSummary { cause: txn.cause, nodes, kinds });
    if is_large {
        let mut known = memory.large_transactions.lock();
        while known.0.len() >= MAX_CACHED {
            known.0.pop_first();
        }
        known.0.insert(id, summary.clone());
    }
    Ok(Some(summary))
}

/// Whether a transaction was made before the call of another one began. Then no earlier transaction belongs to that
/// call.
fn is_before(cause: &Cause, other: &Cause) -> bool {
    other.began.is_none_or(|began| cause.at < began)
}

/// The numbers of the transactions of the call to which a transaction belongs, the latest first.
pub(super) fn of_call(memory: &Memory, seq: u64, cause: &Cause) -> Result<Vec<u64>> {
    let mut parts = vec![seq];
    if cause.began.is_none() {
        return Ok(parts);
    }
    for later in seq + 1..=memory.store.last_seq() {
        cancellation::check()?;
        let txn = memory.store.transaction(later)?;
        parts.extend(txn.filter(|txn| txn.cause.is_same_call(cause)).map(|_| later));
    }
    parts.reverse();
    for earlier in (memory.store.first_seq()..seq).rev() {
        cancellation::check()?;
        let Some(txn) = memory.store.transaction(earlier)? else { continue };
        if is_before(&txn.cause, cause) {
            break;
        }
        parts.extend(txn.cause.is_same_call(cause).then_some(earlier));
    }
    Ok(parts)
}

/// A call of which a state has only the first transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedCall {
    /// The number of the last transaction that the state has.
    pub seq: u64,
    /// The op of the call.
    pub op: String,
    /// The number of the last transaction of the call.
    pub last: u64,
}

impl UnfinishedCall {
    /// The call of the last transaction of a state, if `later` has other transactions of it. They are the numbers of the
    /// following transactions with their causes, and none for one of another tenant. A call is assumed to have ended
    /// if many transactions in a row belong to others, so that not the whole log is read.
    pub(crate) fn of(
        seq: u64,
        cause: &Cause,
        later: impl Iterator<Item = Result<(u64, Option<Cause>)>>,
    ) -> Result<Option<UnfinishedCall>> {
        const MAX_OTHERS: usize = 64;
        if cause.began.is_none() {
            return Ok(None);
        }
        let (mut last, mut others) = (None, 0);
        for transaction in later {
            cancellation::check()?;
            let (number, other) = transaction?;
            if other.is_some_and(|other| cause.is_same_call(&other)) {
                (last, others) = (Some(number), 0);
            } else if others == MAX_OTHERS {
                break;
            } else {
                others += 1;
            }
        }
        Ok(last.map(|last| UnfinishedCall { seq, op: cause.op.clone(), last }))
    }

    /// The call of transaction `seq`, if later transactions belong to it.
    pub(crate) fn after(memory: &Memory, seq: u64) -> Result<Option<UnfinishedCall>> {
        let store = &memory.store;
        let Some(txn) = store.transaction(seq)? else { return Ok(None) };
        let later = (seq + 1..=store.last_seq()).map(|number| {
            let txn = store.transaction(number)?;
            Ok((number, txn.map(|txn| txn.cause)))
        });
        UnfinishedCall::of(seq, &txn.cause, later)
    }
}

impl fmt::Display for UnfinishedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnfinishedCall { seq, op, last } = self;
        write!(
            f,
            "this state ends with change {seq}, within one change (`{op}`) that ends with change {last}"
        )
    }
}

/// The number of the change that has undone all of these transactions of a call: that of the last transaction of the
/// undo. `None` if any of them is in effect.
pub(super) fn undone_by(memory: &Memory, parts: &[u64]) -> Result<Option<u64>> {
    let Some(first) = parts.iter().min() else { return Ok(None) };
    let mut undoing: FxHashMap<u64, u64> = FxHashMap::default();
    for seq in (*first..=memory.store.last_seq()).rev() {
        cancellation::check()?;
        let Some(txn) = memory.store.transaction(seq)? else { continue };
        // An undo that is undone itself undoes nothing.
        if !undoing.contains_key(&seq) {
            undoing.extend(txn.cause.undoes.iter().map(|undone| (*undone, seq)));
        }
    }
    let undos: Option<Vec<u64>> = parts.iter().map(|part| undoing.get(part).copied()).collect();
    Ok(undos.and_then(|undos| undos.into_iter().max()))
}

/// The nodes that a transaction changed.
enum TouchedNodes {
    /// The keys of the nodes whose records it wrote, and the changed ones of them: after and before.
    Written { keys: Vec<String>, renamed: Vec<(String, String)> },
    /// If it wrote no record of a node: the nodes whose edges, weight or visits it wrote.
    Linked(Vec<NodeId>),
}

impl TouchedNodes {
    fn of(writes: &[Write]) -> Result<TouchedNodes> {
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
    fn keys(self, memory: &Memory) -> Result<Vec<String>> {
        match self {
            TouchedNodes::Written { keys, .. } => Ok(keys),
            TouchedNodes::Linked(ids) => ids.into_iter().map(|id| last_key(memory, id)).collect(),
        }
    }
}

/// The key of a node, or the last one if it was deleted; its id if the log has no key any more.
fn last_key(memory: &Memory, id: NodeId) -> Result<String> {
    if let Some(node) = memory.store.node(id)? {
        return Ok(node.key);
    }
    Ok(match memory.store.history(id)?.pop().map(|change| change.kind) {
        Some(LoggedChangeKind::Deleted(node)) => node.key,
        _ => id.to_string(),
    })
}

/// The nodes that a call changed, for a one-line summary.
#[derive(Default)]
pub(super) struct ChangeSummary {
    /// The keys of the changed nodes; a key that several transactions wrote occurs several times.
    keys: Vec<String>,
    /// The nodes whose records the call wrote, by their keys in the store: whether each existed before and after.
    notes: FxHashMap<Vec<u8>, (bool, bool)>,
    has_edges: bool,
}

impl ChangeSummary {
    /// Adds writes of a transaction of the call, before they are undone.
    pub(super) fn add(&mut self, memory: &Memory, writes: &[Write]) -> Result<()> {
        self.keys.extend(TouchedNodes::of(writes)?.keys(memory)?);
        for write in writes.iter().filter(|write| write.table == Table::Nodes) {
            let (before, after) = (write.before.is_some(), write.after.is_some());
            let existed = self.notes.entry(write.key.clone()).or_insert((before, after));
            existed.1 = after;
        }
        self.has_edges |= writes.iter().any(|write| write.table == Table::Edges);
        Ok(())
    }

    /// Prepends the summary of an earlier transaction.
    pub(super) fn prepend(&mut self, earlier: ChangeSummary) {
        let later = std::mem::replace(&mut self.keys, earlier.keys);
        self.keys.extend(later);
        for (key, (before, after)) in earlier.notes {
            let existed = self.notes.entry(key).or_insert((before, after));
            existed.0 = before;
        }
        self.has_edges |= earlier.has_edges;
    }

    /// The summary after an undo of the whole call, with the number of notes that were deleted, reverted and restored.
    /// `cause` is that of the first transaction.
    pub(super) fn undone_text(self, cause: &Cause) -> String {
        let count = |wanted| self.notes.values().filter(|existed| **existed == wanted).count() as u64;
        let counts = [
            ("deleted", count((false, true))),
            ("reverted", count((true, true))),
            ("restored", count((true, false))),
        ];
        let found = counts.iter().filter(|(_, count)| *count > 0);
        let results: Vec<String> =
            found.map(|(verb, count)| format!("{verb} {}", plural(*count, "note"))).collect();
        let results = if results.is_empty() { String::new() } else { format!("; {}", results.join(", ")) };
        self.text(cause) + &results
    }

    /// The summary; `cause` is that of the first transaction.
    pub(super) fn text(mut self, cause: &Cause) -> String {
        let mut seen = FxHashSet::default();
        self.keys.retain(|key| seen.insert(key.clone()));
        let of = match self.keys.as_slice() {
            [] => String::new(),
            [one] => format!(" of `{one}`"),
            [one, another] => format!(" of `{one}` and `{another}`"),
            [one, rest @ ..] => format!(" of `{one}` and {} more", rest.len()),
        };
        // The last parts of an import create only links.
        let only =
            if cause.op != "link" && self.has_edges && self.notes.is_empty() { " (links only)" } else { "" };
        let at = local_second(cause.at);
        format!("{}{only}{of} by {}, {at}", cause.op, cause.actor)
    }
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
        | Table::TenantSpending
        | Table::Meta
        | Table::Changes
        | Table::Tenants
        | Table::Samples
        | Table::Vaults => false,
    }
}
