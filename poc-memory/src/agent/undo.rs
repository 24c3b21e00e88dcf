//! Undoing a run: its writes backwards, checked one action at a time.

use super::ledger::{self, ActionState, Run};
use crate::error::{Error, Result};
use crate::graph::{NodeId, Visit};
use crate::memory::Memory;
use crate::memory::undo::{Item, is_as_left, restore};
use crate::store::{Cause, Tx, Txn, Write};

/// Undoes a run: every record its actions wrote goes back to what it was, unless it was changed
/// since; such an action stays as it is and is reported. What use has taught since is no change: a
/// weight keeps it and loses what the run did to it, and ties of notes that were remembered together do
/// not hold a note of the run. Visits stay: the agent has seen the nodes.
///
/// # Errors
/// `conflict` when the run applied nothing or is undone already, `not_found` when the log no
/// longer holds it.
pub fn undo(memory: &Memory, run: &Run) -> Result<Vec<Item>> {
    let open = |run: &Run| run.applied().any(|action| !action.undone());
    let Some(seq) = run.seq.filter(|_| run.applied().next().is_some()) else {
        return Err(Error::conflict(format!("the run `{}` applied nothing", run.id)));
    };
    if !open(run) {
        return Err(Error::conflict(format!("the run `{}` is undone already", run.id)));
    }
    let txn = memory.store.txn(seq)?.filter(|txn| txn.cause.run == Some(run.id)).ok_or_else(|| {
        Error::not_found(format!("the log no longer holds what the run `{}` wrote", run.id))
    })?;
    let cause = Cause { run: Some(run.id), ..memory.cause("manual", "agent undo") };
    let committed = memory.store.transact(cause, |tx| {
        let mut row = ledger::get(tx, run)?;
        let mut items = Vec::new();
        // The last action first: a later one may have built on an earlier one.
        for action in row.actions.iter_mut().rev().filter(|action| action.state == ActionState::Applied) {
            let refused = restore(tx, writes(&txn, action.writes), &memory.config)?;
            if refused.is_none() {
                action.state = ActionState::Undone;
            }
            items.push(Item { summary: action.summary.clone(), refused });
        }
        items.reverse();
        for write in writes(&txn, row.replays) {
            // A node used since keeps its place on the ladder.
            if is_as_left(write, tx.get_raw(write.table, &write.key)?.as_deref())? {
                tx.put_raw(write.table, &write.key, write.before.clone())?;
            }
        }
        row.visited.iter().try_for_each(|&id| forget_version(tx, &row.agent, id))?;
        tx.put(&row.key(), &row)?;
        Ok(items)
    })?;
    Ok(committed.value)
}

/// A visit of the version that the run made of a node is one of the version before it now: the next
/// edit gets the same number again and must not count as seen.
fn forget_version(tx: &mut Tx<'_>, agent: &str, id: NodeId) -> Result<()> {
    let (Some(node), Some(visit)) = (tx.node(id)?, tx.visit(agent, id)?) else { return Ok(()) };
    if visit.version <= node.version {
        return Ok(());
    }
    tx.put_visit(agent, id, &Visit { version: node.version, ..visit })
}

fn writes(txn: &Txn, (from, to): (u32, u32)) -> &[Write] {
    txn.writes.get(from as usize..to as usize).unwrap_or(&[])
}
