//! Applying a reply: actions, replays, visits and the run's row in one transaction.

use super::deed::{self, Deed};
use super::definition::Definition;
use super::ledger::{self, ActionState, Run, Status};
use super::permit::{Intent, Permit, Permitted, Rejection};
use super::proposal::Proposal;
use super::reply::Answer;
use super::selection::{Selection, Shown};
use crate::error::{Error, Result};
use crate::graph::{Activity, NodeId, RunId, Visit, VisitOutcome};
use crate::memory::Memory;
use crate::memory::insert::Prepared;
use crate::store::{Cause, Tx};
use crate::time::Timestamp;
use std::collections::HashSet;

/// Days between two replays of a node, shortest first; the last one repeats.
const LADDER: [u16; 5] = [1, 3, 7, 14, 30];

/// Applies an answer and ends the run's row with what became of it. With `dry` everything is done
/// but kept: the row tells what would have been applied.
///
/// # Errors
/// Nothing was written. `conflict` when the row was ended by somebody else in the meantime: a late
/// answer is discarded.
pub(super) fn apply(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    answer: &Answer,
    mut row: Run,
    dry: bool,
) -> Result<Run> {
    row.notes.clone_from(&answer.notes);
    let plan = plan(memory, definition, selection, answer, &mut row)?;
    let cause = Cause { run: Some(row.id), ..memory.cause(&definition.provenance(), "agent run") };
    let mut done = None;
    let committed = memory.store.transact(cause, |tx| {
        let work = Work { memory, definition, selection, now: memory.now() };
        let row = work.write(tx, &plan, row, dry)?;
        done = Some(row);
        // A transaction that fails writes nothing: that is what makes a dry run exact.
        if dry { Err(Error::internal("a dry run keeps nothing")) } else { Ok(()) }
    });
    match (done, committed) {
        (Some(row), Ok(_)) => Ok(row),
        (Some(row), Err(_)) if dry => Ok(row),
        (_, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::internal("the run's row got lost")),
    }
}

/// An action that may be done.
struct Planned {
    /// Its place among the row's actions.
    index: usize,
    intent: Intent,
    /// Whether a person has to decide first.
    proposed: bool,
    /// The place of the action it goes with.
    with: Option<usize>,
    /// The new node, embedded before the transaction.
    note: Option<Prepared>,
}

/// Judges every action and prepares what is slow.
fn plan(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    answer: &Answer,
    row: &mut Run,
) -> Result<Vec<Planned>> {
    let mut permit = Permit::new(memory, definition, row.mode.unwrap_or(definition.mode), selection)?;
    let mut planned = Vec::new();
    for action in &answer.actions {
        let index = row.actions.len();
        let mut entry = ledger::ActionRow::of(action, selection);
        let prepared = permit.check(action).and_then(|Permitted { intent, proposed }| {
            let note = deed::prepare(memory, &intent)?;
            Ok(Planned { index, intent, proposed, with: None, note })
        });
        match prepared {
            Ok(action) => planned.push(action),
            Err(refusal) => entry.refuse(refusal),
        }
        row.actions.push(entry);
    }
    keep_together(&mut planned);
    Ok(planned)
}

/// The parts of a note wait with the proposal to put them in its place: else they would stand beside it.
fn keep_together(planned: &mut [Planned]) {
    let retiring: Vec<(NodeId, usize)> = planned
        .iter()
        .filter(|action| action.proposed)
        .filter_map(|action| Some((action.intent.retires()?, action.index)))
        .collect();
    for action in planned {
        if let Intent::Insert { links, .. } = &action.intent
            && let Some((_, whole)) = retiring.iter().find(|(old, _)| links.contains(old))
        {
            (action.proposed, action.with) = (true, Some(*whole));
        }
    }
}

/// What the transaction needs.
struct Work<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    selection: &'a Selection,
    now: Timestamp,
}

