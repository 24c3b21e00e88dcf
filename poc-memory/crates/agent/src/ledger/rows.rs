//! Reading, ending and pruning the rows of runs.

use super::booking::{add_cost, put};
use super::cause::cause;
use super::dead_processes::DeadProcesses;
use super::key::{prefix, read_key, run_key};
use super::reservation;
use super::row::{expect_running, get, stored_row};
use super::state::{self, AgentState};
use super::status::Status;
use super::trigger::TriggerKind;
use super::{ActionState, Occurrence, Run};
use poc_graph::RunId;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_store::{Cause, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// Key of the occurrence record for a slot or a rerun; `None` for other rows. Slot and rerun keys have
/// different lengths.
pub(super) fn occurrence_key(row: &Run) -> Option<Vec<u8>> {
    let key = |what: &[u8]| [prefix(&row.agent).as_slice(), what].concat();
    match row.trigger {
        TriggerKind::Rerun => row.rerun_of.map(|run| key(run.as_bytes())),
        TriggerKind::Slot => row.scheduled_at.map(|slot| key(&slot.0.to_be_bytes())),
        TriggerKind::Manual | TriggerKind::Change | TriggerKind::Batch => None,
    }
}

/// Message of an interrupted run.
pub(super) const INTERRUPTED: &str = "its process ended before the run did";

/// Keys of the rows of one agent or all agents, oldest first per agent.
fn keys(memory: &Memory, agent: Option<&str>) -> Result<Vec<Vec<u8>>> {
    memory.store.keys::<Run>(&agent.map(prefix).unwrap_or_default())
}

/// The id of a new run. It sorts after those of all stored runs, also if the clock was set back since: the order of the
/// rows is the order in which the runs were claimed.
pub(super) fn new_id(memory: &Memory) -> RunId {
    let id = memory.new_run_id();
    // If the keys cannot be read, the run cannot be claimed either.
    match newest_from(memory, id).unwrap_or_default() {
        Some(newest) => memory.new_run_id_after(newest),
        None => id,
    }
}

/// The newest id of all rows; `None` if it is before `id`. Of the rows of each agent, only the first one and those from
/// `id` on are looked up.
fn newest_from(memory: &Memory, id: RunId) -> Result<Option<RunId>> {
    let (mut newest, mut from) = (None, Vec::new());
    while let Some(mut key) = memory.store.first_key::<Run>(&from)? {
        let row = read_key(&key).map(|(agent, found)| (run_key(agent, id), found));
        from = match row {
            Some((first, _)) if key < first => first,
            row => {
                newest = newest.max(row.map(|(_, found)| found));
                // The first possible key after this one.
                key.push(0);
                key
            }
        };
    }
    Ok(newest)
}

/// Rows of one agent or all agents, newest first, at most `limit` per agent.
pub fn rows(memory: &Memory, agent: Option<&str>, limit: usize) -> Result<Vec<Run>> {
    rows_with_status(memory, agent, &Status::ALL, limit)
}

/// Like [`rows`], but only those that have one of these statuses now.
pub fn rows_with_status(
    memory: &Memory,
    agent: Option<&str>,
    statuses: &[Status],
    limit: usize,
) -> Result<Vec<Run>> {
    newest_rows(memory, agent, limit, |row| statuses.contains(&current_status(memory, row)))
}

/// Rows of an agent that the tenant may see, newest first, at most `limit`.
pub fn visible_rows(memory: &Memory, agent: &str, limit: usize) -> Result<Vec<Run>> {
    newest_rows(memory, Some(agent), limit, |row| is_visible(memory, row))
}

/// Selected rows of one agent or all agents, newest first, at most `limit` per agent.
fn newest_rows(
    memory: &Memory,
    agent: Option<&str>,
    limit: usize,
    is_selected: impl Fn(&Run) -> bool,
) -> Result<Vec<Run>> {
    let keys = keys(memory, agent)?;
    let mut rows = Vec::new();
    for own in
        keys.chunk_by(|a, b| read_key(a).map(|(agent, _)| agent) == read_key(b).map(|(agent, _)| agent))
    {
        let mut left = limit;
        for key in own.iter().rev() {
            if left == 0 {
                break;
            }
            let Some(row) = memory.store.get::<Run>(key)? else { continue };
            if is_selected(&row) {
                rows.push(row);
                left -= 1;
            }
        }
    }
    rows.sort_by_key(|run| std::cmp::Reverse(run.id));
    Ok(rows)
}

/// The first result of `find` over the rows of an agent, from the newest row on.
pub(crate) fn newest<T>(
    memory: &Memory,
    agent: &str,
    mut find: impl FnMut(&Run) -> Option<T>,
) -> Result<Option<T>> {
    for key in keys(memory, Some(agent))?.iter().rev() {
        let found = memory.store.get::<Run>(key)?.and_then(|row| find(&row));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The rows of all agents that started at an instant or later, oldest first.
pub fn rows_since(memory: &Memory, since: Timestamp) -> Result<Vec<Run>> {
    let mut rows = Vec::new();
    for_each_since(memory, None, since, |run| rows.push(run))?;
    // An id may be later than the start of its run.
    rows.retain(|run| run.started >= since);
    rows.reverse();
    Ok(rows)
}

/// Calls `visit` with each row of one agent or all agents that started at an instant or later, newest first. If
/// the clock was set back, later runs are included although their start is earlier. Only one row is in memory at a
/// time.
pub(crate) fn for_each_since(
    memory: &Memory,
    agent: Option<&str>,
    since: Timestamp,
    mut visit: impl FnMut(Run),
) -> Result<()> {
    let mut keys = keys(memory, agent)?;
    // Run ids begin with the time in milliseconds, or that of the newest run if the clock was set back.
    keys.retain(|key| read_key(key).is_some_and(|(_, id)| id.millis() >= since.0));
    keys.sort_by_key(|key| std::cmp::Reverse(read_key(key).map(|(_, id)| id)));
    for key in keys {
        if let Some(run) = memory.store.get::<Run>(&key)? {
            visit(run);
        }
    }
    Ok(())
}

/// The agents of the runs with these ids whose rows are stored. Reads the keys of all rows.
pub fn agents_of(memory: &Memory, ids: &BTreeSet<RunId>) -> Result<BTreeMap<RunId, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let keys = keys(memory, None)?;
    let meant = keys.iter().filter_map(|key| read_key(key)).filter(|(_, id)| ids.contains(id));
    Ok(meant.map(|(agent, id)| (id, agent.to_owned())).collect())
}

/// The running row of each agent according to its state, newest first.
fn running_rows(memory: &Memory, agents: impl IntoIterator<Item = String>) -> Result<Vec<Run>> {
    let mut running = Vec::new();
    for agent in agents {
        let Some(id) = state::state(memory, &agent)?.running() else { continue };
        let row = stored_row(memory, &agent, id)?;
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
    running.retain(|run| run.instance == memory.instance);
    Ok(running)
}

/// The dead processes of a memory. Must not be called in a transaction, because it may query the shared log.
///
/// # Errors
/// `unavailable` when the shared log does not answer.
pub(super) fn dead_processes(memory: &Memory) -> Result<DeadProcesses> {
    DeadProcesses::among(memory, || {
        let running = running_rows(memory, agents_with_state(memory)?)?;
        let mut instances = reservation::instances(memory)?;
        instances.extend(running.into_iter().map(|run| run.instance));
        Ok(instances)
    })
}

/// Whether a run is recorded as running but no process works on it.
pub(super) fn is_orphaned(memory: &Memory, dead: &DeadProcesses, run: &Run) -> bool {
    match run.instance == memory.instance {
        true => !memory.active_runs.lock().contains(&run.id),
        false => dead.contains(&run.instance),
    }
}

/// The agent's run in progress, in this process or in another one over the same shared log.
pub fn current_run(memory: &Memory, agent: &str, state: &AgentState) -> Result<Option<Run>> {
    let Some(id) = state.running() else { return Ok(None) };
    let row = stored_row(memory, agent, id)?;
    Ok(row.filter(|run| current_status(memory, run) == Status::Running))
}

/// The row with its current status. Without a shared log, a row that another process left running is
/// interrupted even if that is not stored yet. With one, the daemons that run agents store it within seconds.
pub fn with_current_status(memory: &Memory, row: Run) -> Run {
    match current_status(memory, &row) {
        status if status == row.status => row,
        status => Run { status, message: Some(INTERRUPTED.to_owned()), ..row },
    }
}

fn current_status(memory: &Memory, row: &Run) -> Status {
    let is_known = row.status != Status::Running || row.instance == memory.instance;
    if is_known || memory.store.shared_log().is_some() { row.status } else { Status::Interrupted }
}

/// Whether a tenant may see a run. The default tenant sees all runs, others see their own.
pub fn is_visible(memory: &Memory, run: &Run) -> bool {
    memory.store.tenant().is_default() || run.tenant == *memory.store.tuple()
}

/// The row with this id or unique id prefix, if the tenant may see it.
pub fn find(memory: &Memory, id: &str) -> Result<Run> {
    let wanted = id.to_ascii_lowercase();
    let mut found = keys(memory, None)?;
    found.retain(|key| {
        read_key(key).is_some_and(|(_, id)| !wanted.is_empty() && id.to_string().starts_with(&wanted))
    });
    let row = match found.as_slice() {
        [key] => memory.store.get::<Run>(key)?.filter(|row| is_visible(memory, row)),
        [] => None,
        several => {
            return Err(Error::invalid(format!("`{id}` is the prefix of {} run ids", several.len()))
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

/// Books the cost of a run that does not end its own row: a dry run, or a run whose row another process
/// ended. The cost of a running row is booked when the row ends.
pub fn book_cost(memory: &Memory, run: &Run) -> Result<()> {
    let took = run.cost.is_some_and(|cost| cost > 0.0) || run.tokens_in.is_some() || run.tokens_out.is_some();
    if !took && !reservation::exists(memory, run)? {
        return Ok(());
    }
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let kept = tx.get::<Run>(&run.key())?;
        // A row that ended with calls has booked their cost: the run failed after it had ended its row, or another
        // process has booked the reservation.
        if kept.as_ref().is_none_or(|kept| kept.status != Status::Running && kept.calls.is_empty()) {
            add_cost(tx, run)?;
        }
        if let Some(mut kept) = kept.filter(|kept| kept.calls.is_empty()) {
            run.calls.iter().for_each(|call| kept.add_call(call.clone()));
            tx.put(&kept.key(), &kept)?;
        }
        reservation::release(tx, run)
    });
    committed.map(|_| ())
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
pub(crate) fn end(memory: &Memory, tx: &mut Transaction<'_>, row: &Run) -> Result<()> {
    reservation::release(tx, row)?;
    put(tx, state::get(tx, &row.agent)?, row)?;
    prune(memory, tx, &row.agent)
}

/// Marks rows of the agents that this daemon runs as interrupted, if nobody works on them any more. Returns the rows.
pub fn interrupt_orphaned(memory: &Memory) -> Result<Vec<Run>> {
    let dead = dead_processes(memory)?;
    if reservation::instances(memory)?.iter().any(|instance| dead.contains(instance)) {
        let cause = memory.cause("daemon", "recover");
        memory.store.transact(cause, |tx| reservation::book_orphaned(&dead, tx))?;
    }
    // Every process with a shared log writes states.
    let mut agents =
        if memory.store.shared_log().is_some() { agents_with_state(memory)? } else { agents(memory)? };
    agents.retain(|agent| memory.config.daemon.runs_agents.includes(agent));
    let left = running_rows(memory, agents)?;
    end_running(memory, left, |run| is_orphaned(memory, &dead, run), Status::Interrupted, INTERRUPTED)
}

/// The agents of this daemon that have a run to repeat, possibly one that another daemon started.
pub fn agents_to_repeat(memory: &Memory) -> Result<Vec<String>> {
    let mut waiting = Vec::new();
    for agent in agents_with_state(memory)? {
        if memory.config.daemon.runs_agents.includes(&agent) && state::state(memory, &agent)?.must_repeat() {
            waiting.push(agent);
        }
    }
    Ok(waiting)
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

/// How long the row of a run that changed notes is kept in any case. A night may have more batches than the configured
/// number of rows, and its report and its undo need all of them.
const CHANGES_KEPT_FOR: Span = Span(2 * Span::DAY.0);

/// Deletes the oldest rows of an agent beyond the configured number, with their occurrences. Running rows
/// stay, because they prevent a second run. Rows with rejected actions or undone links stay as well, so that these are not
/// made again, and rows of recent changes. The agent's state still knows the settled slots.
pub(super) fn prune(memory: &Memory, tx: &mut Transaction<'_>, agent: &str) -> Result<()> {
    let keys = tx.keys::<Run>(&prefix(agent))?;
    let mut surplus = keys.len().saturating_sub(memory.config.agents.keep_rows);
    for key in keys {
        if surplus == 0 {
            break;
        }
        let Some(run) = tx.get::<Run>(&key)?.filter(|run| run.status != Status::Running) else { continue };
        surplus -= 1;
        // Needed rows are kept in addition to the configured number.
        if is_needed(memory, &run) {
            continue;
        }
        tx.delete::<Run>(&key)?;
        if let Some(key) = occurrence_key(&run) {
            tx.delete::<Occurrence>(&key)?;
        }
    }
    Ok(())
}

/// Whether a row is kept however many rows there are.
fn is_needed(memory: &Memory, run: &Run) -> bool {
    let is_recent = run.started.plus(CHANGES_KEPT_FOR) > memory.now();
    (is_recent && run.applied_actions().next().is_some())
        || run.actions.iter().any(|action| action.state == ActionState::Rejected)
        || run.unwanted_links().next().is_some()
}

/// Writes the row of a run after a review.
pub(crate) fn put_reviewed(tx: &mut Transaction<'_>, row: &Run) -> Result<()> {
    let mut state = state::get(tx, &row.agent)?;
    state.record_review(row);
    tx.put(&row.key(), row)?;
    state::put(tx, &row.agent, &state)
}

/// Marks a run whose actions were undone as reverted. Returns its row.
pub(crate) fn set_reverted(memory: &Memory, run: &Run, message: String) -> Result<Run> {
    let committed = memory.store.transact(cause(memory, &run.agent, Some(run.id)), |tx| {
        let row = Run { status: Status::Reverted, message: Some(message.clone()), ..get(tx, run)? };
        put_reviewed(tx, &row)?;
        Ok(row)
    })?;
    Ok(committed.value)
}
