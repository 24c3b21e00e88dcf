//! Reading and writing the rows of runs: claiming, ending and pruning.

use super::cause::cause;
use super::key::{prefix, read_key, run_key};
use super::reservation;
use super::state::{self, AgentState};
use super::status::{Reason, Status};
use super::trigger::{Trigger, TriggerKind};
use super::{Occurrence, Run};
use poc_graph::RunId;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_store::{Cause, Tx};
use std::collections::BTreeSet;

/// Message of an interrupted run.
const INTERRUPTED: &str = "the process that ran it ended in the middle";

/// Key of the occurrence record for a slot or a rerun; `None` for other rows. Slot and rerun keys have
/// different lengths.
fn occurrence_key(row: &Run) -> Option<Vec<u8>> {
    let key = |what: &[u8]| [prefix(&row.agent).as_slice(), what].concat();
    match row.trigger {
        TriggerKind::Rerun => row.rerun_of.map(|run| key(run.as_bytes())),
        TriggerKind::Schedule => row.scheduled_at.map(|slot| key(&slot.0.to_be_bytes())),
        TriggerKind::Manual | TriggerKind::Change => None,
    }
}

/// Keys of the rows of one agent or all agents, oldest first per agent.
fn keys(memory: &Memory, agent: Option<&str>) -> Result<Vec<Vec<u8>>> {
    memory.store.keys::<Run>(&agent.map(prefix).unwrap_or_default())
}

/// Rows of one agent or all agents, newest first, at most `limit` per agent.
pub fn rows(memory: &Memory, agent: Option<&str>, limit: usize) -> Result<Vec<Run>> {
    let keys = keys(memory, agent)?;
    let mut rows = Vec::new();
    for own in
        keys.chunk_by(|a, b| read_key(a).map(|(agent, _)| agent) == read_key(b).map(|(agent, _)| agent))
    {
        for key in own.iter().rev().take(limit) {
            rows.extend(memory.store.get::<Run>(key)?);
        }
    }
    rows.sort_by_key(|run| std::cmp::Reverse(run.id));
    Ok(rows)
}

/// The running row of each agent according to its state, newest first.
fn running_rows(memory: &Memory, agents: impl IntoIterator<Item = String>) -> Result<Vec<Run>> {
    let mut running = Vec::new();
    for agent in agents {
        let Some(id) = state::state(memory, &agent)?.running() else { continue };
        let row = memory.store.get::<Run>(&run_key(&agent, id))?;
        running.extend(row.filter(|run| run.status == Status::Running));
    }
    running.sort_by_key(|run| std::cmp::Reverse(run.id));
    Ok(running)
}

/// The agents with a state record.
fn agents_with_state(memory: &Memory) -> Result<BTreeSet<String>> {
    let states = memory.store.keys::<AgentState>(&[])?;
    Ok(states.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect())
}

/// All agents with a state or a row, by name. Reads the keys of all rows.
pub fn agents(memory: &Memory) -> Result<BTreeSet<String>> {
    let mut agents = agents_with_state(memory)?;
    // Agents of releases without state records.
    let rows = keys(memory, None)?;
    agents.extend(rows.iter().filter_map(|key| Some(read_key(key)?.0.to_owned())));
    Ok(agents)
}

/// Running rows of this process, newest first.
pub fn running(memory: &Memory) -> Result<Vec<Run>> {
    // Every run of this process has written its agent's state.
    let mut running = running_rows(memory, agents_with_state(memory)?)?;
    running.retain(|run| run.boot == memory.boot);
    Ok(running)
}

/// Start time of the agent's run in this process.
pub fn running_since(memory: &Memory, agent: &str, state: &AgentState) -> Result<Option<Timestamp>> {
    let Some(id) = state.running() else { return Ok(None) };
    let row = memory.store.get::<Run>(&run_key(agent, id))?;
    let own = row.filter(|run| run.status == Status::Running && run.boot == memory.boot);
    Ok(own.map(|run| run.started))
}

