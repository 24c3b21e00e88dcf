//! Applying a reply: actions, replays, visits and the run's row in one transaction.

use super::action::Action;
use super::action_executor::{self, ActionExecutor, ActionNote};
use super::action_group::{self, ActionEffect, ActionStep, position};
use super::definition::{Definition, Mode};
use super::ledger::{self, ActionState, NodeVersion, Run, Status};
use super::permit::{Permit, PermitDecision, PermittedAction, Refusal, RefusalReason};
use super::preview;
use super::proposal::{Proposal, proposals};
use super::reply::ParsedReply;
use super::selection::{Handle, PromptExtent, Selection};
use super::unwanted_actions::UnwantedActions;
use super::writer_record::WriterRecord;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Ix, NodeId, RunId, State, Visit, VisitOutcome};
use poc_notes::{Memory, derivation};
use poc_store::{Cause, Transaction, WriteRange};
use std::cell::RefCell;
use std::collections::HashSet;

/// Maximum refused actions stored in a row; a reply may request a thousand.
const MAX_REFUSED: usize = 100;

/// How a reply is applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplyOptions {
    /// Everything is executed and discarded: the row shows what would have been applied.
    pub(super) dry_run: bool,
    /// Whether a language model read the notes.
    pub(super) by_language_model: bool,
}

/// Applies the actions of a reply and ends the run's row with their outcomes.
///
/// # Errors
/// `conflict` when the row was ended by another process in the meantime: a late reply is discarded. Nothing is
/// written then.
pub(super) fn apply(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    answer: &ParsedReply,
    mut row: Run,
    options: ApplyOptions,
) -> Result<Run> {
    row.notes.clone_from(&answer.notes);
    let (plan, cut_off) = plan(memory, definition, selection, answer, &mut row)?;
    if options.dry_run {
        for action in &plan {
            let changes = preview::changes(memory, &action.permitted)?;
            row.actions
                .get_mut(action.index)
                .into_iter()
                .for_each(|entry| entry.changes.clone_from(&changes));
        }
    }
    let cause = Cause { run: Some(row.id), ..memory.cause(&definition.provenance(), "agent run") };
    let waiting = nodes_with_waiting_replacements(memory, definition, selection)?;
    let write = |tx: &mut Transaction<'_>| {
        let (cut_off, waiting, now) = (&cut_off, &waiting, memory.now());
        let work = ReplyApplication { memory, definition, selection, cut_off, waiting, options, now };
        work.write(tx, &plan, row.clone())
    };
    if options.dry_run { memory.store.preview(write) } else { Ok(memory.store.transact(cause, write)?.value) }
}

/// A permitted action and everything needed to execute it.
struct PlannedAction {
    /// Index among the row's actions.
    index: usize,
    permitted: PermittedAction,
    /// Whether it waits for approval.
    proposed: bool,
    /// Index of the superseding action that this action is a part of.
    part_of: Option<usize>,
    /// The new node, embedded before the transaction.
    note: Option<ActionNote>,
}

/// The nodes with actions that were refused only because of a limit on their number.
struct CutOffNodes {
    /// Those without a permitted action.
    wholly: HashSet<NodeId>,
    /// Those with permitted actions, except nodes whose weight was changed: a run that reads them again would change it
    /// again.
    partly: HashSet<NodeId>,
}

impl CutOffNodes {
    fn new(refused: &HashSet<NodeId>, planned: &[PlannedAction]) -> CutOffNodes {
        let (mut wholly, mut partly) = (refused.clone(), HashSet::new());
        for action in planned {
            partly.extend(action.permitted.nodes().into_iter().filter(|id| wholly.remove(id)));
        }
        for action in planned {
            if let PermittedAction::Weigh { node, .. } = &action.permitted {
                partly.remove(node);
            }
        }
        CutOffNodes { wholly, partly }
    }
}

