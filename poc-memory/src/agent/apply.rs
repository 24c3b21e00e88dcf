//! Applying a reply: actions, replays, visits and the run's row in one transaction.

use super::definition::{Definition, Mode};
use super::ledger::{self, Run, Status};
use super::permit::{Intent, Permit, Refusal, Rejection};
use super::reply::Answer;
use super::selection::Selection;
use crate::error::{Code, Error, Result};
use crate::graph::{Activity, EdgeKind, NodeId, Visit, VisitOutcome};
use crate::memory::insert::{self, Prepared};
use crate::memory::link::{self, Link, Linked};
use crate::memory::{Memory, supersede, weigh};
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
    let mut permit = Permit::new(memory, definition, selection)?;
    let mut planned = Vec::new();
    for action in &answer.actions {
        let index = row.actions.len();
        let mut entry = ledger::ActionRow::of(action, selection);
        let observed = || Rejection::Observed.because("the agent only observes");
        let permitted = permit.check(action).and_then(|intent| match definition.mode {
            Mode::Apply => Ok(intent),
            Mode::Observe => Err(observed()),
        });
        let prepared = permitted.and_then(|intent| {
            let note = match &intent {
                Intent::Insert { draft, .. } | Intent::Rewrite { draft, .. } => {
                    Some(insert::prepare(memory, (**draft).clone()).map_err(refusal)?)
                }
                _ => None,
            };
            Ok(Planned { index, intent, note })
        });
        match prepared {
            Ok(action) => planned.push(action),
            Err(refusal) => entry.refuse(refusal),
        }
        row.actions.push(entry);
    }
    Ok(planned)
}

/// A mistake in the values of an action.
fn refusal(error: Error) -> Refusal {
    Rejection::InvalidValue.because(error.message)
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
        for action in plan {
            let from = position(tx)?;
            let outcome = self.act(tx, action, &changed)?;
            let Some(entry) = row.actions.get_mut(action.index) else { continue };
            match outcome {
                Ok(()) => {
                    (entry.seq, entry.writes) = (Some(seq), (from, position(tx)?));
                    touched.extend(action.intent.nodes());
                }
                Err(refusal) => entry.refuse(refusal),
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
        row.visited = visited;
        let failed = |row: &ledger::ActionRow| {
            row.rejected.as_deref().and_then(Rejection::parse).is_some_and(Rejection::is_failure)
        };
        let status = match (row.applied().next().is_some(), row.actions.iter().any(failed)) {
            (true, false) => Status::Ok,
            (_, true) => Status::Partial,
            (false, false) => Status::Noop,
        };
        row.seq = Some(seq);
        row.finish(self.memory, status, None);
        ledger::end(self.memory, tx, &row)?;
        Ok(row)
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

    /// Does one action, or says why not. An error is the store's and ends the run.
    fn act(
        &self,
        tx: &mut Tx<'_>,
        action: &Planned,
        changed: &HashSet<NodeId>,
    ) -> Result<std::result::Result<(), Refusal>> {
        if let Some(id) = action.intent.nodes().into_iter().find(|id| changed.contains(id)) {
            let name = self.selection.of(id).map_or("a node", |handle| handle.name.as_str());
            let why = format!("{name} was edited, superseded or deleted during the call");
            return Ok(Err(Rejection::ChangedSinceRead.because(why)));
        }
        let provenance = self.definition.provenance();
        let (memory, now) = (self.memory, self.now);
        let done = match &action.intent {
            Intent::Link { from, to, strength, reason } => {
                if tx.edge(*to, EdgeKind::Link, *from)?.is_some() {
                    return Ok(Err(present("the two are linked already")));
                }
                let link = self.link(*from, *to, *strength, reason);
                match link::add(tx, &link, now) {
                    Ok(Linked::AlreadyPresent(_)) => return Ok(Err(present("the two are linked already"))),
                    other => other.map(|_| ()),
                }
            }
            Intent::Weigh { node, delta } => {
                weigh::change(tx, *node, weigh::Change::By(*delta), &memory.config.weight, now).map(|_| ())
            }
            Intent::Replace { old, new, reason } => {
                supersede::apply(tx, *old, *new, &provenance, reason, now).map(|_| ())
            }
            Intent::Rewrite { .. } => match &action.note {
                Some(note) => insert::apply(tx, note, now).map(|_| ()),
                None => Err(Error::internal("a new note was not prepared")),
            },
            Intent::Insert { links, reason, .. } => match &action.note {
                Some(note) => match insert::apply(tx, note, now) {
                    Ok(made) if made.duplicate => return Ok(Err(present("a note says just this already"))),
                    Ok(made) => links.iter().try_for_each(|&to| {
                        let link = self.link(made.id, to, link::STRENGTH, reason);
                        link::add(tx, &link, now).map(|_| ())
                    }),
                    Err(error) => Err(error),
                },
                None => Err(Error::internal("a new note was not prepared")),
            },
        };
        match done {
            Ok(()) => Ok(Ok(())),
            Err(error) if matches!(error.code, Code::InvalidArgument | Code::Conflict | Code::NotFound) => {
                Ok(Err(refusal(error)))
            }
            Err(error) => Err(error),
        }
    }

    fn link(&self, src: NodeId, dst: NodeId, strength: f64, reason: &str) -> Link {
        let (reason, provenance) = (reason.to_owned(), self.definition.provenance());
        Link { src, dst, kind: EdgeKind::Link, strength, reason, provenance }
    }

    /// The chosen nodes that were whole in the prompt and are still there.
    fn visited(&self, tx: &Tx<'_>) -> Result<Vec<NodeId>> {
        let mut visited = Vec::new();
        for handle in self.selection.chosen().filter(|handle| handle.whole) {
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

fn present(why: &str) -> Refusal {
    Rejection::AlreadyPresent.because(why)
}

fn position(tx: &Tx<'_>) -> Result<u32> {
    u32::try_from(tx.written()).map_err(|_| Error::internal("a run wrote too much"))
}