impl Work<'_> {
    fn write(&self, tx: &mut Tx<'_>, plan: &[Planned], mut row: Run, dry: bool) -> Result<Run> {
        if !dry {
            ledger::expect_running(tx, &row)?;
        }
        let seq = tx.view().seq + 1;
        let changed = self.changed(tx)?;
        let mut touched = HashSet::new();
        let mut made = Vec::new();
        let deed = Deed { memory: self.memory, agent: &self.definition.name, now: self.now };
        for action in plan {
            let from = position(tx)?;
            let stale = action.intent.nodes().into_iter().find(|id| changed.contains(id));
            let Some(entry) = row.actions.get_mut(action.index) else { continue };
            if let Some(id) = stale {
                let name = self.selection.of(id).map_or("a node", |handle| handle.name.as_str());
                let why = format!("{name} was edited, superseded or deleted during the call");
                entry.refuse(Rejection::ChangedSinceRead.because(why));
            } else if action.proposed {
                entry.state = ActionState::Proposed;
                self.proposal(row.id, entry, action).put(tx)?;
            } else {
                match deed.act(tx, &action.intent, action.note.as_ref())? {
                    Ok(nodes) => {
                        (entry.seq, entry.writes) = (Some(seq), (from, position(tx)?));
                        touched.extend(action.intent.nodes());
                        made.extend(nodes);
                    }
                    Err(refusal) => entry.refuse(refusal),
                }
            }
        }
        let visited = self.visited(tx)?;
        let from = position(tx)?;
        if self.definition.execution.replay {
            visited.iter().try_for_each(|&id| self.replay(tx, id))?;
        }
        row.replays = (from, position(tx)?);
        for &id in &visited {
            self.visit(tx, id, touched.contains(&id), changed.contains(&id))?;
        }
        if self.definition.freshness.ignore_own_writes {
            made.into_iter().try_for_each(|id| deed::seen(tx, &self.definition.name, id, self.now))?;
        }
        row.visited = visited;
        let failed = |row: &ledger::ActionRow| {
            row.rejected.as_deref().and_then(Rejection::parse).is_some_and(Rejection::is_failure)
        };
        let proposed = row.actions.iter().any(|action| action.state == ActionState::Proposed);
        let status = match (row.applied().next().is_some(), row.actions.iter().any(failed)) {
            (_, true) => Status::Partial,
            (true, false) => Status::Ok,
            (false, false) if proposed => Status::Proposed,
            (false, false) => Status::Noop,
        };
        row.seq = Some(seq);
        row.finish(self.memory, status, None);
        ledger::end(self.memory, tx, &row)?;
        Ok(row)
    }

    /// What is left for a person, whole.
    fn proposal(&self, run: RunId, entry: &ledger::ActionRow, action: &Planned) -> Proposal {
        let read = |id: NodeId| Some((id, self.selection.of(id)?.node.version));
        Proposal {
            run,
            index: place(action.index),
            agent: self.definition.name.clone(),
            made: self.now,
            summary: entry.summary.clone(),
            why: entry.why.clone(),
            intent: action.intent.clone(),
            versions: action.intent.nodes().into_iter().filter_map(read).collect(),
            with: action.with.map(place),
            protect: self.definition.limits.protect.iter().map(ToString::to_string).collect(),
        }
    }

    /// The nodes of the selection that are no longer what was read.
    fn changed(&self, tx: &Tx<'_>) -> Result<HashSet<NodeId>> {
        let mut changed = HashSet::new();
        for handle in &self.selection.handles {
            let read = &handle.node;
            let same = |now: &crate::graph::Node| now.version == read.version && now.state.is_live();
            if !tx.node(read.id)?.as_ref().is_some_and(same) {
                changed.insert(read.id);
            }
        }
        Ok(changed)
    }

    /// The chosen nodes that were whole in the prompt and are still there.
    fn visited(&self, tx: &Tx<'_>) -> Result<Vec<NodeId>> {
        let mut visited = Vec::new();
        for handle in self.selection.chosen().filter(|handle| handle.shown == Shown::Whole) {
            if tx.node(handle.node.id)?.is_some() {
                visited.push(handle.node.id);
            }
        }
        Ok(visited)
    }

    /// Records a visit: of the version that was read, or of the one the run itself has made of it
    /// when own writes do not count.
    fn visit(&self, tx: &mut Tx<'_>, id: NodeId, touched: bool, changed: bool) -> Result<()> {
        let Some(handle) = self.selection.of(id) else { return Ok(()) };
        let own = self.definition.freshness.ignore_own_writes && !changed;
        let current = if own { tx.node(id)?.map(|node| node.version) } else { None };
        let outcome = if touched { VisitOutcome::Modified } else { VisitOutcome::Processed };
        let version = current.unwrap_or(handle.node.version);
        tx.put_visit(&self.definition.name, id, &Visit { at: self.now, outcome, version })
    }

    /// Moves a node one step along the ladder of replays.
    fn replay(&self, tx: &mut Tx<'_>, id: NodeId) -> Result<()> {
        let Some(activity) = tx.activity(id)? else { return Ok(()) };
        let next = LADDER.into_iter().find(|&days| days > activity.replay_interval);
        let replay_interval = next.or(LADDER.last().copied()).unwrap_or(activity.replay_interval);
        tx.put_activity(id, &Activity { replay_interval, replayed: Some(self.now), ..activity })
    }
}

/// A place among the actions of a reply, which limits keep far below this.
fn place(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// How much a transaction has written so far: where the writes of an action begin and end.
pub(super) fn position(tx: &Tx<'_>) -> Result<u32> {
    u32::try_from(tx.written()).map_err(|_| Error::internal("a run wrote too much"))
}