/// Checks every action against the permit and embeds new notes. Also returns the nodes with actions beyond a limit.
fn plan(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    answer: &ParsedReply,
    row: &mut Run,
) -> Result<(Vec<PlannedAction>, CutOffNodes)> {
    let superseding = action_group::superseding_action_of(definition, &answer.actions, selection);
    let actions: Vec<(&Action, bool)> =
        answer.actions.iter().zip(&superseding).map(|(action, whole)| (action, whole.is_some())).collect();
    let record = WriterRecord::of(memory, definition, selection, &actions)?;
    let mut permit = Permit::new(memory, definition, row.mode.unwrap_or(definition.mode), selection)?
        .with_link_strength(record.link_factor());
    // Read for the first permitted action.
    let mut decisions: Option<(Vec<Proposal>, UnwantedActions)> = None;
    let mut planned: Vec<PlannedAction> = Vec::new();
    for (action, part_of) in answer.actions.iter().zip(superseding) {
        let index = row.actions.len();
        let action = permit.clamped(action);
        let mut entry = ledger::ActionRecord::of(&action, selection);
        let is_permitted = definition.execution.actions.contains(&action.kind());
        let permitted = match record.refusal(&action).filter(|_| is_permitted) {
            Some(refusal) => Err(refusal),
            None => permit.check(&action),
        };
        if decisions.is_none() && permitted.is_ok() {
            let name = &definition.name;
            let unwanted = UnwantedActions::of(memory, name, selection, &answer.actions)?;
            decisions = Some((waiting_proposals(memory, name)?, unwanted));
        }
        let prepared = permitted.and_then(|PermitDecision { permitted, proposed }| {
            // Also for an action that needs no approval: it must not forestall or ignore the decision of a person. The
            // parts of a note are decided with its replacement.
            let has_own_decision = proposed || part_of.is_none();
            if let Some((waiting, unwanted)) = decisions.as_ref().filter(|_| has_own_decision) {
                let is_same = |same: &&Proposal| {
                    same.permitted.is_equivalent(&permitted) && (proposed || is_current(selection, same))
                };
                if let Some(same) = waiting.iter().find(is_same) {
                    let why = format!("it is already proposed by the run {}", same.run);
                    return Err(RefusalReason::AlreadyPresent.because(why));
                }
                if let Some(refusal) = unwanted.refusal(selection, &entry.summary, &permitted) {
                    return Err(refusal);
                }
            }
            let note = action_executor::prepare(memory, &permitted)?;
            Ok(PlannedAction { index, permitted, proposed, part_of, note })
        });
        match prepared {
            Ok(action) => planned.push(action),
            Err(refusal) => entry.refuse(refusal),
        }
        row.actions.push(entry);
    }
    let cut_off = CutOffNodes::new(permit.cut_off(), &planned);
    let mut planned = keep_groups_together(planned, row);
    limit_refused(&mut planned, row);
    let link = |action: &PlannedAction| Some((stored_index(action.index), action.permitted.link()?));
    row.links = planned.iter().filter_map(link).collect();
    row.left_out = row.left_out.saturating_add(u32::try_from(answer.unread).unwrap_or(u32::MAX));
    Ok((planned, cut_off))
}

/// The open proposals of an agent for this tenant.
fn waiting_proposals(memory: &Memory, agent: &str) -> Result<Vec<Proposal>> {
    let mut all = proposals(memory, None)?;
    all.retain(|one| one.agent == agent && one.tenant == *memory.store.tuple());
    Ok(all)
}

/// Whether the notes of a proposal are still as they were read, so that it can be applied.
fn is_current(selection: &Selection, proposal: &Proposal) -> bool {
    let is_same = |read: &NodeVersion| {
        selection.by_id(read.id).is_some_and(|handle| handle.node.version == read.version)
    };
    proposal.versions.iter().all(is_same)
}

/// The nodes whose replacement by the agent waits for approval since an earlier run. Empty if the prompt shows no stale
/// note of the agent.
fn nodes_with_waiting_replacements(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
) -> Result<HashSet<NodeId>> {
    let is_stale = |handle: &Handle| handle.is_derived && handle.node.state == State::Stale;
    if !selection.handles.iter().any(is_stale) {
        return Ok(HashSet::new());
    }
    let waiting = waiting_proposals(memory, &definition.name)?;
    Ok(waiting.iter().filter_map(|proposal| proposal.permitted.replaced_node()).collect())
}

