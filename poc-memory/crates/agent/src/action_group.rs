//! Actions that are done together or not at all: a note that is taken apart, with its parts.
//!
//! The parts come first, so that what takes the note's place can link to them. When that cannot be done they
//! are taken back: else they would stand beside the note that still says it all.

use super::action::Action;
use super::action_executor::ActionExecutor;
use super::permit::{PermittedAction, Refusal};
use super::selection::Selection;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_notes::insert::PreparedNote;
use poc_store::Tx;

/// One action that is to be done now.
pub(super) struct ActionStep<'a> {
    /// Its place among the actions of its run.
    pub(super) index: usize,
    /// The place of the action it is a part of.
    pub(super) part_of: Option<usize>,
    /// In words.
    pub(super) summary: &'a str,
    /// What is to be done.
    pub(super) permitted: &'a PermittedAction,
    /// What stands in the way, if that is known; else the new node, embedded.
    pub(super) ready: std::result::Result<Option<&'a PreparedNote>, Refusal>,
}

/// What was done.
#[derive(Debug)]
pub(super) struct AppliedAction {
    /// The nodes it made.
    pub(super) made: Vec<NodeId>,
    /// Its writes, as a range of positions in the transaction.
    pub(super) writes: (u32, u32),
}

/// What became of an action.
pub(super) type Outcome = std::result::Result<AppliedAction, Refusal>;

impl ActionStep<'_> {
    fn whole(&self) -> usize {
        self.part_of.unwrap_or(self.index)
    }

    fn execute(&self, executor: &ActionExecutor<'_>, tx: &mut Tx<'_>) -> Result<Outcome> {
        let note = match &self.ready {
            Ok(note) => *note,
            Err(refusal) => return Ok(Err(refusal.clone())),
        };
        let from = position(tx)?;
        let made = executor.execute(tx, self.permitted, note)?;
        let until = position(tx)?;
        Ok(made.map(|made| AppliedAction { made, writes: (from, until) }))
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
pub(super) fn execute(
    executor: &ActionExecutor<'_>,
    tx: &mut Tx<'_>,
    steps: &[ActionStep<'_>],
) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Option<Outcome>> = steps.iter().map(|_| None).collect();
    for first in steps {
        let group: Vec<(usize, &ActionStep<'_>)> =
            (0..).zip(steps).filter(|(_, step)| step.whole() == first.whole()).collect();
        if group.iter().any(|(at, _)| outcomes.get(*at).is_some_and(Option::is_some)) {
            continue;
        }
        for (at, outcome) in execute_group(executor, tx, &group)? {
            if let Some(slot) = outcomes.get_mut(at) {
                *slot = Some(outcome);
            }
        }
    }
    let all: Option<Vec<Outcome>> = outcomes.into_iter().collect();
    all.ok_or_else(|| Error::internal("an action was forgotten"))
}

/// Does a whole and its parts, or only says why not.
fn execute_group(
    executor: &ActionExecutor<'_>,
    tx: &mut Tx<'_>,
    group: &[(usize, &ActionStep<'_>)],
) -> Result<Vec<(usize, Outcome)>> {
    let (parts, wholes): (Vec<_>, Vec<_>) = group.iter().partition(|(_, step)| step.part_of.is_some());
    let done = tx.attempt(|tx| {
        let mut outcomes = Vec::new();
        for (at, step) in &parts {
            outcomes.push((*at, step.execute(executor, tx)?));
        }
        for (at, step) in &wholes {
            match step.execute(executor, tx)? {
                Err(refusal) if !parts.is_empty() => return Ok(Err((*step, refusal))),
                outcome => outcomes.push((*at, outcome)),
            }
        }
        Ok(Ok(outcomes))
    })?;
    let (whole, refusal) = match done {
        Ok(outcomes) => return Ok(outcomes),
        Err(left) => left,
    };
    let of = |step: &ActionStep<'_>| match step.part_of {
        Some(_) => refusal.clone().of_whole(whole.summary),
        None => refusal.clone(),
    };
    Ok(group.iter().map(|(at, step)| (*at, Err(of(step)))).collect())
}

/// How much a transaction has written so far: where the writes of an action begin and end.
pub(super) fn position(tx: &Tx<'_>) -> Result<u32> {
    u32::try_from(tx.write_count()).map_err(|_| Error::internal("a run wrote too much"))
}
