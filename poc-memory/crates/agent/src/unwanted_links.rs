//! Links that a person did not want: those of other agents that were undone, or rejected as proposals. An agent reads
//! the same notes as the others and would make the same links again. An agent's own undone links are part of its record
//! (`writer_record`).

use super::action::Action;
use super::definition::ActionKind;
use super::ledger::{self, ActionState, LinkEnds, Status};
use super::permit::{PermittedAction, Refusal, RefusalReason};
use super::selection::{Handle, Selection};
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Node, RunId};
use poc_notes::Memory;

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

/// The links that were undone or rejected, of which rows are stored.
pub(super) struct UnwantedLinks(Vec<UnwantedLink>);

impl UnwantedLinks {
    /// The links of all agents but this one, for the tenant of the memory, that may be among these actions. Only rows
    /// of runs that may have read the current texts of the notes are read.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn of_others(
        memory: &Memory,
        agent: &str,
        selection: &Selection,
        actions: &[Action],
    ) -> Result<UnwantedLinks> {
        let ends = |action: &Action| match action {
            Action::LinkAdd(link) => selection.get(link.from.trim()).zip(selection.get(link.to.trim())),
            _ => None,
        };
        let changes = actions.iter().filter_map(ends).map(|(from, to)| last_change(from, to));
        let Some(since) = changes.min() else { return Ok(UnwantedLinks(Vec::new())) };
        let mut links = Vec::new();
        // The newest run first.
        for run in ledger::rows_since(memory, since.minus(MAX_RUN))?.into_iter().rev() {
            // The judge undoes all links of a run, whichever of them are harmful.
            if run.agent == agent || run.status == Status::Reverted || run.tenant != *memory.store.tuple() {
                continue;
            }
            let ended = run.finished.unwrap_or(run.started);
            for (at, action) in run.actions.iter().enumerate() {
                let is_unwanted = matches!(action.state, ActionState::Undone | ActionState::Rejected);
                if is_unwanted && action.kind == Some(ActionKind::LinkAdd) {
                    let of_summary = || LinkedNotes::Summary(action.summary.clone());
                    links.push(UnwantedLink {
                        notes: run.link(at).map_or_else(of_summary, LinkedNotes::Ids),
                        agent: run.agent.clone(),
                        run: run.id,
                        ended,
                        state: action.state,
                    });
                }
            }
        }
        Ok(UnwantedLinks(links))
    }

    /// Why an action is refused: it makes one of these links, in either direction and with any strength, and its notes
    /// have not changed since the run.
    pub(super) fn refusal(&self, selection: &Selection, action: &PermittedAction) -> Option<Refusal> {
        let PermittedAction::Link { from, to, .. } = action else { return None };
        let (from, to) = (selection.by_id(*from)?, selection.by_id(*to)?);
        let last_change = last_change(from, to);
        let is_same =
            |link: &&UnwantedLink| last_change <= link.ended && link.notes.are(&from.node, &to.node);
        let link = self.0.iter().find(is_same)?;
        let done = if link.state == ActionState::Undone { "undone" } else { "rejected" };
        let why = format!("the same link of `{}` was {done}, in the run {}", link.agent, link.run);
        Some(RefusalReason::RejectedBefore.because(why))
    }
}

/// When one of two notes was last edited.
fn last_change(from: &Handle, to: &Handle) -> Timestamp {
    from.node.modified.max(to.node.modified)
}
