//! Claiming runs: one row per slot, rerun or set of changes.

use super::booking::{self, put};
use super::cause::cause;
use super::dead_processes::DeadProcesses;
use super::key::{prefix, run_key};
use super::reservation;
use super::rows::{self, INTERRUPTED, occurrence_key, prune};
use super::state::{self, AgentState};
use super::status::{Status, StatusReason};
use super::trigger::{Trigger, TriggerKind};
use super::{Occurrence, Run};
use poc_graph::RunId;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_store::Transaction;

/// How long the slots of a paused or disabled agent share a row. Otherwise, the rows of an agent that runs every second
/// would soon displace all others.
const SHARED_ROW_SPAN: Span = Span::HOUR;

/// Claims a manual run of an agent and writes its row.
///
/// # Errors
/// As [`claim_for`].
pub fn claim(memory: &Memory, row: Run) -> Result<Run> {
    claim_for(memory, row, Trigger::Manual)
}

/// Claims a run of an agent for a trigger: writes its row and claims its slot, if it has one. If the agent is already
/// running, a slot returns a skipped row.
///
/// # Errors
/// `rejected` if this daemon does not run the agent. `conflict` if the slot, the rerun or the changes were already
/// claimed, or if the agent is already running and the trigger is manual, a change or a batch.
pub fn claim_for(memory: &Memory, row: Run, trigger: Trigger) -> Result<Run> {
    if !memory.config.daemon.runs_agents.includes(&row.agent) {
        return Err(Error::new(Code::Rejected, format!("this daemon does not run `{}`", row.agent))
            .hint("run it on a daemon whose `runs-agents` in `[daemon]` includes it"));
    }
    let dead = rows::dead_processes(memory)?;
    // Added before the row is written: a running row of this process that is not in this set belongs to a run
    // that could not end its row.
    memory.active_runs.lock().insert(row.id);
    let committed = memory.store.transact(cause(memory, &row.agent, Some(row.id)), |tx| {
        let mut row = row.clone();
        reservation::book_orphaned(&dead, tx)?;
        let mut state = state::get(tx, &row.agent)?;
        let overlaps = interrupt_orphaned_run(memory, &dead, tx, &mut state, &row.agent)?;
        // An overlapping slot is skipped, but changes can still be handled after the other run has ended.
        if overlaps && matches!(row.trigger, TriggerKind::Manual | TriggerKind::Change | TriggerKind::Batch) {
            return Err(
                Error::conflict(format!("`{}` is already running", row.agent)).hint("wait for it to end")
            );
        }
        if !state.claim_changes(trigger) {
            return Err(Error::conflict(format!("the changes for `{}` were already claimed", row.agent)));
        }
        if overlaps {
            row.finish(memory, Status::Skipped, Some(StatusReason::Overlap));
        }
        put_slot(tx, &state, &row)?;
        put(tx, state, &row)?;
        Ok(row)
    });
    let claimed = committed.map(|done| done.value);
    if !claimed.as_ref().is_ok_and(|claimed| claimed.status == Status::Running) {
        end_run(memory, row.id);
    }
    claimed
}

/// Records that this process no longer works on a run. If its row is still running, the write that should
/// have ended it has failed; the next claim or recovery marks the row as interrupted.
pub fn end_run(memory: &Memory, run: RunId) {
    memory.active_runs.lock().remove(&run);
}

/// Outcome of an occurrence that was not run.
#[derive(Clone, Debug)]
pub struct RowOutcome {
    /// How it ended.
    pub status: Status,
    /// The reason, as a stable code.
    pub reason: Option<StatusReason>,
    /// Details as text.
    pub message: Option<String>,
}

/// Writes the row of an occurrence that was not run. `None` when it was already claimed.
pub fn record_without_run(
    memory: &Memory,
    agent: &str,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    write_row_without_run(memory, agent, None, trigger, outcome)
}

/// Like [`record_without_run`], for consecutive slots from `first` to the trigger's slot, which gets the row. If the
/// newest row of a paused or disabled agent has the same outcome and began less than an hour ago, the slots are added
/// to it instead. Returns the row.
pub fn record_slots_without_run(
    memory: &Memory,
    agent: &str,
    first: Timestamp,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    write_row_without_run(memory, agent, Some(first), trigger, outcome)
}