/// The row with its current status. This process has exclusive access to the store, so a row that another
/// process left running is interrupted even if that is not stored yet.
pub fn with_current_status(memory: &Memory, row: Run) -> Run {
    if row.status != Status::Running || row.boot == memory.boot {
        return row;
    }
    Run { status: Status::Interrupted, message: Some(INTERRUPTED.to_owned()), ..row }
}

/// The row with this id or unique id prefix.
pub fn find(memory: &Memory, id: &str) -> Result<Run> {
    let wanted = id.to_ascii_lowercase();
    let mut found = keys(memory, None)?;
    found.retain(|key| {
        read_key(key).is_some_and(|(_, id)| !wanted.is_empty() && id.to_string().starts_with(&wanted))
    });
    let row = match found.as_slice() {
        [key] => memory.store.get::<Run>(key)?,
        [] => None,
        several => {
            return Err(Error::invalid(format!("`{id}` is the start of {} run ids", several.len()))
                .hint("give more digits of the id")
                .field("run"));
        }
    };
    row.ok_or_else(|| {
        Error::not_found(format!("there is no run `{id}`"))
            .hint("`poc-memory agent history` lists the runs")
            .field("run")
    })
}

/// Updates the state of an agent in a transaction.
pub fn update_state(
    memory: &Memory,
    agent: &str,
    cause: Cause,
    update: impl Fn(&mut AgentState) -> Result<()>,
) -> Result<()> {
    let committed = memory.store.transact(cause, |tx| {
        let mut state = state::get(tx, agent)?;
        update(&mut state)?;
        state::put(tx, agent, &state)
    });
    committed.map(|_| ())
}

/// Books the cost of a run that does not end its own row: a dry run, or a run whose row was ended by others.
/// A row that is still running books its cost when it ends.
pub fn book_cost(memory: &Memory, run: &Run) -> Result<()> {
    let took = run.cost.is_some_and(|cost| cost > 0.0) || run.tokens_in.is_some() || run.tokens_out.is_some();
    if !took && !reservation::exists(memory, run)? {
        return Ok(());
    }
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let kept = tx.get::<Run>(&run.key())?;
        if kept.as_ref().is_none_or(|kept| kept.status != Status::Running) {
            let mut state = state::get(tx, &run.agent)?;
            state.add_cost(run);
            state::put(tx, &run.agent, &state)?;
        }
        if let Some(mut kept) = kept.filter(|kept| kept.calls.is_empty()) {
            run.calls.iter().for_each(|call| kept.add_call(call.clone()));
            tx.put(&kept.key(), &kept)?;
        }
        reservation::release(tx, run)
    });
    committed.map(|_| ())
}

/// Claims a run of an agent: writes its row and claims its slot, if it has one. If the agent is already
/// running, a slot returns a skipped row, and a manual or change-triggered run is a conflict. A slot that was
/// already claimed is a conflict.
pub fn claim(memory: &Memory, row: Run) -> Result<Run> {
    claim_for(memory, row, Trigger::Manual)
}

/// Like [`claim`], for a trigger.
pub fn claim_for(memory: &Memory, mut row: Run, trigger: Trigger) -> Result<Run> {
    let committed = memory.store.transact(cause(memory, &row.agent, Some(row.id)), |tx| {
        reservation::book_orphaned(memory, tx)?;
        let mut state = state::get(tx, &row.agent)?;
        let overlaps = interrupt_stale_run(memory, tx, &mut state, &row.agent)?;
        // A slot is lost, but changes can still be handled after the other run has ended.
        if overlaps && matches!(row.trigger, TriggerKind::Manual | TriggerKind::Change) {
            return Err(
                Error::conflict(format!("`{}` is running already", row.agent)).hint("wait for it to end")
            );
        }
        if !state.claim_changes(trigger) {
            return Err(Error::conflict(format!(
                "the changes `{}` was to look at were claimed before",
                row.agent
            )));
        }
        if overlaps {
            row.finish(memory, Status::Skipped, Some(Reason::Overlap));
        }
        put_slot(tx, &state, &row)?;
        put(tx, state, &row)
    });
    committed.map(|_| row)
}

/// Outcome of an occurrence that was not run.
#[derive(Clone, Debug)]
pub struct RowOutcome {
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: Option<Reason>,
    /// Details.
    pub message: Option<String>,
}

