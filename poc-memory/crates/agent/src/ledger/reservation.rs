//! Budget reservations: what a call may cost is stored before the call is made, so that no two calls count on
//! the same dollar, and a bill is booked even when the process ends before it arrives.
//!
//! A reservation lasts until the cost of the run is booked: with its row, or by [`super::book_cost`]. When the
//! process ends before that, the next one books the reservation as a whole, as an estimate, and ends the
//! program that was started for the call.

use super::cause::cause;
use super::state::{self, AgentState};
use super::status::Status;
use super::{Call, Run};
use crate::child_process::ChildProcess;
use poc_graph::RunId;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_store::{Record, Records, Table, Tx};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a run in progress has cost and may still cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BudgetReservation {
    run: RunId,
    agent: String,
    /// The boot of the process that runs it.
    boot: String,
    /// When the run began: what it takes is booked there.
    started: Timestamp,
    /// The model that is called, by its name in the settings.
    model: String,
    /// US dollars, those it has taken already included.
    max_usd: f64,
    /// The program that was started last for the call.
    program: Option<ChildProcess>,
}

impl Record for BudgetReservation {
    const TABLE: Table = Table::Promises;
    const VERSION: u8 = 2;

    /// The first version knew of no programs, which is a zero at the end.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<BudgetReservation>> {
        (version == 1).then(|| postcard::from_bytes(&[body, &[0]].concat()))
    }
}

/// The days of a budget, each from its beginning to its end: in the zone of the agent, and in the operator's.
#[derive(Clone, Debug)]
pub struct BudgetDays {
    /// The agent's.
    pub own: Range<Timestamp>,
    /// The operator's, which counts for the budget of all agents.
    pub everyone: Range<Timestamp>,
}

/// What is on record of a day, apart from one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Runs of the agent that began on it.
    pub runs: u32,
    /// US dollars they took, and its runs in progress may take.
    pub day: f64,
    /// The same of all agents.
    pub everyone: f64,
}

/// What is on record of the days of a run, apart from the run itself.
pub fn account(memory: &Memory, run: &Run, days: &BudgetDays) -> Result<Account> {
    account_of(&memory.store, &state::state(memory, &run.agent)?, run, days)
}

fn account_of<R: Records + ?Sized>(
    records: &R,
    state: &AgentState,
    run: &Run,
    days: &BudgetDays,
) -> Result<Account> {
    let BudgetDays { own, everyone } = days;
    let (runs, spent) = state.spent(own.start, own.end);
    let mut account = Account { runs, day: spent, everyone: 0.0 };
    for (_, state) in records.range::<AgentState>(&[])? {
        account.everyone += state.spent(everyone.start, everyone.end).1;
    }
    for (_, reservation) in records.range::<BudgetReservation>(&[])? {
        let within = |day: &Range<Timestamp>| day.contains(&reservation.started);
        if reservation.run == run.id {
            continue;
        }
        if within(everyone) {
            account.everyone += reservation.max_usd;
        }
        if reservation.agent == run.agent && within(own) {
            account.day += reservation.max_usd;
        }
    }
    Ok(account)
}

/// Decides about a call of a run by what is on record, and puts on record what the run may take then: in one
/// transaction. What is decided against is on record as it was before.
pub fn reserve<T, E>(
    memory: &Memory,
    run: &Run,
    days: &BudgetDays,
    decide: impl FnOnce(Account) -> std::result::Result<(T, f64), E>,
) -> Result<std::result::Result<T, E>> {
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let account = account_of(tx, &state::get(tx, &run.agent)?, run, days)?;
        let (decided, max_usd) = match decide(account) {
            Ok(decided) => decided,
            Err(refused) => return Ok(Err(refused)),
        };
        tx.put(&run.key(), &BudgetReservation { max_usd, ..BudgetReservation::of(memory, run) })?;
        Ok(Ok(decided))
    })?;
    Ok(committed.value)
}

/// Puts on record that a program was started for a call of a run.
pub fn record_child_process(memory: &Memory, run: &Run, program: ChildProcess) -> Result<()> {
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let kept = tx.get::<BudgetReservation>(&run.key())?;
        let reservation = kept.unwrap_or_else(|| BudgetReservation::of(memory, run));
        tx.put(&run.key(), &BudgetReservation { program: Some(program), ..reservation })
    });
    committed.map(|_| ())
}

impl BudgetReservation {
    /// One of nothing.
    fn of(memory: &Memory, run: &Run) -> BudgetReservation {
        BudgetReservation {
            run: run.id,
            agent: run.agent.clone(),
            boot: memory.boot.clone(),
            started: run.started,
            model: run.model.clone(),
            max_usd: 0.0,
            program: None,
        }
    }
}

/// Whether a run has a reservation.
pub(super) fn exists(memory: &Memory, run: &Run) -> Result<bool> {
    Ok(memory.store.get::<BudgetReservation>(&run.key())?.is_some())
}

/// Removes the reservation of a run: what the run took is booked.
pub(super) fn release(tx: &mut Tx<'_>, run: &Run) -> Result<()> {
    if tx.get::<BudgetReservation>(&run.key())?.is_some() {
        tx.delete::<BudgetReservation>(&run.key())?;
    }
    Ok(())
}

/// Whether a process that is gone has left reservations.
pub(super) fn any_orphaned(memory: &Memory) -> Result<bool> {
    let reservations = memory.store.scan::<BudgetReservation>(&[])?;
    Ok(reservations.iter().any(|(_, reservation)| reservation.boot != memory.boot))
}

/// Books what processes that are gone have reserved. A row that is still to be ended gets it as a call, and is
/// booked when it ends.
pub(super) fn book_orphaned(memory: &Memory, tx: &mut Tx<'_>) -> Result<()> {
    for (key, reservation) in tx.scan::<BudgetReservation>(&[])? {
        if reservation.boot == memory.boot {
            continue;
        }
        let BudgetReservation { run, agent, started, model, max_usd, program, .. } = reservation;
        if program.is_some_and(|program| program.end()) {
            tracing::info!(agent, %run, "the program its call had started was still running: it is ended");
        }
        if max_usd <= 0.0 {
            tx.delete::<BudgetReservation>(&key)?;
            continue;
        }
        let kept = tx.get::<Run>(&key)?;
        let is_kept = kept.is_some();
        let mut row = kept.unwrap_or_else(|| Run::new(run, &agent, None, started));
        if row.calls.is_empty() {
            let (tokens_in, tokens_out) = (None, None);
            row.add_call(Call { model, tokens_in, tokens_out, cost: Some(max_usd), estimated: true });
            if is_kept {
                tx.put(&key, &row)?;
            }
            if !is_kept || row.status != Status::Running {
                let mut state = state::get(tx, &agent)?;
                state.add_cost(&row);
                state::put(tx, &agent, &state)?;
            }
        }
        tx.delete::<BudgetReservation>(&key)?;
    }
    Ok(())
}
