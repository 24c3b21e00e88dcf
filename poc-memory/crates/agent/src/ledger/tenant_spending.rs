//! Number and cost of the latest runs of an agent for each tenant. One record for each tenant, because an agent may run
//! for many thousands of tenants, and its state is written with every run.

use super::Run;
use super::key::prefix;
use super::recent_spending::{QUARTER, QUARTERS, RecentSpending, Spending};
use super::state::AgentState;
use super::status::Status;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Tenant, Tuple};
use poc_notes::Memory;
use poc_store::{Record, Records, Table, Transaction};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How long the record of a tenant without further runs is kept: twice the longest day.
const KEPT_FOR: Span = Span(QUARTERS as i64 * QUARTER.0);

/// The recent spending of an agent for one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TenantSpending(RecentSpending);

impl Record for TenantSpending {
    const TABLE: Table = Table::TenantSpending;
}

fn key(agent: &str, tenant: Tenant) -> Vec<u8> {
    [prefix(agent).as_slice(), &tenant.0].concat()
}

/// Spending of the agent's runs for a tenant that began on a day, without reservations.
pub fn spending_of_tenant(
    memory: &Memory,
    agent: &str,
    tenant: &Tuple,
    day: &Range<Timestamp>,
) -> Result<Spending> {
    on_day(&memory.store, agent, tenant, day)
}

/// Like [`spending_of_tenant`], also in a transaction.
pub(super) fn on_day<R: Records + ?Sized>(
    records: &R,
    agent: &str,
    tenant: &Tuple,
    day: &Range<Timestamp>,
) -> Result<Spending> {
    let stored = records.record::<TenantSpending>(&key(agent, tenant.id()))?;
    Ok(stored.map_or_else(Spending::default, |TenantSpending(spent)| spent.within(day.start, day.end)))
}

/// Books a run that ends for its tenant. Every batch counts as a run, because the batches of a slot are for several
/// tenants. Must be called before [`AgentState::record`].
pub(super) fn book_run(tx: &mut Transaction<'_>, state: &AgentState, row: &Run) -> Result<()> {
    match row.status {
        Status::Running | Status::Skipped | Status::Missed => Ok(()),
        _ => book(tx, state, row, 1),
    }
}

/// Books the cost of a run that is not counted as a run. Must be called before [`AgentState::add_cost`].
pub(super) fn book_cost(tx: &mut Transaction<'_>, state: &AgentState, row: &Run) -> Result<()> {
    book(tx, state, row, 0)
}

fn book(tx: &mut Transaction<'_>, state: &AgentState, row: &Run, runs: u32) -> Result<()> {
    // At most once in a quarter of an hour, because all records of the agent are read.
    if state.is_unbooked(row.started) {
        delete_old(tx, &row.agent, row.started.minus(KEPT_FOR))?;
    }
    let key = key(&row.agent, row.tenant.id());
    let mut spending = tx.get::<TenantSpending>(&key)?.unwrap_or_default();
    spending.0.book(row.started, runs, row.cost.unwrap_or(0.0));
    tx.put(&key, &spending)
}

/// Deletes the records of the tenants for which the agent has not run since an instant.
fn delete_old(tx: &mut Transaction<'_>, agent: &str, since: Timestamp) -> Result<()> {
    for (key, TenantSpending(spent)) in tx.scan::<TenantSpending>(&prefix(agent))? {
        if spent.is_before(since) {
            tx.delete::<TenantSpending>(&key)?;
        }
    }
    Ok(())
}

/// Number of tenants for which spending of an agent is stored.
#[cfg(test)]
pub(crate) fn stored_tenants(memory: &Memory, agent: &str) -> usize {
    memory.store.keys::<TenantSpending>(&prefix(agent)).map_or(0, |keys| keys.len())
}
