//! Actions that are done together or not at all: a note that is taken apart, with its parts.
//!
//! The parts come first, so that what takes the note's place can link to them. When that cannot be done they
//! are taken back: else they would stand beside the note that still says it all.

use super::action::Action;
use super::action_executor::ActionExecutor;
use super::permit::{Intent, Refusal};
use super::selection::Selection;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_notes::insert::Prepared;
use poc_store::Tx;

/// One action that is to be done now.
pub(super) struct Task<'a> {
    /// Its place among the actions of its run.
    pub(super) index: usize,
    /// The place of the action it is a part of.
    pub(super) with: Option<usize>,
    /// In words.
    pub(super) summary: &'a str,
    /// What is to be done.
    pub(super) intent: &'a Intent,
    /// What stands in the way, if that is known; else the new node, embedded.
    pub(super) ready: std::result::Result<Option<&'a Prepared>, Refusal>,
}

/// What was done.
#[derive(Debug)]
pub(super) struct Done {
    /// The nodes it made.
    pub(super) made: Vec<NodeId>,
    /// Its writes, as a range of positions in the transaction.
    pub(super) writes: (u32, u32),
}

/// What became of an action.
pub(super) type Outcome = std::result::Result<Done, Refusal>;

impl Task<'_> {
    fn whole(&self) -> usize {
        self.with.unwrap_or(self.index)
    }

    fn act(&self, executor: &ActionExecutor<'_>, tx: &mut Tx<'_>) -> Result<Outcome> {
        let note = match &self.ready {
            Ok(note) => *note,
            Err(refusal) => return Ok(Err(refusal.clone())),
        };
        let from = position(tx)?;
        let made = executor.act(tx, self.intent, note)?;
        let until = position(tx)?;
        Ok(made.map(|made| Done { made, writes: (from, until) }))
    }
}

/// Of each action of a reply the one it is a part of: the first that puts a note out of use which it is linked
/// to, whether that may be done or not.
pub(super) fn wholes(actions: &[Action], selection: &Selection) -> Vec<Option<usize>> {
    let node = |name: &str| selection.get(name.trim()).map(|handle| handle.node.id);
    let retires = |action: &Action| match action {
        Action::Supersede(supersede) => node(&supersede.node),
        _ => None,
    };
    let part_of = |action: &Action| match action {
        Action::Insert(insert) => {
            let links: Vec<NodeId> = insert.links.iter().filter_map(|name| node(name)).collect();
            actions.iter().position(|whole| retires(whole).is_some_and(|old| links.contains(&old)))
        }
        _ => None,
    };
    actions.iter().map(part_of).collect()
}

/// Does actions, and says of each what became of it, in their order. An error is the store's.
pub(super) fn act(
    executor: &ActionExecutor<'_>,
    tx: &mut Tx<'_>,
    tasks: &[Task<'_>],
) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Option<Outcome>> = tasks.iter().map(|_| None).collect();
    for first in tasks {
        let bundle: Vec<(usize, &Task<'_>)> =
            (0..).zip(tasks).filter(|(_, task)| task.whole() == first.whole()).collect();
        if bundle.iter().any(|(at, _)| outcomes.get(*at).is_some_and(Option::is_some)) {
            continue;
        }
        for (at, outcome) in together(executor, tx, &bundle)? {
            if let Some(slot) = outcomes.get_mut(at) {
                *slot = Some(outcome);
            }
        }
    }
    let all: Option<Vec<Outcome>> = outcomes.into_iter().collect();
    all.ok_or_else(|| Error::internal("an action was forgotten"))
}

/// Does a whole and its parts, or only says why not.
fn together(
    executor: &ActionExecutor<'_>,
    tx: &mut Tx<'_>,
    bundle: &[(usize, &Task<'_>)],
) -> Result<Vec<(usize, Outcome)>> {
    let (parts, wholes): (Vec<_>, Vec<_>) = bundle.iter().partition(|(_, task)| task.with.is_some());
    let done = tx.attempt(|tx| {
        let mut outcomes = Vec::new();
        for (at, task) in &parts {
            outcomes.push((*at, task.act(executor, tx)?));
        }
        for (at, task) in &wholes {
            match task.act(executor, tx)? {
                Err(refusal) if !parts.is_empty() => return Ok(Err((*task, refusal))),
                outcome => outcomes.push((*at, outcome)),
            }
        }
        Ok(Ok(outcomes))
    })?;
    let (whole, refusal) = match done {
        Ok(outcomes) => return Ok(outcomes),
        Err(left) => left,
    };
    let of = |task: &Task<'_>| match task.with {
        Some(_) => refusal.clone().of_whole(whole.summary),
        None => refusal.clone(),
    };
    Ok(bundle.iter().map(|(at, task)| (*at, Err(of(task)))).collect())
}

/// How much a transaction has written so far: where the writes of an action begin and end.
pub(super) fn position(tx: &Tx<'_>) -> Result<u32> {
    u32::try_from(tx.written()).map_err(|_| Error::internal("a run wrote too much"))
}
