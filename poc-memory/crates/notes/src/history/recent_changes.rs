//! The list of recent changes, in which the transactions of a call are one change.

use super::calls::is_before;
use super::touched_nodes::{TouchedNodes, last_key};
use super::transaction_summary::{add_kinds, summary};
use super::{ChangeKind, UndoTracker};
use crate::Memory;
use poc_graph::NodeId;
use poc_graph::cancellation;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_store::Cause;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

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
    /// The keys that it changed: the former key, by the new key.
    pub renamed: BTreeMap<String, String>,
    /// What it did to the nodes whose records it wrote, each kind once.
    pub kinds: Vec<ChangeKind>,
    /// If it wrote no node record: what it did to edges, each kind once.
    pub edge_kinds: Vec<ChangeKind>,
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
                edge_kinds: Vec::new(),
                undone: true,
            };
            found.push((change, CallNodes::default()));
        }
        if let Some((change, of_call)) = found.get_mut(index) {
            of_call.add(nodes);
            add_kinds(&mut change.kinds, summary.kinds.iter().copied());
            add_kinds(&mut change.edge_kinds, summary.edge_kinds.iter().copied());
            change.undone &= is_undone;
        }
    }
    let with_nodes = |(mut change, nodes): (RecentChange, CallNodes)| -> Result<RecentChange> {
        cancellation::check()?;
        change.count = nodes.count();
        change.nodes = nodes.keys(memory)?;
        change.renamed = nodes.renamed;
        change.renamed.retain(|key, _| change.nodes.contains(key));
        if !change.kinds.is_empty() {
            change.edge_kinds.clear();
        }
        Ok(change)
    };
    found.into_iter().map(with_nodes).collect()
}

/// The nodes that the transactions of a call changed, as far as these were added.
#[derive(Default)]
struct CallNodes {
    /// The keys of the nodes whose records it wrote.
    written: FxHashSet<String>,
    /// The first [`MAX_KEYS`] of these keys.
    written_keys: Vec<String>,
    /// The former keys of the nodes whose keys it changed, by the new keys.
    renamed: BTreeMap<String, String>,
    /// The nodes whose edges, weight or visits were written by a transaction that wrote no record of a node.
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
