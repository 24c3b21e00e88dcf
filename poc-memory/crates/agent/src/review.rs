//! Review: a person's decisions about proposals.

use super::action_executor::{self, ActionExecutor, ActionNote};
use super::action_group::{self, ActionOutcome, ActionStep};
use super::apply;
use super::judge::Judge;
use super::ledger::{self, ActionState, NodeVersion, Run};
use super::permit::{PermittedAction, Refusal, RefusalReason};
use super::proposal::{Proposal, proposals};
use super::reply::short;
use poc_graph::error::{Error, Result};
use poc_graph::{Ix, RunId, View};
use poc_notes::Memory;
use poc_notes::undo::UndoItem;
use poc_search::query::Pipeline;
use poc_store::{Cause, LoggedTransaction, Record, Records, Table, Transaction, WriteRange};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Applies the proposals of a run: all, or those with the given numbers (from 1) and the actions in the same
/// groups. Proposals on notes that have changed or become protected are not applied, and are closed as outdated.
///
/// If search then answers confirmed questions significantly worse, the proposals are undone and wait again, with the
/// reason in the items. Proposals that were applied before are not judged: the person wants them anyway.
///
/// # Errors
/// `invalid_argument` when an action with one of the numbers has no open proposal, `conflict` when one of the proposals
/// was decided in the meantime.
pub fn approve(memory: &Memory, run: RunId, only: &[u16]) -> Result<Vec<UndoItem>> {
    let chosen = select_proposals(memory, run, only)?;
    let memory = &of_tenant(memory, &chosen);
    let view = memory.store.view();
    let mut ready: Vec<(Proposal, Result<Option<ActionNote>, Refusal>)> = Vec::new();
    for mut proposal in chosen {
        proposal.permitted = as_renaming(memory, proposal.with_current_trust(&view))?;
        let note = action_executor::prepare(memory, &proposal.permitted);
        ready.push((proposal, note));
    }
    let agent = ready.first().map_or("", |(proposal, _)| proposal.agent.as_str());
    let row = ledger::stored_row(memory, agent, run)?;
    let was_applied = |proposal: &Proposal| {
        let action = row.as_ref().and_then(|row| row.actions.get(usize::from(proposal.index)));
        action.is_some_and(|action| action.seq.is_some())
    };
    // Without its row, the run could not be undone.
    let is_judged = row.is_some() && !ready.iter().all(|(proposal, _)| was_applied(proposal));
    let judge = is_judged.then(|| Judge::before(memory)).transpose()?;
    let mut items = decide(memory, agent, run, "agent apply", |tx, row| {
        ready.iter().try_for_each(|(proposal, _)| expect_open(tx, proposal))?;
        let (now, inserted) = (memory.now(), RefCell::default());
        let executor = ActionExecutor { memory, agent, max_per_source: None, now, inserted };
        let seq = tx.seq();
        let mut steps = Vec::new();
        for (proposal, note) in &ready {
            let note = match outdated_reason(memory, tx, tx.view(), proposal)? {
                Some(why) => Err(RefusalReason::ChangedSinceRead.because(why)),
                None => note.as_ref().map(Option::as_ref).map_err(Refusal::clone),
            };
            steps.push(step(proposal, note));
        }
        let mut items = Vec::new();
        for ((proposal, _), outcome) in ready.iter().zip(action_group::execute(&executor, tx, &steps)?) {
            for &made in outcome.iter().flat_map(|done| &done.made) {
                action_executor::record_own_visit(tx, agent, made, executor.now)?;
            }
            if outcome.is_err() {
                proposal.close(tx)?;
            }
            if let Some(entry) = entry(row, proposal) {
                record_outcome(entry, &outcome, seq);
            }
            let refused = outcome.err().map(|refusal| refusal.detail);
            items.push(UndoItem { summary: proposal.summary.clone(), refused });
        }
        Ok(items)
    })?;
    let applied = ready.iter().zip(&items).filter(|(_, item)| item.refused.is_none());
    let applied: Vec<u16> = applied.map(|((proposal, _), _)| proposal.number()).collect();
    if let Some(judge) = judge.filter(|_| !applied.is_empty())
        && let Some(row) = ledger::stored_row(memory, agent, run)?
        && let Some(why) = judge.keep_or_reopen(memory, &row, &applied)?
    {
        let undone = items.iter_mut().filter(|item| item.refused.is_none());
        undone.for_each(|item| item.refused = Some(format!("{why}; if it is applied again, it stays")));
    }
    Ok(items)
}

