//! Undoing a run: its writes backwards, checked one action at a time.

use super::ledger::{self, ActionState, Run};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::graph::{Activity, EdgeKind, Node, NodeId, Visit};
use crate::memory::{Memory, weigh};
use crate::rank::decay::{decayed, lambda};
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

/// Puts records back to what they were before, all or none. Returns why not.
fn restore(tx: &mut Tx<'_>, writes: &[Write], config: &Config) -> Result<Option<String>> {
    // What was counted was seen, whatever is undone, and others have counted since.
    let own = || writes.iter().filter(|write| write.table != Table::Samples);
    let mut used = Vec::new();
    for write in own() {
        let now = tx.get_raw(write.table, &write.key)?;
        if is_as_left(write, now.as_deref())? {
            continue;
        }
        match taken_back(tx, write, now.as_deref(), config)? {
            Some(activity) => used.push(activity),
            None => return Ok(Some(format!("{} changed since", record(tx, write)?))),
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
    for (id, activity) in used {
        if tx.node(id)?.is_some() {
            tx.put_activity(id, &activity)?;
        }
    }
    Ok(None)
}

/// The activity of a node that was used since, without what the run did to its weight: what is left of
/// that by now. `None` when the record is another one, or was changed otherwise than by use.
fn taken_back(
    tx: &Tx<'_>,
    write: &Write,
    now: Option<&[u8]>,
    config: &Config,
) -> Result<Option<(NodeId, Activity)>> {
    let (Table::Activity, Some(left), Some(now)) = (write.table, write.after.as_deref(), now) else {
        return Ok(None);
    };
    let (left, now) = (Activity::decode(left)?, Activity::decode(now)?);
    let Some(node) = node_of(tx, write)?.filter(|_| now.accesses > left.accesses) else { return Ok(None) };
    let before = match write.before.as_deref() {
        Some(before) => Activity::decode(before)?,
        None => Activity::born(node.created, 1.0),
    };
    let (lambda, bounds) = (lambda(&config.weight, node.category), &config.weight);
    let moved = left.weight - weigh::current(&before, lambda, bounds, left.touched);
    let remains = decayed(moved, lambda, now.touched.seconds_since(left.touched));
    let weight = (now.weight - remains).clamp(bounds.floor, bounds.cap);
    Ok(Some((node.id, Activity { weight, ..now })))
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

/// Why a node the run made cannot go: something was tied to it since, otherwise than by remembering.
fn in_use(tx: &Tx<'_>, node: &Node, writes: &[Write]) -> Result<Option<String>> {
    let own: HashSet<(NodeId, NodeId)> = writes
        .iter()
        .filter(|write| write.table == Table::Edges)
        .filter_map(|write| write.after.as_deref().map(crate::graph::Edge::decode))
        .map(|edge| edge.map(|edge| (edge.src, edge.dst)))
        .collect::<Result<_>>()?;
    let learned = |kind| matches!(kind, EdgeKind::CoRetrieval | EdgeKind::CoTraversal);
    let tied = tx
        .edges(node.id)?
        .into_iter()
        .any(|edge| !learned(edge.kind) && !own.contains(&(edge.src, edge.dst)));
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
    Ok(match node_of(tx, write)? {
        Some(node) => format!("{what} `{}`", node.key),
        None => format!("{what} is gone or"),
    })
}

/// The node a record belongs to.
fn node_of(tx: &Tx<'_>, write: &Write) -> Result<Option<Node>> {
    let id = write.key.get(..16).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()).map(NodeId::from_bytes);
    Ok(id.map(|id| tx.node(id)).transpose()?.flatten())
}
