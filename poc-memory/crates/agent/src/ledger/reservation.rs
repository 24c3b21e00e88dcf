//! Budget reservations: the maximum cost of a call is stored before the call is made, so that two calls
//! cannot spend the same money, and the cost is booked even if the process dies before the reply.
//!
//! A reservation lasts until the cost of the run is booked: with its row, or by [`super::book_cost`]. If the
//! process dies before that, the next process books the whole reservation as an estimate and ends the child
//! process of the call.

use super::booking::add_cost;
use super::cause::cause;
use super::dead_processes::DeadProcesses;
use super::recent_spending::Spending;
use super::state::{self, AgentState};
use super::status::Status;
use super::{CallRecord, Run, row, tenant_spending};
use crate::child_process::ChildProcess;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{RunId, Tuple};
use poc_notes::Memory;
use poc_store::{Record, Records, Table, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The maximum cost of a run in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BudgetReservation {
    run: RunId,
    agent: String,
    /// The `Memory::instance` of the process that runs it.
    instance: String,
    /// Start of the run; its cost is booked at this time.
    started: Timestamp,
    /// Configured name of the model.
    model: String,
    /// Maximum cost of the run in US dollars, including what it has already spent.
    max_usd: f64,
    /// The last child process started for the call.
    program: Option<ChildProcess>,
    /// The tenant of the run.
    tenant: Tuple,
}

impl Record for BudgetReservation {
    const TABLE: Table = Table::Reservations;
    const VERSION: u8 = 3;

    /// Version 1 had no child process, version 2 no tenant: `None` and an empty tuple are zero bytes at the end.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<BudgetReservation>> {
        let missing: &[u8] = match version {
            1 => &[0, 0],
            2 => &[0],
            _ => return None,
        };
        Some(postcard::from_bytes(&[body, missing].concat()))
    }
}

/// The budget days of a run as half-open ranges: in the time zone of the agent and in that of the operator.
#[derive(Clone, Debug)]
pub struct BudgetDays {
    /// The budget day of the agent.
    pub own: Range<Timestamp>,
    /// The budget day of the operator, for the budget of all agents.
    pub all_agents: Range<Timestamp>,
}

/// Spending of a day, excluding one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DaySpending {
    /// Runs of the agent that began on that day.
    pub runs: u32,
    /// US dollars that these runs spent, plus the reservations of the agent's runs in progress.
    pub day: f64,
    /// US dollars that the runs of all agents spent, plus their reservations.
    pub all_agents: f64,
    /// Runs of the agent for the tenant of the run, counting each batch.
    pub tenant_runs: u32,
    /// US dollars that these runs spent, plus the reservations of the agent's runs in progress for the tenant.
    pub tenant_day: f64,
}

/// Spending of the days of a run, excluding the run itself.
pub fn day_spending(memory: &Memory, run: &Run, days: &BudgetDays) -> Result<DaySpending> {
    day_spending_of(&memory.store, &state::state(memory, &run.agent)?, run, days)
}

fn day_spending_of<R: Records + ?Sized>(
    records: &R,
    state: &AgentState,
    run: &Run,
    days: &BudgetDays,
) -> Result<DaySpending> {
    let BudgetDays { own, all_agents } = days;
    let Spending { runs, cost: spent } = state.spending_between(own.start, own.end);
    // A batch belongs to a run that is already counted.
    let runs = runs.saturating_sub(u32::from(state.is_of_counted_slot(run)));
    let Spending { runs: tenant_runs, cost: spent_for_tenant } =
        tenant_spending::on_day(records, &run.agent, &run.tenant, own)?;
    let mut others = reservations(records)?;
    others.retain(|reservation| reservation.run != run.id);
    let all_agents = spent_by_agents(records, all_agents)? + reserved(&others, all_agents);
    others.retain(|reservation| reservation.agent == run.agent);
    let day = spent + reserved(&others, own);
    others.retain(|reservation| reservation.tenant == run.tenant);
    let tenant_day = spent_for_tenant + reserved(&others, own);
    Ok(DaySpending { runs, day, all_agents, tenant_runs, tenant_day })
}

/// US dollars that all agents spent on a day, plus the reservations of their runs in progress.
pub fn spent_by_all(memory: &Memory, day: &Range<Timestamp>) -> Result<f64> {
    Ok(spent_by_agents(&memory.store, day)? + reserved(&reservations(&memory.store)?, day))
}

/// US dollars that the runs of an agent in progress that began on a day have reserved.
pub fn reserved_by(memory: &Memory, agent: &str, day: &Range<Timestamp>) -> Result<f64> {
    let mut own = reservations(&memory.store)?;
    own.retain(|reservation| reservation.agent == agent);
    Ok(reserved(&own, day))
}

/// US dollars that all agents spent on a day.
fn spent_by_agents<R: Records + ?Sized>(records: &R, day: &Range<Timestamp>) -> Result<f64> {
    let states = records.range::<AgentState>(&[])?;
    Ok(total(states.iter().map(|(_, state)| state.spending_between(day.start, day.end).cost)))
}

/// Reservations in US dollars of the runs that began on a day.
fn reserved(reservations: &[BudgetReservation], day: &Range<Timestamp>) -> f64 {
    let of_day = reservations.iter().filter(|reservation| day.contains(&reservation.started));
    total(of_day.map(|reservation| reservation.max_usd))
}

