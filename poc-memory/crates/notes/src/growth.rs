//! Computes by how much the graph of a tenant has grown since an instant. It reads the log one transaction at
//! a time, because a past view would need everything that was written since.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, Tenant, cancellation};
use poc_store::{LoggedTransaction, Record, Table, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The growth since the start of a period; negative if something was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Change of the number of live notes.
    pub notes: i64,
    /// Change of the number of edges of all kinds.
    pub edges: i64,
}

/// The growth by one transaction, with its time.
#[derive(Clone, Copy)]
struct TransactionGrowth {
    at: Timestamp,
    growth: Growth,
}

/// Maximum number of transactions whose growth is cached, at about 50 bytes each. Transactions are immutable,
/// so the cache is never stale.
const MAX_CACHED: usize = 100_000;

/// The cached growth of each transaction; `None` for transactions of another tenant.
#[derive(Default)]
pub(super) struct GrowthCache(BTreeMap<(Tenant, u64), Option<TransactionGrowth>>);

/// Compares the live notes and edges of a tenant now and after its last transaction at or before an instant;
/// `None` if the history does not reach back that far.
pub fn since(memory: &Memory, instant: Timestamp) -> Result<Option<Growth>> {
    let mut sum = Growth::default();
    let base = memory.store.history_base();
    let first = base.as_ref().map_or(0, |base| base.seq) + 1;
    for seq in (first..=memory.store.published_seq()).rev() {
        cancellation::check()?;
        let Some(TransactionGrowth { at, growth }) = of_transaction(memory, seq)? else { continue };
        if at <= instant {
            return Ok(Some(sum));
        }
        sum = Growth { notes: sum.notes + growth.notes, edges: sum.edges + growth.edges };
    }
    // Before the first transaction, nothing was stored.
    Ok(base.is_none_or(|base| base.at <= instant).then_some(sum))
}

fn of_transaction(memory: &Memory, seq: u64) -> Result<Option<TransactionGrowth>> {
    let id = (memory.store.tenant(), seq);
    if let Some(known) = memory.growth_cache.lock().0.get(&id) {
        return Ok(*known);
    }
    let found = memory.store.transaction(seq)?.map(|txn| read(&txn)).transpose()?;
    let mut known = memory.growth_cache.lock();
    while known.0.len() >= MAX_CACHED {
        known.0.pop_first();
    }
    known.0.insert(id, found);
    Ok(found)
}

fn read(txn: &LoggedTransaction) -> Result<TransactionGrowth> {
    let mut growth = Growth::default();
    for Write { table, before, after, .. } in &txn.writes {
        match table {
            Table::Nodes => growth.notes += is_live(after.as_deref())? - is_live(before.as_deref())?,
            Table::Edges => growth.edges += i64::from(after.is_some()) - i64::from(before.is_some()),
            _ => {}
        }
    }
    Ok(TransactionGrowth { at: txn.cause.at, growth })
}

/// 1 for the record of a live note, otherwise 0.
fn is_live(record: Option<&[u8]>) -> Result<i64> {
    Ok(i64::from(record.map(Node::decode).transpose()?.is_some_and(|node| node.state.is_live())))
}
