//! Actions that a person did not want: rejected proposals of an agent, and links of any agent that were undone or
//! rejected. An agent may read the same notes again, and other agents read them as well. They would take the same
//! actions again.

use super::action::Action;
use super::definition::ActionKind;
use super::ledger::{self, ActionRecord, ActionState, LinkEnds, Run};
use super::permit::{PermittedAction, Refusal, RefusalReason};
use super::selection::Selection;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Node, RunId};
use poc_notes::Memory;
use std::collections::HashMap;

/// Runs that began longer than this before a note changed are not read, because they ended before the change.
const MAX_RUN: Span = Span::DAY;

/// A link that was undone or rejected.
struct UnwantedLink {
    notes: LinkedNotes,
    agent: String,
    run: RunId,
    /// When the run ended.
    ended: Timestamp,
    state: ActionState,
}

impl UnwantedLink {
    /// The link of the action at this position of a run.
    fn of(run: &Run, at: usize, action: &ActionRecord) -> UnwantedLink {
        let of_summary = || LinkedNotes::Summary(action.summary.clone());
        UnwantedLink {
            notes: run.link(at).map_or_else(of_summary, LinkedNotes::Ids),
            agent: run.agent.clone(),
            run: run.id,
            ended: run.finished.unwrap_or(run.started),
            state: action.state,
        }
    }
}

/// The notes of a link, as the row of a run names them.
enum LinkedNotes {
    Ids(LinkEnds),
    /// The summary of the action. Rows of older releases have nothing else.
    Summary(String),
}

impl LinkedNotes {
    /// Whether they are these two notes, in either order.
    fn are(&self, one: &Node, other: &Node) -> bool {
        match self {
            LinkedNotes::Ids(ends) => {
                ends.undirected() == LinkEnds { from: one.id, to: other.id }.undirected()
            }
            LinkedNotes::Summary(summary) => {
                let begin = |from: &Node, to: &Node| format!("link `{}` to `{}` at ", from.key, to.key);
                summary.starts_with(&begin(one, other)) || summary.starts_with(&begin(other, one))
            }
        }
    }
}

/// The actions that a person did not want, of which rows are stored.
pub(super) struct UnwantedActions {
    agent: String,
    /// The links of all agents that were undone or rejected, those of the newest run first.
    links: Vec<UnwantedLink>,
    /// The rejected proposals of the agent, except those of links, by summary: the newest run with each of them, and
    /// when it ended. Replacements have a direction: somebody who wants to keep one of two notes rejects the replacement
    /// of that one, not that of the other.
    rejected: HashMap<String, (RunId, Timestamp)>,
}

impl UnwantedActions {
    /// Those among the actions of a reply of this agent, for the tenant of the memory. Only rows of runs that may have
    /// read the current texts of the notes are read.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn of(
        memory: &Memory,
        agent: &str,
        selection: &Selection,
        actions: &[Action],
    ) -> Result<UnwantedActions> {
        let (of_links, of_others): (Vec<&Action>, Vec<&Action>) =
            actions.iter().partition(|action| action.kind() == ActionKind::LinkAdd);
        let mut links = Vec::new();
        if let Some(since) = first_run(selection, &of_links) {
            ledger::for_each_since(memory, None, since, |run| {
                if run.tenant == *memory.store.tuple() {
                    links.extend(run.unwanted_links().map(|(at, action)| UnwantedLink::of(&run, at, action)));
                }
            })?;
        }
        let mut rejected = HashMap::new();
        if let Some(since) = first_run(selection, &of_others) {
            ledger::for_each_since(memory, Some(agent), since, |run| {
                if run.tenant != *memory.store.tuple() {
                    return;
                }
                let at = (run.id, run.finished.unwrap_or(run.started));
                for action in run.actions.iter().filter(|action| action.state == ActionState::Rejected) {
                    let summary = without_amount(action.kind, &action.summary).to_owned();
                    rejected.entry(summary).or_insert(at);
                }
            })?;
        }
        Ok(UnwantedActions { agent: agent.to_owned(), links, rejected })
    }

    /// Why an action is refused: a person did not want it, and its notes have not changed since. Links are the same in
    /// either direction and with any strength, and changes of a weight are if they raise or lower it by any amount.
    pub(super) fn refusal(
        &self,
        selection: &Selection,
        summary: &str,
        action: &PermittedAction,
    ) -> Option<Refusal> {
        let is_unchanged = |since: Timestamp| {
            let mut notes = action.nodes().into_iter().map(|id| selection.by_id(id));
            notes.all(|note| note.is_some_and(|handle| handle.node.modified <= since))
        };
        let Some(LinkEnds { from, to }) = action.link() else {
            let kind = matches!(action, PermittedAction::Weigh { .. }).then_some(ActionKind::Weight);
            let (run, ended) = self.rejected.get(without_amount(kind, summary))?;
            let why = format!("it was rejected in the run {run}");
            return is_unchanged(*ended).then(|| RefusalReason::RejectedBefore.because(why));
        };
        let (from, to) = (selection.by_id(from)?, selection.by_id(to)?);
        let is_same = |link: &&UnwantedLink| is_unchanged(link.ended) && link.notes.are(&from.node, &to.node);
        let link = self.links.iter().find(is_same)?;
        let done = if link.state == ActionState::Undone { "undone" } else { "rejected" };
        let whose = if link.agent == self.agent { String::new() } else { format!(" of `{}`", link.agent) };
        let why = format!("the same link{whose} was {done}, in the run {}", link.run);
        Some(RefusalReason::RejectedBefore.because(why))
    }
}

/// When the first run may have begun that read the current texts of the notes of one of these actions. `None` if there is
/// nothing to look for.
fn first_run(selection: &Selection, actions: &[&Action]) -> Option<Timestamp> {
    let first = actions.iter().filter_map(|action| last_change(selection, action)).min()?;
    Some(first.minus(MAX_RUN))
}

/// The time until which the notes of an action have changed, or an earlier time. `None` if one of them is not in the
/// prompt, so that the action is refused anyway.
fn last_change(selection: &Selection, action: &Action) -> Option<Timestamp> {
    let modified = |name: &str| Some(selection.get(name.trim())?.node.modified);
    match action {
        Action::LinkAdd(link) => Some(modified(&link.from)?.max(modified(&link.to)?)),
        Action::Weight(weight) => modified(&weight.node),
        Action::Supersede(supersede) => modified(&supersede.node),
        // A new note without sources does not depend on notes that could change.
        Action::Insert(insert) => {
            let latest = |latest: Timestamp, name: &String| Some(latest.max(modified(name)?));
            insert.sources.iter().try_fold(Timestamp(0), latest)
        }
    }
}

/// The summary of an action; that of a change of a weight without the amount, which becomes smaller from day to day when
/// the weight decays toward the lowest that agents set.
fn without_amount(kind: Option<ActionKind>, summary: &str) -> &str {
    match kind {
        Some(ActionKind::Weight) => summary.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
        _ => summary,
    }
}