/// The sum of amounts. [`Iterator::sum`] of none is -0, which would be shown as `$-0.0000`.
fn total(amounts: impl Iterator<Item = f64>) -> f64 {
    amounts.fold(0.0, |sum, amount| sum + amount)
}

fn reservations<R: Records + ?Sized>(records: &R) -> Result<Vec<BudgetReservation>> {
    Ok(records.range::<BudgetReservation>(&[])?.into_iter().map(|(_, reservation)| reservation).collect())
}

/// Calls `decide` with the current spending and stores the reservation it returns, in one transaction. When
/// `decide` refuses, nothing is stored.
pub fn reserve<T, E>(
    memory: &Memory,
    run: &Run,
    days: &BudgetDays,
    decide: impl Fn(DaySpending) -> std::result::Result<(T, f64), E>,
) -> Result<std::result::Result<T, E>> {
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        // A run that another process has taken over must not spend more. A dry run has no row.
        if tx.get::<Run>(&run.key())?.is_some() {
            row::expect_running(tx, run)?;
        }
        let spending = day_spending_of(tx, &state::get(tx, &run.agent)?, run, days)?;
        let (decided, max_usd) = match decide(spending) {
            Ok(decided) => decided,
            Err(refused) => return Ok(Err(refused)),
        };
        tx.put(&run.key(), &BudgetReservation { max_usd, ..BudgetReservation::of(memory, run) })?;
        Ok(Ok(decided))
    })?;
    Ok(committed.value)
}

/// Stores the child process that was started for a call.
pub fn record_child_process(memory: &Memory, run: &Run, program: &ChildProcess) -> Result<()> {
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let kept = tx.get::<BudgetReservation>(&run.key())?;
        let reservation = kept.unwrap_or_else(|| BudgetReservation::of(memory, run));
        tx.put(&run.key(), &BudgetReservation { program: Some(program.clone()), ..reservation })
    });
    committed.map(|_| ())
}

impl BudgetReservation {
    /// A reservation of 0 dollars.
    fn of(memory: &Memory, run: &Run) -> BudgetReservation {
        BudgetReservation {
            run: run.id,
            agent: run.agent.clone(),
            instance: memory.instance.clone(),
            started: run.started,
            model: run.model.clone(),
            max_usd: 0.0,
            program: None,
            tenant: run.tenant.clone(),
        }
    }
}

/// Whether a run has a reservation.
pub(super) fn exists(memory: &Memory, run: &Run) -> Result<bool> {
    Ok(memory.store.get::<BudgetReservation>(&run.key())?.is_some())
}

/// Removes the reservation of a run whose cost is booked.
pub(super) fn release(tx: &mut Transaction<'_>, run: &Run) -> Result<()> {
    if tx.get::<BudgetReservation>(&run.key())?.is_some() {
        tx.delete::<BudgetReservation>(&run.key())?;
    }
    Ok(())
}

/// The instance ids of the processes that have reservations.
pub(super) fn instances(memory: &Memory) -> Result<BTreeSet<String>> {
    let reservations = memory.store.scan::<BudgetReservation>(&[])?;
    Ok(reservations.into_iter().map(|(_, reservation)| reservation.instance).collect())
}

/// Books the reservations of dead processes. If the row is still running, the reservation is added to it as a
/// call and booked when the row ends.
pub(super) fn book_orphaned(dead: &DeadProcesses, tx: &mut Transaction<'_>) -> Result<()> {
    for (key, reservation) in tx.scan::<BudgetReservation>(&[])? {
        if !dead.contains(&reservation.instance) {
            continue;
        }
        let BudgetReservation { run, agent, started, model, max_usd, program, tenant, .. } = reservation;
        if program.is_some_and(|program| program.kill()) {
            tracing::info!(agent, %run, "the child process of its call was still running and was killed");
        }
        if max_usd <= 0.0 {
            tx.delete::<BudgetReservation>(&key)?;
            continue;
        }
        let kept = tx.get::<Run>(&key)?;
        let is_kept = kept.is_some();
        let mut row = kept.unwrap_or_else(|| Run { tenant, ..Run::new(run, &agent, None, started) });
        if row.calls.is_empty() {
            let (tokens_in, tokens_out) = (None, None);
            row.add_call(CallRecord { model, tokens_in, tokens_out, cost: Some(max_usd), estimated: true });
            if is_kept {
                tx.put(&key, &row)?;
            }
            if !is_kept || row.status != Status::Running {
                add_cost(tx, &row)?;
            }
        }
        tx.delete::<BudgetReservation>(&key)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_of_earlier_versions_have_no_child_process_and_no_tenant() {
        let reservation = BudgetReservation {
            run: RunId::from_bytes([1; 16]),
            agent: "linker".into(),
            instance: "an instance".into(),
            started: Timestamp(5),
            model: "m".into(),
            max_usd: 0.5,
            program: None,
            tenant: Tuple::default(),
        };
        let mut bytes = reservation.encode().unwrap();
        for version in [2, 1] {
            assert_eq!(bytes.pop(), Some(0));
            bytes[0] = version;
            assert_eq!(BudgetReservation::decode(&bytes).unwrap(), reservation);
        }
    }
}