/// The step that applies a proposal and closes it.
fn step<'a>(proposal: &'a Proposal, note: Result<Option<&'a ActionNote>, Refusal>) -> ActionStep<'a> {
    ActionStep {
        index: usize::from(proposal.index),
        part_of: proposal.part_of.map(usize::from),
        summary: &proposal.summary,
        permitted: &proposal.permitted,
        ready: note,
        proposal: Some(proposal),
    }
}

/// Writes the outcome of an action into the row of its run. `seq` is the number of the transaction that applied it.
fn record_outcome(action: &mut ledger::ActionRecord, outcome: &ActionOutcome, seq: u64) {
    match outcome {
        Ok(done) => {
            action.state = ActionState::Applied;
            (action.seq, action.writes) = (Some(seq), done.writes);
        }
        Err(refusal) => {
            action.state = ActionState::Outdated;
            action.detail = Some(short(&refusal.detail));
        }
    }
}

/// Converts a replacement that only changes the key to a renaming, because earlier releases proposed
/// renamings as new notes.
fn as_renaming(memory: &Memory, permitted: PermittedAction) -> Result<PermittedAction> {
    let PermittedAction::Rewrite { old, draft } = &permitted else { return Ok(permitted) };
    let renaming = memory.store.node(*old)?.and_then(|node| PermittedAction::renaming(&node, draft));
    Ok(renaming.unwrap_or(permitted))
}

/// Rejects the proposals of a run: all, or those with the given numbers and the actions in the same groups.
/// Returns their descriptions.
///
/// # Errors
/// Like [`approve`].
pub fn reject(memory: &Memory, run: RunId, only: &[u16], note: &str) -> Result<Vec<String>> {
    let chosen = select_proposals(memory, run, only)?;
    let memory = &of_tenant(memory, &chosen);
    let agent = chosen.first().map_or("", |proposal| proposal.agent.as_str());
    decide(memory, agent, run, "agent reject", |tx, row| {
        for proposal in &chosen {
            expect_open(tx, proposal)?;
            let start = action_group::position(tx)?;
            proposal.close(tx)?;
            if let Some(entry) = entry(row, proposal) {
                entry.state = ActionState::Rejected;
                entry.detail = Some(short(note)).filter(|note| !note.is_empty());
                (entry.seq, entry.writes) =
                    (Some(tx.seq()), WriteRange { start, end: action_group::position(tx)? });
            }
        }
        Ok(chosen.iter().map(|proposal| proposal.summary.clone()).collect())
    })
}

/// The rejected proposals of one agent or all agents whose rows of runs are stored, oldest run first, as
/// [`rejected_of`].
pub fn rejected(memory: &Memory, agent: Option<&str>) -> Result<Vec<(Proposal, Option<String>)>> {
    let mut found = Vec::new();
    for row in ledger::rows(memory, agent, usize::MAX)?.into_iter().rev() {
        if ledger::is_visible(memory, &row) {
            found.extend(rejected_of(memory, &row)?);
        }
    }
    Ok(found)
}

/// The rejected proposals of a run, in order, each with the reason of the rejection, if one was given. Those whose
/// rejection is no longer in the log are left out.
pub fn rejected_of(memory: &Memory, row: &Run) -> Result<Vec<(Proposal, Option<String>)>> {
    let memory = memory.of(&row.tenant);
    let mut txns: BTreeMap<u64, Option<LoggedTransaction>> = BTreeMap::new();
    let mut found = Vec::new();
    for action in row.actions.iter().filter(|action| action.state == ActionState::Rejected) {
        // Earlier releases did not record which transaction rejected it.
        let Some(seq) = action.seq else { continue };
        if let Entry::Vacant(place) = txns.entry(seq) {
            place.insert(memory.store.transaction(seq)?);
        }
        let Some(Some(txn)) = txns.get(&seq) else { continue };
        let mut writes = txn.writes_in(action.writes).iter();
        let closed = writes.find(|write| write.table == Table::Proposals);
        if let Some(before) = closed.and_then(|write| write.before.as_deref()) {
            found.push((Proposal::decode(before)?, action.detail.clone()));
        }
    }
    Ok(found)
}