/// Keeps the first [`MAX_REFUSED`] refused actions in the row and counts the rest.
fn limit_refused(planned: &mut [PlannedAction], row: &mut Run) {
    // `indexes` has the new index of each action, or `None` if the action is left out.
    let (mut refused, mut kept, mut indexes) = (0, Vec::new(), Vec::new());
    for entry in std::mem::take(&mut row.actions) {
        refused += usize::from(entry.state == ActionState::Refused);
        let stays = entry.state != ActionState::Refused || refused <= MAX_REFUSED;
        indexes.push(stays.then_some(kept.len()));
        kept.extend(stays.then_some(entry));
    }
    row.actions = kept;
    row.left_out = u32::try_from(refused.saturating_sub(MAX_REFUSED)).unwrap_or(u32::MAX);
    let new_index = |index: usize| indexes.get(index).copied().flatten();
    for action in planned {
        action.index = new_index(action.index).unwrap_or(action.index);
        action.part_of = action.part_of.and_then(new_index);
    }
}

/// The status of a run, from the states of its actions.
pub(super) fn status(row: &Run) -> Status {
    let any = |state| row.actions.iter().any(|action| action.state == state);
    let fails = |action: &ledger::ActionRecord| {
        action.refusal_code.as_deref().and_then(RefusalReason::parse).is_some_and(RefusalReason::is_failure)
    };
    let waits = any(ActionState::Proposed);
    let has_rejected = any(ActionState::Rejected);
    let is_incomplete = row.left_out > 0 || any(ActionState::Outdated) || row.actions.iter().any(fails);
    match (row.applied_actions().next().is_some(), is_incomplete) {
        (_, true) => Status::Partial,
        (true, false) if has_rejected && !waits => Status::Partial,
        (true, false) => Status::Ok,
        (false, false) if waits => Status::Proposed,
        (false, false) if has_rejected => Status::Rejected,
        (false, false) => Status::Noop,
    }
}

/// Parts of a note are proposed or refused together with its replacement. Otherwise the parts would be added
/// although the original note stays.
fn keep_groups_together(mut planned: Vec<PlannedAction>, row: &mut Run) -> Vec<PlannedAction> {
    let waiting: Vec<usize> = planned.iter().filter(|one| one.proposed).map(|one| one.index).collect();
    planned.retain_mut(|part| {
        let Some(whole) = part.part_of else { return true };
        part.proposed |= waiting.contains(&whole);
        let whole = row.actions.get(whole).and_then(|whole| Some((whole.summary.clone(), whole.refusal()?)));
        let Some((whole, refusal)) = whole else { return true };
        if let Some(entry) = row.actions.get_mut(part.index) {
            entry.refuse(refusal.of_whole(&whole));
        }
        false
    });
    planned
}

/// The inputs of the transaction that applies a reply.
struct ReplyApplication<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    selection: &'a Selection,
    cut_off: &'a CutOffNodes,
    /// Nodes whose replacement waits for approval since an earlier run.
    waiting: &'a HashSet<NodeId>,
    options: ApplyOptions,
    now: Timestamp,
}

