//! Undoing a run: its writes backwards, checked one action at a time.

use super::ledger::{self, Run};
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId, Visit};
use crate::memory::Memory;
use crate::store::{Cause, Record, Table, Tx, Txn, Write};
use std::collections::HashSet;

/// What became of one part of a run that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The action in words.
    pub summary: String,
    /// Why it could not be undone; `None` when it was.
    pub refused: Option<String>,
}

/// Undoes a run: every record its actions wrote goes back to what it was, unless it was changed
/// since; such an action stays as it is and is reported. Visits stay: the agent has seen the nodes.
///
/// # Errors
/// `conflict` when the run applied nothing or is undone already, `not_found` when the log no
/// longer holds it.
pub fn undo(memory: &Memory, run: &Run) -> Result<Vec<Item>> {
    let open = |run: &Run| run.applied().any(|action| !action.undone);
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
        for action in row.actions.iter_mut().rev().filter(|action| action.applied() && !action.undone) {
            let refused = restore(tx, writes(&txn, action.writes))?;
            action.undone = refused.is_none();
            items.push(Item { summary: action.summary.clone(), refused });
        }
        items.reverse();
        let replays = writes(&txn, row.replays);
        for write in replays {
            // A node used since keeps its place on the ladder.
            restore(tx, std::slice::from_ref(write))?;
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

/// Puts records back to what they were before, all or none. Returns why not.
fn restore(tx: &mut Tx<'_>, writes: &[Write]) -> Result<Option<String>> {
    // What was counted was seen, whatever is undone, and others have counted since.
    let own = || writes.iter().filter(|write| write.table != Table::Samples);
    for write in own() {
        if !is_as_left(write, tx.get_raw(write.table, &write.key)?.as_deref())? {
            return Ok(Some(format!("{} changed since", record(tx, write)?)));
        }
    }
    let made: Vec<Node> = writes
        .iter()
        .filter(|write| write.table == Table::Nodes && write.before.is_none())
        .filter_map(|write| write.after.as_deref().map(Node::decode))
        .collect::<Result<_>>()?;
    for node in &made {
        if let Some(why) = in_use(tx, node, writes)? {
            return Ok(Some(why));
        }
    }
    for node in made {
        tx.delete_node(node.id)?;
    }
    for write in own() {
        tx.put_raw(write.table, &write.key, write.before.clone())?;
    }
    Ok(None)
}

/// Whether a record is as the run left it. That a note was given to another store since is no change
/// of it.
fn is_as_left(write: &Write, now: Option<&[u8]>) -> Result<bool> {
    let left = write.after.as_deref();
    if left == now || write.table != Table::Nodes {
        return Ok(left == now);
    }
    let (Some(left), Some(now)) = (left, now) else { return Ok(false) };
    let (left, now) = (Node::decode(left)?, Node::decode(now)?);
    Ok(Node { origin: now.origin, ..left } == now)
}

/// Why a node the run made cannot go: something was tied to it since.
fn in_use(tx: &Tx<'_>, node: &Node, writes: &[Write]) -> Result<Option<String>> {
    let own: HashSet<(NodeId, NodeId)> = writes
        .iter()
        .filter(|write| write.table == Table::Edges)
        .filter_map(|write| write.after.as_deref().map(crate::graph::Edge::decode))
        .map(|edge| edge.map(|edge| (edge.src, edge.dst)))
        .collect::<Result<_>>()?;
    let tied = tx.edges(node.id)?.into_iter().any(|edge| !own.contains(&(edge.src, edge.dst)));
    Ok(tied.then(|| format!("`{}` was tied to other notes since", node.key)))
}

/// A record as people call it.
fn record(tx: &Tx<'_>, write: &Write) -> Result<String> {
    let what = match write.table {
        Table::Nodes => "the note",
        Table::Activity => "the weight of the note",
        Table::Edges | Table::EdgesIn => "a link of the note",
        _ => "a record of the note",
    };
    let id = write.key.get(..16).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()).map(NodeId::from_bytes);
    let node = id.map(|id| tx.node(id)).transpose()?.flatten();
    Ok(match node {
        Some(node) => format!("{what} `{}`", node.key),
        None => format!("{what} is gone or"),
    })
}