/// The action of a rejected proposal as it was before the rejection.
fn before_rejection(memory: &Memory, row: &Run, index: usize) -> Result<Option<ledger::ActionRecord>> {
    let Some(seq) = row.actions.get(index).and_then(|action| action.seq) else { return Ok(None) };
    let Some(txn) = memory.store.transaction(seq)? else { return Ok(None) };
    Ok(ledger::row_before(&txn, row.id)?.and_then(|before| before.actions.into_iter().nth(index)))
}

/// Lets rejected proposals of a run wait for a decision again: all, or those with the given numbers (from 1) and the
/// actions in the same groups. Returns their descriptions.
///
/// # Errors
/// `conflict` when no rejected proposal of the run can be reopened, `invalid_argument` when an action with one of the
/// numbers was not rejected or its rejection is no longer in the log.
pub fn reopen(memory: &Memory, run: &Run, only: &[u16]) -> Result<Vec<String>> {
    let rejected: Vec<Proposal> =
        rejected_of(memory, run)?.into_iter().map(|(proposal, _)| proposal).collect();
    let chosen = select(rejected, only, "was not rejected, or its rejection is no longer in the log")?;
    if chosen.is_empty() {
        return Err(Error::conflict(format!("no rejected proposal of the run `{}` can be reopened", run.id)));
    }
    let memory = &memory.of(&run.tenant);
    let mut before = Vec::with_capacity(chosen.len());
    for proposal in &chosen {
        before.push(before_rejection(memory, run, usize::from(proposal.index))?);
    }
    decide(memory, &run.agent, run.id, "agent reopen", |tx, row| {
        for (proposal, before) in chosen.iter().zip(&before) {
            if let Some(entry) = entry(row, proposal) {
                if entry.state != ActionState::Rejected {
                    return Err(decided_meanwhile(proposal));
                }
                (entry.state, entry.detail) = (ActionState::Proposed, None);
                // It may have been applied and undone before.
                (entry.seq, entry.writes) = before
                    .as_ref()
                    .map_or((None, WriteRange::default()), |before| (before.seq, before.writes));
            }
            proposal.put(tx)?;
        }
        Ok(chosen.iter().map(|proposal| proposal.summary.clone()).collect())
    })
}

/// The actions of groups that a selection of numbers contains in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialSelection {
    /// The selected numbers of these groups.
    pub selected: Vec<u16>,
    /// The other numbers of these groups, whose proposals are decided together with them.
    pub others: Vec<u16>,
}

/// The groups that `only` selects in part; empty if it selects whole groups.
///
/// # Errors
/// Like [`approve`].
pub fn partly_selected(memory: &Memory, run: RunId, only: &[u16]) -> Result<PartialSelection> {
    if only.is_empty() {
        return Ok(PartialSelection::default());
    }
    let chosen = select_proposals(memory, run, only)?;
    let is_selected = |one: &&Proposal| only.contains(&one.number());
    let groups: Vec<u16> = chosen.iter().filter(|one| !is_selected(one)).map(group_of).collect();
    let partly = chosen.iter().filter(|one| groups.contains(&group_of(one)));
    let (selected, others): (Vec<&Proposal>, Vec<&Proposal>) = partly.partition(is_selected);
    let numbers = |of: Vec<&Proposal>| of.into_iter().map(Proposal::number).collect();
    Ok(PartialSelection { selected: numbers(selected), others: numbers(others) })
}

/// The number that is common to a replacement and its parts.
fn group_of(proposal: &Proposal) -> u16 {
    proposal.part_of.unwrap_or(proposal.index)
}

/// The open proposals of a run that are selected, in order.
fn select_proposals(memory: &Memory, run: RunId, only: &[u16]) -> Result<Vec<Proposal>> {
    select(proposals(memory, Some(run))?, only, "has no open proposal")
}