impl ReplyApplication<'_> {
    fn write(&self, tx: &mut Transaction<'_>, plan: &[PlannedAction], mut row: Run) -> Result<Run> {
        if !self.options.dry_run {
            ledger::expect_running(tx, &row)?;
        }
        let seq = tx.seq();
        let changed = self.changed(tx)?;
        let mut touched = HashSet::new();
        let mut made = Vec::new();
        for (action, outcome) in plan.iter().zip(self.outcomes(tx, plan, &row, &changed)?) {
            let Some(entry) = row.actions.get_mut(action.index) else { continue };
            match outcome {
                Err(refusal) => entry.refuse(refusal),
                Ok(None) => {
                    entry.state = ActionState::Proposed;
                    self.proposal(row.id, entry, action).put(tx)?;
                }
                Ok(Some(done)) => {
                    (entry.seq, entry.writes) = (Some(seq), done.writes);
                    touched.extend(action.permitted.nodes());
                    made.extend(done.made);
                }
            }
        }
        let visited = self.visited(tx)?;
        let start = position(tx)?;
        if self.definition.execution.replay && row.mode != Some(Mode::Observe) {
            visited.iter().try_for_each(|&id| self.replay(tx, id))?;
        }
        row.replays = WriteRange { start, end: position(tx)? };
        for &id in &visited {
            let outcome = match touched.contains(&id) {
                _ if !self.options.by_language_model => VisitOutcome::Compared,
                true => VisitOutcome::Modified,
                false => VisitOutcome::Processed,
            };
            self.visit(tx, id, outcome, changed.contains(&id))?;
        }
        if self.definition.freshness.ignore_own_writes {
            made.into_iter().try_for_each(|id| {
                action_executor::record_own_visit(tx, &self.definition.name, id, self.now)
            })?;
        }
        self.confirm_derived(tx, plan)?;
        row.visited = visited;
        let status = status(&row);
        row.seq = Some(seq);
        row.finish(self.memory, status, None);
        ledger::end(self.memory, tx, &row)?;
        Ok(row)
    }

    /// Marks stale notes of this agent as active again if the prompt showed them with the current text of their sources
    /// and the reply did not replace them. A note stays as it is if a limit cut its replacement off, or if its
    /// replacement waits for approval, also since an earlier run: a change of its state would make the proposal
    /// outdated.
    fn confirm_derived(&self, tx: &mut Transaction<'_>, plan: &[PlannedAction]) -> Result<()> {
        let own = self.definition.provenance();
        let mut replaced: HashSet<NodeId> =
            plan.iter().filter_map(|action| action.permitted.replaced_node()).collect();
        replaced.extend(self.cut_off.wholly.iter().chain(self.waiting));
        let without_source = self.selection.known_facts();
        let shown = self.selection.handles.iter().filter(|handle| handle.is_derived);
        shown
            .filter(|handle| handle.node.provenance == own)
            .filter(|handle| !replaced.contains(&handle.node.id))
            .filter(|handle| !without_source.contains(&handle.ix))
            .try_for_each(|handle| derivation::confirm(tx, &handle.node, self.now))
    }

    /// The outcome of each action: refused, proposed (`None`) or applied.
    fn outcomes<'p>(
        &self,
        tx: &mut Transaction<'_>,
        plan: &'p [PlannedAction],
        row: &Run,
        changed: &HashSet<NodeId>,
    ) -> Result<Vec<std::result::Result<Option<ActionEffect>, Refusal>>> {
        let changed_since_read = |action: &PlannedAction| {
            let id = action.permitted.nodes().into_iter().find(|id| changed.contains(id))?;
            let name = self.selection.by_id(id).map_or("a note", |handle| handle.name.as_str());
            let why = format!("{name} was edited, superseded or deleted during the call");
            Some(RefusalReason::ChangedSinceRead.because(why))
        };
        let summary = |index: usize| row.actions.get(index).map_or("", |entry| entry.summary.as_str());
        let step = |action: &'p PlannedAction| ActionStep {
            index: action.index,
            part_of: action.part_of,
            summary: summary(action.index),
            permitted: &action.permitted,
            ready: changed_since_read(action).map_or(Ok(action.note.as_ref()), Err),
            proposal: None,
        };
        let now: Vec<ActionStep<'_>> = plan.iter().filter(|action| !action.proposed).map(step).collect();
        let executor = ActionExecutor {
            memory: self.memory,
            agent: &self.definition.name,
            max_per_source: Some(self.definition.limits.insert_max_per_source),
            now: self.now,
            inserted: RefCell::default(),
        };
        let mut done = action_group::execute(&executor, tx, &now)?.into_iter();
        let mut outcome = |action: &PlannedAction| match (action.proposed, changed_since_read(action)) {
            (true, Some(refusal)) => Err(refusal),
            (true, None) => Ok(None),
            (false, _) => done.next().map(|outcome| outcome.map(Some)).unwrap_or(Ok(None)),
        };
        Ok(plan.iter().map(&mut outcome).collect())
    }

    /// The proposal of an action that waits for approval.
    fn proposal(&self, run: RunId, entry: &ledger::ActionRecord, action: &PlannedAction) -> Proposal {
        let version = |id: NodeId| Some(NodeVersion { id, version: self.selection.by_id(id)?.node.version });
        let selection = self.selection;
        let handles = selection.handles.iter().map(|handle| handle.node.id);
        let read = handles.chain(selection.read.iter().map(|(id, _)| *id));
        Proposal {
            run,
            index: stored_index(action.index),
            agent: self.definition.name.clone(),
            made: self.now,
            summary: entry.summary.clone(),
            why: entry.why.clone(),
            permitted: action.permitted.clone(),
            versions: action.permitted.nodes().into_iter().filter_map(version).collect(),
            read: read.filter(|_| action.permitted.draft().is_some()).collect(),
            part_of: action.part_of.map(stored_index),
            protect: self.definition.limits.protect.iter().map(ToString::to_string).collect(),
            tenant: self.memory.store.tuple().clone(),
        }
    }

    /// Nodes of the selection that were changed, superseded or deleted since they were read.
    fn changed(&self, tx: &Transaction<'_>) -> Result<HashSet<NodeId>> {
        let mut changed = HashSet::new();
        for handle in &self.selection.handles {
            let read = &handle.node;
            let same = |now: &poc_graph::Node| now.version == read.version && now.state.is_live();
            if !tx.node(read.id)?.as_ref().is_some_and(same) {
                changed.insert(read.id);
            }
        }
        Ok(changed)
    }

    /// Selected nodes whose texts the prompt showed and that still exist. A node whose text was too long to
    /// show in full counts as well: otherwise every run would select the same long notes and never reach the
    /// others. Nodes whose actions were cut off by a limit stay stale, so that a later run can complete them, and so do
    /// nodes that the prompt did not show beside all of their visited partners. A node of which some actions were
    /// permitted stays stale only if the run visits another stale node: otherwise, every run would select the same
    /// nodes.
    fn visited(&self, tx: &Transaction<'_>) -> Result<Vec<NodeId>> {
        let mut visited = Vec::new();
        let partners: HashSet<Ix> = self.selection.partners.values().flatten().copied().collect();
        let mut visits_another = false;
        let is_done = |handle: &&Handle| {
            handle.shown != PromptExtent::Named
                && !self.cut_off.wholly.contains(&handle.node.id)
                && self.selection.is_shown_beside_partners(handle.ix)
        };
        for handle in self.selection.selected().filter(is_done) {
            let id = handle.node.id;
            if tx.node(id)?.is_some() {
                visited.push(id);
                visits_another |= !self.cut_off.partly.contains(&id) && !partners.contains(&handle.ix);
            }
        }
        if visits_another {
            visited.retain(|id| !self.cut_off.partly.contains(id));
        }
        Ok(visited)
    }

    /// Records a visit of the version that was read. If own writes do not count as changes, the version that
    /// the run has written is recorded instead.
    fn visit(
        &self,
        tx: &mut Transaction<'_>,
        id: NodeId,
        outcome: VisitOutcome,
        changed: bool,
    ) -> Result<()> {
        let Some(handle) = self.selection.by_id(id) else { return Ok(()) };
        let own = self.definition.freshness.ignore_own_writes && !changed;
        let current = if own { tx.node(id)?.map(|node| node.version) } else { None };
        let version = current.unwrap_or(handle.node.version);
        tx.put_visit(&self.definition.name, id, &Visit { at: self.now, outcome, version })
    }

    /// Moves a node to the next spaced-repetition interval.
    fn replay(&self, tx: &mut Transaction<'_>, id: NodeId) -> Result<()> {
        let Some(activity) = tx.activity(id)? else { return Ok(()) };
        let next = Activity::REPLAY_DAYS.into_iter().find(|&days| days > activity.replay_interval);
        let replay_interval =
            next.or(Activity::REPLAY_DAYS.last().copied()).unwrap_or(activity.replay_interval);
        tx.put_activity(id, &Activity { replay_interval, replayed: Some(self.now), ..activity })
    }
}

/// The index of an action as it is stored. The limits keep replies far below `u16::MAX` actions.
fn stored_index(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
