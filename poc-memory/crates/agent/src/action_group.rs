//! Groups of actions that are applied together or not at all: the replacement of a split note, and the
//! inserts of its parts.
//!
//! The parts are inserted first, so that the replacement can link to them. If the replacement fails, the
//! parts are rolled back; otherwise they would duplicate the original note.

use super::action::Action;
use super::action_executor::{ActionExecutor, ActionNote, SourceRelation};
use super::definition::Definition;
use super::permit::{PermittedAction, Refusal};
use super::proposal::Proposal;
use super::selection::Selection;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_store::{Transaction, WriteRange};

/// One action to execute in the current transaction.
pub(super) struct ActionStep<'a> {
    /// Its index among the actions of its run.
    pub(super) index: usize,
    /// Index of the superseding action that this action is a part of.
    pub(super) part_of: Option<usize>,
    /// A one-line description.
    pub(super) summary: &'a str,
    /// The permitted action.
    pub(super) permitted: &'a PermittedAction,
    /// The embedded new note, if the action has one, or the reason why the action cannot run.
    pub(super) ready: std::result::Result<Option<&'a ActionNote>, Refusal>,
    /// The proposal that the action closes. This is part of the action's writes, so an undo reopens the
    /// proposal.
    pub(super) proposal: Option<&'a Proposal>,
}

/// An action that was applied.
#[derive(Debug)]
pub(super) struct ActionEffect {
    /// The nodes it created.
    pub(super) made: Vec<NodeId>,
    /// Its writes, as a half-open range of positions in the transaction.
    pub(super) writes: WriteRange,
}

/// The outcome of one action.
pub(super) type ActionOutcome = std::result::Result<ActionEffect, Refusal>;

impl ActionStep<'_> {
    fn whole(&self) -> usize {
        self.part_of.unwrap_or(self.index)
    }

    /// Executes the action. If it replaces a node, `parts` are the new notes that the node was split into.
    fn execute(
        &self,
        executor: &ActionExecutor<'_>,
        tx: &mut Transaction<'_>,
        parts: &[NodeId],
    ) -> Result<ActionOutcome> {
        let note = match &self.ready {
            Ok(note) => *note,
            Err(refusal) => return Ok(Err(refusal.clone())),
        };
        let start = position(tx)?;
        let is_part = self.part_of.is_some();
        let relation = if is_part { SourceRelation::Part } else { SourceRelation::Derived };
        let made = executor.execute(tx, self.permitted, note, relation)?;
        if let Some(old) = self.permitted.replaced_node().filter(|_| made.is_ok() && !parts.is_empty()) {
            executor.hand_over_to_parts(tx, old, parts)?;
        }
        if let Some(proposal) = self.proposal.filter(|_| made.is_ok()) {
            proposal.close(tx)?;
        }
        let end = position(tx)?;
        Ok(made.map(|made| ActionEffect { made, writes: WriteRange { start, end } }))
    }
}

/// For each action of a reply, the index of the superseding action it is a part of: the first action that
/// replaces a source of the insert, whether or not that replacement is permitted. A quotation is no part of its source.
pub(super) fn superseding_action_of(
    definition: &Definition,
    actions: &[Action],
    selection: &Selection,
) -> Vec<Option<usize>> {
    let node = |name: &str| selection.get(name.trim()).map(|handle| handle.node.id);
    let retires = |action: &Action| match action {
        Action::Supersede(supersede) if !supersede.renames() => node(&supersede.node),
        _ => None,
    };
    let part_of = |action: &Action| match action {
        Action::Insert(insert) if !definition.limits.insert_only_quotations => {
            let sources: Vec<NodeId> = insert.sources.iter().filter_map(|name| node(name)).collect();
            actions.iter().position(|whole| retires(whole).is_some_and(|old| sources.contains(&old)))
        }
        _ => None,
    };
    actions.iter().map(part_of).collect()
}

/// Executes the steps group by group and returns one outcome per step, in the same order. An error comes from
/// the store and ends the run.
pub(super) fn execute(
    executor: &ActionExecutor<'_>,
    tx: &mut Transaction<'_>,
    steps: &[ActionStep<'_>],
) -> Result<Vec<ActionOutcome>> {
    let mut outcomes: Vec<Option<ActionOutcome>> = steps.iter().map(|_| None).collect();
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
    let all: Option<Vec<ActionOutcome>> = outcomes.into_iter().collect();
    all.ok_or_else(|| Error::internal("an action has no outcome"))
}

/// Executes a superseding action with its parts, or refuses all of them.
fn execute_group(
    executor: &ActionExecutor<'_>,
    tx: &mut Transaction<'_>,
    group: &[(usize, &ActionStep<'_>)],
) -> Result<Vec<(usize, ActionOutcome)>> {
    let (parts, replacements): (Vec<_>, Vec<_>) = group.iter().partition(|(_, step)| step.part_of.is_some());
    let done = tx.attempt(|tx| {
        let mut outcomes = Vec::new();
        for (at, step) in &parts {
            outcomes.push((*at, step.execute(executor, tx, &[])?));
        }
        let made: Vec<NodeId> = outcomes
            .iter()
            .filter_map(|(_, outcome)| outcome.as_ref().ok())
            .flat_map(|done: &ActionEffect| done.made.iter().copied())
            .collect();
        for (at, step) in &replacements {
            match step.execute(executor, tx, &made)? {
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

/// Number of writes in the transaction so far: marks where the writes of an action begin and end.
pub(super) fn position(tx: &Transaction<'_>) -> Result<u32> {
    u32::try_from(tx.write_count()).map_err(|_| Error::internal("the run has too many writes"))
}