/// Writes the row of one occurrence, or of the slots from `first` on.
fn write_row_without_run(
    memory: &Memory,
    agent: &str,
    first: Option<Timestamp>,
    trigger: Trigger,
    outcome: RowOutcome,
) -> Result<Option<Run>> {
    let RowOutcome { status, reason, message } = outcome;
    let mut row = Run::for_trigger(memory, agent, trigger);
    row.message = message;
    row.finish(memory, status, reason);
    let committed = memory.store.transact(cause(memory, agent, Some(row.id)), |tx| {
        let mut state = state::get(tx, agent)?;
        if state.is_claimed(trigger) || !state.claim_changes(trigger) {
            return Ok(None);
        }
        let taken = match occurrence_key(&row) {
            Some(key) => tx.get::<Occurrence>(&key)?.is_some(),
            None => false,
        };
        if taken || state.has_outcome(&row) {
            return Ok(None);
        }
        if let (Some(first), Some(last)) = (first, row.slot())
            && let Some(extended) = extended_row(tx, &row, first, last)?
        {
            state.settle(first, last);
            state::put(tx, agent, &state)?;
            tx.put(&extended.key(), &extended)?;
            return Ok(Some(extended));
        }
        put_slot(tx, &state, &row)?;
        if let Trigger::Slot(last) = trigger {
            state.settle(first.unwrap_or(last), last);
        }
        put(tx, state, &row)?;
        prune(memory, tx, agent)?;
        Ok(Some(row.clone()))
    })?;
    Ok(committed.value)
}

/// The newest row of the agent with the slots from `first` to `last` added, if `row` would repeat it.
fn extended_row(tx: &Transaction<'_>, row: &Run, first: Timestamp, last: Timestamp) -> Result<Option<Run>> {
    if !row.reason.is_some_and(StatusReason::lasts) || row.status != Status::Skipped {
        return Ok(None);
    }
    let Some(key) = tx.keys::<Run>(&prefix(&row.agent))?.pop() else { return Ok(None) };
    let Some(newest) = tx.get::<Run>(&key)? else { return Ok(None) };
    let is_same = newest.status == row.status && newest.reason == row.reason;
    // The clock may have been set back.
    let is_recent = newest.started <= row.started && row.started < newest.started.plus(SHARED_ROW_SPAN);
    Ok(newest.slot().filter(|begin| is_same && is_recent && *begin < first).map(|begin| Run {
        finished: row.finished,
        message: Some(format!("the slots from {begin} to {last}")),
        ..newest
    }))
}

/// Marks the run of an agent as interrupted if no process works on it any more. Returns whether the agent still has a
/// live run.
fn interrupt_orphaned_run(
    memory: &Memory,
    dead: &DeadProcesses,
    tx: &mut Transaction<'_>,
    state: &mut AgentState,
    agent: &str,
) -> Result<bool> {
    let Some(id) = state.running() else { return Ok(false) };
    let Some(mut run) = tx.get::<Run>(&run_key(agent, id))? else { return Ok(false) };
    if !rows::is_orphaned(memory, dead, &run) {
        return Ok(true);
    }
    run.finish(memory, Status::Interrupted, None);
    run.message = Some(INTERRUPTED.to_owned());
    booking::record(tx, state, &run)?;
    Ok(false)
}

/// Claims the slot or rerun of a row. A slot whose run was interrupted may be claimed again.
fn put_slot(tx: &mut Transaction<'_>, state: &AgentState, row: &Run) -> Result<()> {
    let Some(key) = occurrence_key(row) else { return Ok(()) };
    let is_free = match (tx.get::<Occurrence>(&key)?, row.slot()) {
        (Some(taken), Some(_)) => {
            let before = tx.get::<Run>(&run_key(&row.agent, taken.run))?;
            before.is_some_and(|before| before.status == Status::Interrupted)
        }
        (Some(_), None) => false,
        (None, slot) => !state.has_outcome(row) || slot.is_some_and(|slot| state.can_retry(slot)),
    };
    if !is_free {
        let (agent, at) = (&row.agent, row.scheduled_at.unwrap_or(row.started));
        return Err(Error::conflict(match row.rerun_of {
            Some(run) => format!("the run `{run}` of `{agent}` was already repeated"),
            None => format!("the slot {at} of `{agent}` was already claimed"),
        }));
    }
    tx.put(&key, &Occurrence { run: row.id })
}
