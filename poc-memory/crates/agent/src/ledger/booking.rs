//! Writes the rows of runs and books their costs in the state of the agent and in the spending for the tenant.

use super::state::{self, AgentState};
use super::{Run, tenant_spending};
use poc_graph::error::Result;
use poc_store::Transaction;

/// Writes a row and the agent's state that follows from it.
pub(super) fn put(tx: &mut Transaction<'_>, mut state: AgentState, row: &Run) -> Result<()> {
    record(tx, &mut state, row)?;
    state::put(tx, &row.agent, &state)
}

/// Like [`put`], but does not write the state.
pub(super) fn record(tx: &mut Transaction<'_>, state: &mut AgentState, row: &Run) -> Result<()> {
    tenant_spending::book_run(tx, state, row)?;
    state.record(row);
    tx.put(&row.key(), row)
}

/// Adds the cost of a run that is not counted as a run to the agent's state and to the spending for its tenant.
pub(super) fn add_cost(tx: &mut Transaction<'_>, row: &Run) -> Result<()> {
    let mut state = state::get(tx, &row.agent)?;
    tenant_spending::book_cost(tx, &state, row)?;
    state.add_cost(row);
    state::put(tx, &row.agent, &state)
}
