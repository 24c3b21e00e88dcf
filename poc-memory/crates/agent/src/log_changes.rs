//! Changes of notes since an agent's last run, read from the transactions of the log.

use super::Definition;
use super::selection;
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, Tenant, provenance};
use poc_notes::Memory;
use poc_store::{LoggedTransaction, NamedTenant, Table, Write};
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// Maximum number of transactions to read; a longer range is assumed to contain a change.
const MAX_SCANNED: u64 = 256;

/// The transactions `after + 1` to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeqRange {
    pub(super) after: u64,
    pub(super) until: u64,
}

impl SeqRange {
    fn numbers(self) -> RangeInclusive<u64> {
        self.after.saturating_add(1)..=self.until
    }
}

/// Whether any transaction in a range, of any tenant, wrote a note. Unreadable transactions count as changes.
pub(super) fn any_note_written(memory: &Memory, range: SeqRange) -> bool {
    let writes = |seq: u64| {
        let txn = memory
            .store
            .transaction_of_any_tenant(seq)
            .map(|txn| txn.is_some_and(|txn| written_notes(&txn).next().is_some()));
        txn.unwrap_or(true)
    };
    let is_deleted = memory.store.history_base().is_some_and(|base| range.after < base.seq);
    is_deleted || range.until.saturating_sub(range.after) > MAX_SCANNED || range.numbers().any(writes)
}

/// Whose changes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeAuthor {
    /// Changes by anyone.
    Anyone,
    /// Only changes by people. Agents in a feedback loop then stop when their budgets are used up.
    People,
}

/// Whether notes of any tenant that the agent runs for were created or edited in a range and are stale for it.
pub(super) fn any_stale_note(
    memory: &Memory,
    definition: &Definition,
    range: SeqRange,
    author: ChangeAuthor,
) -> Result<bool> {
    let changed_notes = changed_notes(memory, definition, range, author)?;
    for NamedTenant { tuple: tenant, .. } in memory.store.tenants()? {
        if let Some(nodes) = changed_notes.get(&tenant.id())
            && definition.schedule.tenants.matches(&tenant)
            && selection::stale_among(&memory.of(&tenant), definition, nodes)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The notes written by the transactions, by tenant, without those written by the agent itself, unless its file
/// includes them.
///
/// # Errors
/// `not_found` when the log no longer contains one of them.
fn changed_notes(
    memory: &Memory,
    definition: &Definition,
    range: SeqRange,
    author: ChangeAuthor,
) -> Result<HashMap<Tenant, HashSet<NodeId>>> {
    let own = definition.provenance();
    let counts = |txn: &LoggedTransaction| {
        let actor = &txn.cause.actor;
        let by_whom = author == ChangeAuthor::Anyone || !provenance::is_agent(actor);
        by_whom && (!definition.freshness.ignore_own_writes || *actor != own)
    };
    let mut nodes: HashMap<Tenant, HashSet<NodeId>> = HashMap::new();
    for seq in range.numbers() {
        let txn = memory
            .store
            .transaction_of_any_tenant(seq)?
            .ok_or_else(|| Error::not_found(format!("the log no longer contains the transaction {seq}")))?;
        let ids = written_notes(&txn).filter(|_| counts(&txn));
        nodes.entry(txn.tenant).or_default().extend(ids);
    }
    Ok(nodes)
}

/// The notes that a transaction created or edited.
fn written_notes(txn: &LoggedTransaction) -> impl Iterator<Item = NodeId> {
    let writes = txn.writes.iter().filter(|write| write.table == Table::Nodes && write.after.is_some());
    writes.filter_map(Write::node_id)
}