/// Writes the row of an occurrence that was not run. `None` when it was already claimed.
pub fn record_unrun(
    memory: &Memory,
    agent: &str,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    write_unrun_row(memory, agent, None, trigger, outcome)
}

/// Like [`record_unrun`], for consecutive slots from `first` to the trigger's slot, which gets the row.
pub fn record_unrun_slots(
    memory: &Memory,
    agent: &str,
    first: Timestamp,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    write_unrun_row(memory, agent, Some(first), trigger, outcome)
}

fn write_unrun_row(
    memory: &Memory,
    agent: &str,
    first: Option<Timestamp>,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    let RowOutcome { status, reason, message } = outcome;
    let mut row = Run::due(memory, agent, trigger);
    row.message = message;
    row.finish(memory, status, reason);
    let committed = memory.store.transact(cause(memory, agent, Some(row.id)), |tx| {
        let mut state = state::get(tx, agent)?;
        if state.is_claimed(trigger) || !state.claim_changes(trigger) {
            return Ok(false);
        }
        let taken = match occurrence_key(&row) {
            Some(key) => tx.get::<Occurrence>(&key)?.is_some(),
            None => false,
        };
        if taken || state.has_outcome(&row) {
            return Ok(false);
        }
        put_slot(tx, &state, &row)?;
        if let Trigger::Slot(last) = trigger {
            state.settle(first.unwrap_or(last), last);
        }
        put(tx, state, &row)?;
        prune(memory, tx, agent)?;
        Ok(true)
    })?;
    Ok(committed.value.then_some(row))
}

/// Marks all changes up to transaction `done` as handled for an on-change agent.
pub fn set_change_mark(memory: &Memory, agent: &str, since: Timestamp, done: u64) -> Result<()> {
    update_state(memory, agent, cause(memory, agent, None), |state| {
        state.set_change_mark(since, done);
        Ok(())
    })
}

/// Writes the ended row of a claimed run that changed nothing else. `conflict` when the row was already
/// ended.
pub fn close(memory: &Memory, row: &Run) -> Result<()> {
    memory
        .store
        .transact(cause(memory, &row.agent, Some(row.id)), |tx| {
            expect_running(tx, row)?;
            end(memory, tx, row)
        })
        .map(|_| ())
}

/// Writes the ended row of a run in the transaction of its actions.
pub(crate) fn end(memory: &Memory, tx: &mut Tx<'_>, row: &Run) -> Result<()> {
    reservation::release(tx, row)?;
    put(tx, state::get(tx, &row.agent)?, row)?;
    prune(memory, tx, &row.agent)
}

/// Writes a row and the agent's state that follows from it.
fn put(tx: &mut Tx<'_>, mut state: AgentState, row: &Run) -> Result<()> {
    state.record(row);
    tx.put(&row.key(), row)?;
    state::put(tx, &row.agent, &state)
}

/// Marks rows left running by other processes as interrupted. This process has exclusive access to the store,
/// so those processes are dead. Returns the rows.
pub fn interrupt_others(memory: &Memory) -> Result<Vec<Run>> {
    if reservation::any_orphaned(memory)? {
        memory
            .store
            .transact(memory.cause("daemon", "recover"), |tx| reservation::book_orphaned(memory, tx))?;
    }
    let left = running_rows(memory, agents(memory)?)?;
    end_running(memory, left, |run| run.boot != memory.boot, Status::Interrupted, INTERRUPTED)
}

/// Ends matching running rows of this process with a status and message. Returns the rows.
pub fn abandon(
    memory: &Memory,
    which: impl Fn(&Run) -> bool,
    status: Status,
    message: &str,
) -> Result<Vec<Run>> {
    end_running(memory, running(memory)?, which, status, message)
}

fn end_running(
    memory: &Memory,
    mut left: Vec<Run>,
    which: impl Fn(&Run) -> bool,
    status: Status,
    message: &str,
) -> Result<Vec<Run>> {
    left.retain(&which);
    if left.is_empty() {
        return Ok(left);
    }
    let committed = memory.store.transact(memory.cause("daemon", "recover"), |tx| {
        let mut ended = Vec::new();
        for row in &left {
            let Some(mut run) = tx.get::<Run>(&row.key())?.filter(|run| run.status == Status::Running) else {
                continue;
            };
            let state = state::get(tx, &run.agent)?;
            run.finish(memory, status, None);
            run.message = Some(message.to_owned());
            put(tx, state, &run)?;
            ended.push(run);
        }
        Ok(ended)
    })?;
    Ok(committed.value)
}

