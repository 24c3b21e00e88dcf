//! The data of transactions that a list of changes shows, cached for large transactions.

use super::ChangeKind;
use super::touched_nodes::{TouchedNodes, is_note_table};
use crate::Memory;
use poc_graph::Tenant;
use poc_graph::error::Result;
use poc_store::{Cause, Table, Write};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The data of a transaction that a list of changes shows.
pub(super) struct TransactionSummary {
    pub(super) cause: Cause,
    /// Its nodes; `None` if it changed no note, or if it is small and not listed.
    pub(super) nodes: Option<TouchedNodes>,
    /// What it did to nodes.
    pub(super) kinds: Vec<ChangeKind>,
    /// What it did to edges.
    pub(super) edge_kinds: Vec<ChangeKind>,
}

/// Adds the kinds that a list does not have yet.
pub(super) fn add_kinds(known: &mut Vec<ChangeKind>, kinds: impl Iterator<Item = ChangeKind>) {
    for kind in kinds {
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
}

/// Minimum number of writes of a transaction whose summary is cached, because such a transaction, for example a part of
/// an import, is slow to read. The last parts of an import write only edges.
const MIN_LARGE_WRITES: usize = 256;

/// Maximum number of cached summaries of large transactions, with about 200 keys each.
const MAX_CACHED: usize = 512;

/// Cached summaries of the large transactions that were listed last. Transactions are immutable; only those that a
/// compaction has deleted since must not be used.
#[derive(Default)]
pub(crate) struct LargeTransactions(BTreeMap<(Tenant, u64), Arc<TransactionSummary>>);

/// The summary of a transaction; `None` if the log does not have it.
pub(super) fn summary(
    memory: &Memory,
    seq: u64,
    is_listed: &dyn Fn(&Cause) -> bool,
) -> Result<Option<Arc<TransactionSummary>>> {
    if seq < memory.store.first_seq() {
        return Ok(None);
    }
    let id = (memory.store.tenant(), seq);
    if let Some(known) = memory.large_transactions.lock().0.get(&id) {
        return Ok(Some(known.clone()));
    }
    let Some(txn) = memory.store.transaction(seq)? else { return Ok(None) };
    let is_change = |write: &Write| {
        is_note_table(write.table) && (write.table != Table::Visits || txn.cause.run.is_none())
    };
    let is_large = txn.writes.len() >= MIN_LARGE_WRITES;
    let is_relevant = (is_large || is_listed(&txn.cause)) && txn.writes.iter().any(is_change);
    let nodes = if is_relevant { Some(TouchedNodes::of(&txn.writes)?) } else { None };
    let kinds_of = |table| {
        let mut kinds = Vec::new();
        add_kinds(&mut kinds, txn.writes.iter().filter_map(|write| ChangeKind::of(write, table)));
        kinds
    };
    let (kinds, edge_kinds) = (kinds_of(Table::Nodes), kinds_of(Table::Edges));
    let summary = Arc::new(TransactionSummary { cause: txn.cause, nodes, kinds, edge_kinds });
    if is_large {
        let mut known = memory.large_transactions.lock();
        while known.0.len() >= MAX_CACHED {
            known.0.pop_first();
        }
        known.0.insert(id, summary.clone());
    }
    Ok(Some(summary))
}
