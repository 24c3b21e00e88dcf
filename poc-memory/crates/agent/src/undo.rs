//! Undo of a run, which reverts its writes in reverse order, one action at a time; and undo of such an undo.

use super::ledger::{self, ActionRecord, ActionState, Run, Status};
use super::{action_group, apply};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, NodeId, RunId, Visit, cancellation, plural, provenance};
use poc_notes::Memory;
use poc_notes::history;
use poc_notes::undo::{UNDO_OP, UndoItem, UndoReport, restore};
use poc_store::{Cause, LoggedTransaction, Record, Table, Transaction, Write, WriteRange};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Who undoes, and by which op, for the cause of the transaction.
#[derive(Clone, Copy)]
struct UndoCall<'a> {
    actor: &'a str,
    op: &'a str,
}

/// The op that undoes runs and nothing else.
const AGENT_UNDO_OP: &str = "agent undo";

/// Whether an op undoes changes.
fn is_undo_op(op: &str) -> bool {
    [AGENT_UNDO_OP, UNDO_OP].contains(&op)
}

/// Whether a transaction is the undo of an undo, so that what that had undone has an effect again.
///
/// # Errors
/// Those of the log.
pub fn is_redo(memory: &Memory, cause: &Cause) -> Result<bool> {
    if !is_undo_op(&cause.op) {
        return Ok(false);
    }
    for seq in &cause.undoes {
        if memory.store.transaction_of_any_tenant(*seq)?.is_some_and(|txn| is_undo_op(&txn.cause.op)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A person who undoes a run with [`undo`]. `undo` without a number takes it for a change made by hand.
const BY_AGENT_UNDO: UndoCall<'static> = UndoCall { actor: "manual", op: AGENT_UNDO_OP };

/// A person who undoes a run or a change of it with the op `undo`, which does not undo its own undos unless it gets
/// their numbers.
const BY_UNDO: UndoCall<'static> = UndoCall { actor: "manual", op: UNDO_OP };

/// Undoes a run, including its approved proposals: all actions, or those with the given numbers (the first is
/// 1). Every record that they wrote is restored. An action whose records were changed since is kept and
/// reported. Learning from use does not count as such a change: a weight keeps what was learned and loses
/// only the change by the run, and learned edges do not prevent the deletion of a note that the run created.
/// When no action is left, replayed notes return to their earlier interval, too. This is reported only when
/// nothing else was undone, or when a note was replayed again since and stays. Visits stay: the agent has
/// seen the nodes. Proposals that a person had approved wait for a decision again.
///
/// # Errors
/// `conflict` when the run changed nothing or is already undone, `invalid_argument` when one of the actions
/// cannot be undone, `not_found` when the log no longer contains its transaction.
pub fn undo(memory: &Memory, run: &Run, only: &[u16]) -> Result<UndoReport> {
    undo_as(memory, run, only, BY_AGENT_UNDO)
}

/// Undoes a run as [`undo`] does, by the op `undo`.
///
/// # Errors
/// Those of [`undo`].
pub fn undo_run(memory: &Memory, run: &Run) -> Result<UndoReport> {
    undo_as(memory, run, &[], BY_UNDO)
}

/// Undoes a run as [`undo`] does, on behalf of the agent: no person has decided it, so `undo` without a number does not
/// take it for the last change made by hand.
pub(super) fn undo_by_agent(memory: &Memory, run: &Run) -> Result<UndoReport> {
    undo_as(memory, run, &[], UndoCall { actor: &provenance::of_agent(&run.agent), op: AGENT_UNDO_OP })
}

fn undo_as(memory: &Memory, run: &Run, only: &[u16], call: UndoCall<'_>) -> Result<UndoReport> {
    let replayed = run.has_replayed();
    let already_undone = || Error::conflict(format!("the run `{}` is already undone", run.id));
    if !replayed && run.applied_actions().next().is_none() {
        if run.actions.iter().any(waits_again) {
            return Err(already_undone().hint(format!(
                "its approved proposals wait for a decision again: `poc-memory agent review {}`",
                run.id
            )));
        }
        return Err(Error::conflict(format!("the run `{}` changed nothing that can be undone", run.id)));
    }
    if !replayed && run.applied_actions().all(|action| action.is_undone()) {
        return Err(already_undone());
    }
    require_undoable(run, only)?;
    let is_selected = |at: usize, action: &ActionRecord| {
        let is_named = only.is_empty() || number(at).is_some_and(|number| only.contains(&number));
        is_named && action.state == ActionState::Applied
    };
    let with_replays = |row: &Run| only.is_empty() || row.applied_actions().all(|action| action.is_undone());
    undo_selected(memory, run, call, is_selected, with_replays)
}

/// Undoes approved proposals of a run, given by the numbers of their actions, on behalf of the agent. They wait for a
/// decision again. The other actions and the replays of the run stay.
///
/// # Errors
/// `not_found` when the log no longer contains their transaction.
pub(super) fn undo_approved(memory: &Memory, run: &Run, approved: &[u16]) -> Result<UndoReport> {
    let is_selected = |at: usize, action: &ActionRecord| {
        let is_approved = number(at).is_some_and(|number| approved.contains(&number));
        is_approved && action.state == ActionState::Applied
    };
    // The log need not contain the transactions of the other actions any more.
    let actions = run.actions.iter().enumerate().filter(|(at, action)| is_selected(*at, action));
    let actions = actions.map(|(_, action)| action.clone()).collect();
    let actor = provenance::of_agent(&run.agent);
    let call = UndoCall { actor: &actor, op: AGENT_UNDO_OP };
    undo_selected(memory, &Run { seq: None, actions, ..run.clone() }, call, is_selected, |_| false)
}

/// Undoes the actions for which `is_selected` returns true, and the replays if `with_replays` returns true for
/// the resulting row.
fn undo_selected(
    memory: &Memory,
    run: &Run,
    call: UndoCall<'_>,
    is_selected: impl Fn(usize, &ActionRecord) -> bool,
    with_replays: impl Fn(&Run) -> bool,
) -> Result<UndoReport> {
    let memory = &memory.of(&run.tenant);
    let txns = transactions(memory, run)?;
    let cause = Cause { run: Some(run.id), ..memory.cause(call.actor, call.op) };
    let committed = memory.store.transact(cause, |tx| {
        let mut row = ledger::get(tx, run)?;
        let before = transactions_in_effect(&row);
        let mut items = restore_actions(memory, tx, &txns, &mut row, &is_selected, ActionState::Undone)?;
        if row.actions.iter().any(|action| action.state == ActionState::Proposed) {
            row.status = apply::status(&row);
        }
        if let Some(seq) = row.seq.filter(|_| with_replays(&row)) {
            let replays = writes(&txns, seq, row.replays);
            let kept = restore_replay_intervals(tx, replays)?;
            if kept > 0 || items.is_empty() {
                let were = if kept == 1 { "was" } else { "were" };
                let refused = (kept > 0).then(|| format!("{kept} of them {were} replayed again since"));
                let summary = format!("replay of {}", plural(replays.len() as u64, "note"));
                items.push(UndoItem { summary, refused });
            }
            row.replays = WriteRange::default();
        }
        set_undoes(tx, &before, &row);
        row.visited.iter().try_for_each(|&id| forget_version(tx, &row.agent, id))?;
        ledger::put_reviewed(tx, &row)?;
        Ok((items, is_final(&row, tx.seq())))
    })?;
    let (items, is_final) = committed.value;
    let final_run = Some(run.id).filter(|_| is_final && any_done(&items));
    let seq = Some(committed.seq).filter(|_| !is_final);
    // A note that also has a file has a name of it since, so the run that created the note is not undone.
    Ok(UndoReport { seq, items, final_run, differs_from_files: false })
}

/// Whether the undo of a run, given by the number of its transaction, cannot be undone, because no action is in the
/// state that it left: it undid only replays, or what it undid was decided again since.
fn is_final(run: &Run, seq: u64) -> bool {
    !run.actions.iter().any(|action| is_undone_by(action, seq))
}

/// The transactions of a run that still have an effect: an action is in the state that the transaction left,
/// or the run's replays are not undone.
fn transactions_in_effect(run: &Run) -> BTreeSet<u64> {
    let replayed = run.seq.filter(|_| run.has_replayed());
    let changed = run.actions.iter().filter(|action| is_changed(action));
    changed.filter_map(|action| action.seq).chain(replayed).collect()
}

/// Records the transactions that had an effect before the undo and have none now.
fn set_undoes(tx: &mut Transaction<'_>, before: &BTreeSet<u64>, row: &Run) {
    for seq in before.difference(&transactions_in_effect(row)) {
        tx.set_undoes(*seq);
    }
}

/// Undoes a change of notes, given by the number of its transaction: one that no run made (see
/// [`poc_notes::undo::undo`]), one of a run, or the undo of a run, whose actions are then applied again. Replayed notes
/// keep the interval that the undo has given them.
///
/// # Errors
/// Those of [`poc_notes::undo::undo`]; `conflict` when no action of the run is in the state that this change
/// left.
pub fn undo_change(memory: &Memory, seq: u64) -> Result<UndoReport> {
    // A person of the default tenant undoes the runs of all tenants.
    let cause = memory.store.transaction_of_any_tenant(seq)?.map(|txn| txn.cause);
    let Some((id, op)) = cause.and_then(|cause| Some((cause.run?, cause.op))) else {
        return poc_notes::undo::undo(memory, seq);
    };
    let run = ledger::find(memory, &id.to_string()).map_err(|error| match error.code {
        Code::NotFound => Error::not_found(format!("the run of change {seq} is no longer stored")),
        _ => error,
    })?;
    // Rows of earlier releases record the transaction that applied an action, also after its undo.
    if is_undo_op(&op) && !is_final(&run, seq) {
        return redo(memory, &run, seq);
    }
    let applied = applied_again(memory, &run, seq)?;
    let is_selected = |_, action: &ActionRecord| {
        action.state == ActionState::Applied && action.seq.is_some_and(|seq| applied.contains(&seq))
    };
    let is_replayed = run.seq == Some(seq) && run.has_replayed();
    if is_replayed || run.actions.iter().any(|action| is_selected(0, action)) {
        let with_replays = |row: &Run| row.seq == Some(seq) && row.has_replayed();
        return undo_selected(memory, &run, BY_UNDO, is_selected, with_replays);
    }
    Err(Error::conflict(format!("nothing is left to undo of change {seq} (`{op}`) of the run `{id}`")))
}

/// Whether the undo of a run with this number can be undone: it is not final, and the row of the run is still stored.
pub fn can_undo_undo(memory: &Memory, run: RunId, seq: u64) -> Result<bool> {
    match ledger::find(memory, &run.to_string()) {
        Ok(run) => Ok(!is_final(&run, seq)),
        Err(error) if error.code == Code::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The transactions that applied the actions of transaction `seq` of a run: that transaction itself, and
/// those that undid an undo of it.
fn applied_again(memory: &Memory, run: &Run, seq: u64) -> Result<BTreeSet<u64>> {
    let memory = memory.of(&run.tenant);
    let mut applied = BTreeSet::from([seq]);
    let candidates: BTreeSet<u64> = run.actions.iter().filter_map(|action| action.seq).collect();
    for candidate in candidates {
        // Follows the chain of undos back; every second transaction in it applied the actions.
        let (mut last, mut is_undo) = (candidate, false);
        while last > seq {
            let Some(txn) = memory.store.transaction(last)? else { break };
            let Some(&earlier) = txn.cause.undoes.iter().max().filter(|earlier| **earlier < last) else {
                break;
            };
            (last, is_undo) = (earlier, !is_undo);
        }
        if last == seq && !is_undo {
            applied.insert(candidate);
        }
    }
    Ok(applied)
}

/// Whether an action is in the state that the undo with this number left.
fn is_undone_by(action: &ActionRecord, seq: u64) -> bool {
    action.seq == Some(seq) && matches!(action.state, ActionState::Undone | ActionState::Proposed)
}

/// Whether a transaction has applied or undone an action: it may be an approved proposal that waits again.
fn is_changed(action: &ActionRecord) -> bool {
    action.is_applied() || action.state == ActionState::Proposed
}

/// Whether an action is an approved proposal that was undone.
fn waits_again(action: &ActionRecord) -> bool {
    action.state == ActionState::Proposed && action.seq.is_some()
}

/// Whether something was undone.
fn any_done(items: &[UndoItem]) -> bool {
    items.iter().any(|item| item.refused.is_none())
}

/// Applies the actions again that the transaction with this number has undone.
fn redo(memory: &Memory, run: &Run, seq: u64) -> Result<UndoReport> {
    let memory = &memory.of(&run.tenant);
    let txns = transactions(memory, run)?;
    let cause = Cause { run: Some(run.id), ..memory.cause(BY_UNDO.actor, BY_UNDO.op) };
    let committed = memory.store.transact(cause, |tx| {
        let mut row = ledger::get(tx, run)?;
        let is_selected = |_, action: &ActionRecord| is_undone_by(action, seq);
        let before = transactions_in_effect(&row);
        let items = restore_actions(memory, tx, &txns, &mut row, is_selected, ActionState::Applied)?;
        set_undoes(tx, &before, &row);
        let undo = txns.get(&seq).map_or(&[][..], |txn| &txn.writes);
        undo.iter().try_for_each(|write| restore_visit(tx, write))?;
        row.visited.iter().try_for_each(|&id| forget_version(tx, &row.agent, id))?;
        if any_done(&items) {
            if row.status == Status::Reverted {
                row.message = None;
            }
            row.status = apply::status(&row);
        }
        ledger::put_reviewed(tx, &row)?;
        Ok(items)
    })?;
    let done = any_done(&committed.value);
    let undo_of = |item: UndoItem| UndoItem { summary: format!("undo of {}", item.summary), ..item };
    let items = committed.value.into_iter().map(undo_of).collect();
    Ok(UndoReport { seq: done.then_some(committed.seq), items, final_run: None, differs_from_files: false })
}

/// Restores the records of each selected action to what they were before it, starting with the latest action, because
/// later writes may depend on earlier ones. Actions whose records were changed since are kept. The others get the state
/// `state`, or wait for a decision again if they were approved proposals.
fn restore_actions(
    memory: &Memory,
    tx: &mut Transaction<'_>,
    txns: &BTreeMap<u64, LoggedTransaction>,
    row: &mut Run,
    is_selected: impl Fn(usize, &ActionRecord) -> bool,
    state: ActionState,
) -> Result<Vec<UndoItem>> {
    let mut order: Vec<usize> = (0..row.actions.len()).collect();
    order.sort_by_key(|&at| Reverse(row.actions.get(at).map(|action| (action.seq, action.writes))));
    let mut items = BTreeMap::new();
    for at in order {
        let Some(action) = row.actions.get_mut(at).filter(|action| is_selected(at, action)) else { continue };
        let Some(seq) = action.seq else { continue };
        let start = action_group::position(tx)?;
        let writes = writes(txns, seq, action.writes);
        let refused = restore(memory, tx, writes)?;
        if refused.is_none() {
            let reopens =
                writes.iter().any(|write| write.table == Table::Proposals && write.before.is_some());
            action.state = if reopens { ActionState::Proposed } else { state };
            (action.seq, action.writes) =
                (Some(tx.seq()), WriteRange { start, end: action_group::position(tx)? });
        }
        items.insert(at, UndoItem { summary: action.summary.clone(), refused });
    }
    Ok(items.into_values().collect())
}

/// The transactions that applied or undid the actions of a run, by number.
fn transactions(memory: &Memory, run: &Run) -> Result<BTreeMap<u64, LoggedTransaction>> {
    let mut txns = BTreeMap::new();
    for seq in
        run.actions.iter().filter(|action| is_changed(action)).filter_map(|action| action.seq).chain(run.seq)
    {
        let txn = memory.store.transaction(seq)?.filter(|txn| txn.cause.run == Some(run.id));
        let txn = txn.ok_or_else(|| {
            history::missing_change(memory, seq).unwrap_or_else(|| {
                Error::not_found(format!("the log no longer contains the changes of the run `{}`", run.id))
            })
        })?;
        txns.insert(seq, txn);
    }
    Ok(txns)
}

/// Undoes the runs that started at an instant or later, of one agent or all agents, the latest first: for the default
/// tenant those of all tenants, for any other its own. Runs without anything to undo are skipped. Returns each run with
/// what was undone of it.
///
/// # Errors
/// Those of [`undo`] except that there is nothing to undo. The runs undone before the error stay undone.
pub fn undo_since(
    memory: &Memory,
    since: Timestamp,
    agent: Option<&str>,
) -> Result<Vec<(RunId, UndoReport)>> {
    let mut undone = Vec::new();
    for run in ledger::rows_since(memory, since)?.into_iter().rev() {
        cancellation::check()?;
        let is_selected = agent.is_none_or(|agent| run.agent == agent)
            && run.finished.is_some()
            && ledger::is_visible(memory, &run);
        if is_selected && (run.has_replayed() || run.applied_actions().any(|action| !action.is_undone())) {
            undone.push((run.id, undo_run(memory, &run)?));
        }
    }
    Ok(undone)
}

/// Restores the replay intervals of notes and keeps what was learned from use since. Returns the number of
/// notes that were replayed again since and keep their intervals.
fn restore_replay_intervals(tx: &mut Transaction<'_>, moved: &[Write]) -> Result<usize> {
    let mut kept = 0;
    for write in moved {
        let now = tx.get_raw(write.table, &write.key)?;
        let (Some(before), Some(left), Some(now)) = (&write.before, &write.after, &now) else { continue };
        let (before, left) = (Activity::decode(before)?, Activity::decode(left)?);
        let now = Activity::decode(now)?;
        let place = |activity: &Activity| (activity.replay_interval, activity.replayed);
        let Some(id) = write.node_id().filter(|_| place(&now) == place(&left)) else {
            kept += 1;
            continue;
        };
        let (replay_interval, replayed) = place(&before);
        tx.put_activity(id, &Activity { replay_interval, replayed, ..now })?;
    }
    Ok(kept)
}

/// Checks that the numbers are those of actions that can be undone.
fn require_undoable(run: &Run, only: &[u16]) -> Result<()> {
    let undoable = numbers(run, |action| action.state == ActionState::Applied);
    let Some(unknown) = only.iter().find(|wanted| !undoable.contains(wanted)) else { return Ok(()) };
    let numbers: Vec<String> = undoable.iter().map(u16::to_string).collect();
    Err(Error::invalid(format!("action {unknown} of the run cannot be undone"))
        .hint(format!("actions that can be undone: {}", numbers.join(", ")))
        .field("only"))
}

/// The numbers of the selected actions of a run.
fn numbers(run: &Run, is_selected: impl Fn(&ActionRecord) -> bool) -> Vec<u16> {
    let selected = (0..).zip(&run.actions).filter(|(_, action)| is_selected(action));
    selected.filter_map(|(at, _)| number(at)).collect()
}

/// Number of an action as shown to people, from its index.
fn number(at: usize) -> Option<u16> {
    u16::try_from(at + 1).ok()
}

/// Lowers the version of a visit that refers to a version which the run created: the next edit gets the same
/// version number and must not count as seen.
fn forget_version(tx: &mut Transaction<'_>, agent: &str, id: NodeId) -> Result<()> {
    let (Some(node), Some(visit)) = (tx.node(id)?, tx.visit(agent, id)?) else { return Ok(()) };
    if visit.version <= node.version {
        return Ok(());
    }
    tx.put_visit(agent, id, &Visit { version: node.version, ..visit })
}

/// Restores a visit whose version was lowered, unless the agent has visited the note again.
fn restore_visit(tx: &mut Transaction<'_>, write: &Write) -> Result<()> {
    let is_lowered = write.table == Table::Visits && write.before.is_some() && write.after.is_some();
    if is_lowered && tx.get_raw(write.table, &write.key)? == write.after {
        tx.put_raw(write.table, &write.key, write.before.clone())?;
    }
    Ok(())
}

fn writes(txns: &BTreeMap<u64, LoggedTransaction>, seq: u64, range: WriteRange) -> &[Write] {
    txns.get(&seq).map_or(&[], |txn| txn.writes_in(range))
}