/// The selected proposals of a run, in order. `otherwise` is the message for a number without a proposal.
fn select(proposals: Vec<Proposal>, only: &[u16], otherwise: &str) -> Result<Vec<Proposal>> {
    if let Some(unknown) = only.iter().find(|wanted| !proposals.iter().any(|one| one.number() == **wanted)) {
        let numbers: Vec<String> = proposals.iter().map(|one| one.number().to_string()).collect();
        return Err(Error::invalid(format!("action {unknown} of the run {otherwise}"))
            .hint(format!("numbers to choose from: {}", numbers.join(", ")))
            .field("only"));
    }
    let wanted: Vec<u16> = proposals
        .iter()
        .map(Proposal::number)
        .filter(|number| only.is_empty() || only.contains(number))
        .collect();
    // A replacement and its parts are decided together, whichever of them is selected.
    let groups: Vec<u16> =
        proposals.iter().filter(|one| wanted.contains(&one.number())).map(group_of).collect();
    Ok(proposals.into_iter().filter(|one| groups.contains(&group_of(one))).collect())
}

/// The memory of the tenant of a run's proposals.
fn of_tenant(memory: &Memory, proposals: &[Proposal]) -> Memory {
    memory.of(&proposals.first().map(|proposal| proposal.tenant.clone()).unwrap_or_default())
}

/// Fails with `conflict` when a proposal was decided since it was read, for example by another person.
fn expect_open(tx: &Transaction<'_>, proposal: &Proposal) -> Result<()> {
    let is_open = tx.get::<Proposal>(&proposal.key())?.is_some();
    if is_open { Ok(()) } else { Err(decided_meanwhile(proposal)) }
}

fn decided_meanwhile(proposal: &Proposal) -> Error {
    Error::conflict(format!("action {} was decided in the meantime", proposal.number()))
}

/// Writes a decision, and updates the run's row if it is still stored.
fn decide<T>(
    memory: &Memory,
    agent: &str,
    run: RunId,
    op: &str,
    decision: impl Fn(&mut Transaction<'_>, &mut Option<Run>) -> Result<T>,
) -> Result<T> {
    let cause = Cause { run: Some(run), ..memory.cause("manual", op) };
    let committed = memory.store.transact(cause, |tx| {
        let mut row = ledger::row(tx, agent, run)?;
        let value = decision(tx, &mut row)?;
        if let Some(mut row) = row {
            row.status = apply::status(&row);
            ledger::put_reviewed(tx, &row)?;
        }
        Ok(value)
    })?;
    Ok(committed.value)
}

/// The action record of a proposal.
fn entry<'a>(row: &'a mut Option<Run>, proposal: &Proposal) -> Option<&'a mut ledger::ActionRecord> {
    row.as_mut()?.actions.get_mut(usize::from(proposal.index))
}

/// Why a proposal can no longer be applied: a note it names has changed or is protected. `None` when it can. `memory`
/// is that of the proposal's tenant.
pub fn outdated_reason<R: Records + ?Sized>(
    memory: &Memory,
    records: &R,
    view: &View,
    proposal: &Proposal,
) -> Result<Option<String>> {
    if proposal.versions.len() < proposal.permitted.nodes().len() {
        return Ok(Some("a note it names was not shown in full".into()));
    }
    for NodeVersion { id, version } in &proposal.versions {
        let now = records.node(*id)?;
        if !now.as_ref().is_some_and(|node| node.version == *version && node.state.is_live()) {
            return Ok(Some(match now {
                Some(node) if node.state.is_live() => format!("`{}` was edited since", node.key),
                Some(node) => format!("`{}` was {} since", node.key, node.state),
                None => "a note that it names was deleted since".to_owned(),
            }));
        }
    }
    let replaced = proposal.permitted.replaced_node();
    let nodes: Vec<Ix> = replaced.and_then(|id| view.find(id)).into_iter().collect();
    for text in &proposal.protect {
        let filter = Pipeline::parse(text, &memory.names.load())?;
        if let Some(ix) = filter.filter_nodes(&memory.sources(view), &nodes)?.first() {
            return Ok(Some(format!("`{}` is protected", view.key(*ix))));
        }
    }
    Ok(None)
}
