//! Undo of a run: reverts its writes in reverse order, one action at a time.

use super::ledger::{self, ActionState, Run};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, NodeId, RunId, Visit};
use poc_notes::Memory;
use poc_notes::history;
use poc_notes::undo::{UndoItem, restore};
use poc_store::{Cause, LoggedTransaction, Record, Transaction, Write};
use std::collections::BTreeMap;

/// Undoes a run, including its approved proposals: all actions, or those with the given numbers (the first
/// is 1). Every record they wrote is restored, unless it was changed since; such an action stays and is reported.
/// Learning from use is not such a change: a weight keeps it and loses only the change by the run, and edges
/// between notes recalled together do not protect a note of the run. When no action is left, replayed notes
/// return to their earlier interval, too. This is reported only when nothing else was undone, or when a note
/// was replayed again since and stays. Visits stay: the agent has seen the nodes.
///
/// # Errors
/// `conflict` when the run changed nothing or is already undone, `invalid_argument` when one of the actions
/// cannot be undone, `not_found` when the log no longer contains its transaction.
pub fn undo(memory: &Memory, run: &Run, only: &[u16]) -> Result<Vec<UndoItem>> {
    let memory = &memory.of(&run.tenant);
    let replayed = run.replays.0 < run.replays.1;
    if !replayed && run.applied().next().is_none() {
        return Err(Error::conflict(format!("the run `{}` changed nothing that can be undone", run.id)));
    }
    if !replayed && run.applied().all(|action| action.undone()) {
        return Err(Error::conflict(format!("the run `{}` is already undone", run.id)));
    }
    check(run, only)?;
    let mut txns: BTreeMap<u64, LoggedTransaction> = BTreeMap::new();
    for seq in run.applied().filter_map(|action| action.seq).chain(run.seq) {
        let txn =
            memory.store.transaction(seq)?.filter(|txn| txn.cause.run == Some(run.id)).ok_or_else(|| {
                history::dropped(memory, seq).unwrap_or_else(|| {
                    Error::not_found(format!(
                        "the log no longer contains the changes of the run `{}`",
                        run.id
                    ))
                })
            })?;
        txns.insert(seq, txn);
    }
    let cause = Cause { run: Some(run.id), ..memory.cause("manual", "agent undo") };
    let committed = memory.store.transact(cause, |tx| {
        let mut row = ledger::get(tx, run)?;
        // Later writes may depend on earlier ones, so undo them first.
        let mut order: Vec<usize> = (0..row.actions.len()).collect();
        order.sort_by_key(|&at| {
            std::cmp::Reverse(row.actions.get(at).map(|action| (action.seq, action.writes)))
        });
        let mut items = BTreeMap::new();
        for at in order {
            let Some(action) = row.actions.get_mut(at) else { continue };
            let meant = only.is_empty() || number(at).is_some_and(|number| only.contains(&number));
            let is_meant = |_: &u64| meant && action.state == ActionState::Applied;
            let Some(seq) = action.seq.filter(is_meant) else { continue };
            let refused = restore(memory, tx, writes(&txns, seq, action.writes))?;
            if refused.is_none() {
                action.state = ActionState::Undone;
            }
            items.insert(at, UndoItem { summary: action.summary.clone(), refused });
        }
        let mut items: Vec<UndoItem> = items.into_values().collect();
        let all = only.is_empty() || row.applied().all(|action| action.undone());
        if let Some(seq) = row.seq.filter(|_| all) {
            let moved = writes(&txns, seq, row.replays);
            let kept = replay_back(tx, moved)?;
            if kept > 0 || items.is_empty() {
                let refused = (kept > 0).then(|| format!("{kept} of them were replayed again since"));
                let summary = match moved.len() {
                    1 => "replay 1 note".to_owned(),
                    notes => format!("replay {notes} notes"),
                };
                items.push(UndoItem { summary, refused });
            }
            row.replays = (0, 0);
        }
        row.visited.iter().try_for_each(|&id| forget_version(tx, &row.agent, id))?;
        tx.put(&row.key(), &row)?;
        Ok(items)
    })?;
    Ok(committed.value)
}

/// Undoes the runs that started at an instant or later, of one agent or all agents, the latest first: for the default
/// tenant those of all tenants, for any other its own. Runs without anything to undo are skipped. Returns each undone
/// run with its items.
///
/// # Errors
/// Those of [`undo`] except that there is nothing to undo. The runs undone before the error stay undone.
pub fn undo_since(
    memory: &Memory,
    since: Timestamp,
    agent: Option<&str>,
) -> Result<Vec<(RunId, Vec<UndoItem>)>> {
    let mut undone = Vec::new();
    for run in ledger::rows_since(memory, since)?.into_iter().rev() {
        let is_meant = agent.is_none_or(|agent| run.agent == agent)
            && run.finished.is_some()
            && ledger::is_visible(memory, &run);
        let replayed = run.replays.0 < run.replays.1;
        if is_meant && (replayed || run.applied().any(|action| !action.undone())) {
            undone.push((run.id, undo(memory, &run, &[])?));
        }
    }
    Ok(undone)
}

/// Restores the replay intervals of notes and keeps what was learned from use since. Returns how many were
/// replayed again since and stay.
fn replay_back(tx: &mut Transaction<'_>, moved: &[Write]) -> Result<usize> {
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
fn check(run: &Run, only: &[u16]) -> Result<()> {
    let left: Vec<u16> = (0..)
        .zip(&run.actions)
        .filter(|(_, action)| action.state == ActionState::Applied)
        .filter_map(|(at, _)| number(at))
        .collect();
    let Some(unknown) = only.iter().find(|wanted| !left.contains(wanted)) else { return Ok(()) };
    let numbers: Vec<String> = left.iter().map(u16::to_string).collect();
    Err(Error::invalid(format!("action {unknown} of the run cannot be undone"))
        .hint(format!("actions that can be undone: {}", numbers.join(", ")))
        .field("only"))
}

/// Number of an action as shown to people, from its index.
fn number(at: usize) -> Option<u16> {
    u16::try_from(at + 1).ok()
}

/// Lowers the version of a visit that refers to a version the run created: the next edit gets the same number
/// again and must not count as seen.
fn forget_version(tx: &mut Transaction<'_>, agent: &str, id: NodeId) -> Result<()> {
    let (Some(node), Some(visit)) = (tx.node(id)?, tx.visit(agent, id)?) else { return Ok(()) };
    if visit.version <= node.version {
        return Ok(());
    }
    tx.put_visit(agent, id, &Visit { version: node.version, ..visit })
}

fn writes(txns: &BTreeMap<u64, LoggedTransaction>, seq: u64, (from, to): (u32, u32)) -> &[Write] {
    txns.get(&seq).and_then(|txn| txn.writes.get(from as usize..to as usize)).unwrap_or(&[])
}