/// Deletes the oldest rows of an agent beyond the configured number, with their occurrences. Running rows
/// stay, because they prevent a second run. The agent's state still knows the settled slots.
fn prune(memory: &Memory, tx: &mut Tx<'_>, agent: &str) -> Result<()> {
    let keys = tx.keys::<Run>(&prefix(agent))?;
    let mut surplus = keys.len().saturating_sub(memory.config.agents.keep_rows);
    for key in keys {
        if surplus == 0 {
            break;
        }
        let Some(run) = tx.get::<Run>(&key)?.filter(|run| run.status != Status::Running) else { continue };
        tx.delete::<Run>(&key)?;
        if let Some(key) = occurrence_key(&run) {
            tx.delete::<Occurrence>(&key)?;
        }
        surplus -= 1;
    }
    Ok(())
}

/// Whether the agent is running in this process. A run of a dead process is marked as interrupted.
fn interrupt_stale_run(
    memory: &Memory,
    tx: &mut Tx<'_>,
    state: &mut AgentState,
    agent: &str,
) -> Result<bool> {
    let Some(id) = state.running() else { return Ok(false) };
    let Some(mut run) = tx.get::<Run>(&run_key(agent, id))? else { return Ok(false) };
    if run.boot == memory.boot {
        return Ok(true);
    }
    run.finish(memory, Status::Interrupted, None);
    run.message = Some(INTERRUPTED.to_owned());
    state.record(&run);
    tx.put(&run.key(), &run)?;
    Ok(false)
}

/// Writes the row of a run after a review.
pub(crate) fn put_reviewed(tx: &mut Tx<'_>, row: &Run) -> Result<()> {
    let mut state = state::get(tx, &row.agent)?;
    state.record_review(row);
    tx.put(&row.key(), row)?;
    state::put(tx, &row.agent, &state)
}

/// The row of a run, if it is still stored.
pub(crate) fn row(tx: &Tx<'_>, agent: &str, run: RunId) -> Result<Option<Run>> {
    tx.get(&run_key(agent, run))
}

/// The current row of a run.
pub(crate) fn get(tx: &Tx<'_>, run: &Run) -> Result<Run> {
    tx.get::<Run>(&run.key())?
        .ok_or_else(|| Error::not_found(format!("the row of the run `{}` is no longer kept", run.id)))
}

/// Fails with `conflict` when the run was ended in the meantime.
pub(crate) fn expect_running(tx: &Tx<'_>, run: &Run) -> Result<()> {
    let status = get(tx, run)?.status;
    if status == Status::Running {
        return Ok(());
    }
    Err(Error::conflict(format!("the run `{}` was ended as {} in the meantime", run.id, status.name())))
}

/// Claims the slot or rerun of a row. A slot whose run was interrupted may be claimed again.
fn put_slot(tx: &mut Tx<'_>, state: &AgentState, row: &Run) -> Result<()> {
    let Some(key) = occurrence_key(row) else { return Ok(()) };
    let free = match (tx.get::<Occurrence>(&key)?, row.slot()) {
        (Some(taken), Some(_)) => {
            let before = tx.get::<Run>(&run_key(&row.agent, taken.run))?;
            before.is_some_and(|before| before.status == Status::Interrupted)
        }
        (Some(_), None) => false,
        (None, slot) => !state.has_outcome(row) || slot.is_some_and(|slot| state.can_retry(slot)),
    };
    if !free {
        let (agent, at) = (&row.agent, row.scheduled_at.unwrap_or(row.started));
        return Err(Error::conflict(match row.rerun_of {
            Some(run) => format!("the run `{run}` of `{agent}` was repeated before"),
            None => format!("the slot {at} of `{agent}` was claimed before"),
        }));
    }
    tx.put(&key, &Occurrence { run: row.id })
}
