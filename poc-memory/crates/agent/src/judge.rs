//! Judges runs and approved proposals by the confirmed questions of the memory. If search answers them significantly
//! worse afterwards, the changes are undone.

use super::ledger::{self, Run};
use super::undo;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::{Memory, confirmed_question};
use poc_rank::sign_test::p_of_fall;
use std::collections::HashMap;

/// Maximum number of questions that are asked before and after a run, the newest ones. Each takes about a
/// millisecond.
const QUESTIONS: usize = 200;

/// Significance level of the sign test: a run is undone if at least as many worse ranks would occur by chance
/// with less than this probability.
const SIGNIFICANCE: f64 = 0.05;

/// The ranks of the confirmed questions before a run.
pub(super) struct Judge {
    before: HashMap<NodeId, f64>,
}

impl Judge {
    /// Asks the questions before the actions of a run are applied.
    pub(super) fn before(memory: &Memory) -> Result<Judge> {
        let before = confirmed_question::reciprocal_ranks(memory, QUESTIONS)?;
        Ok(Judge { before: before.into_iter().collect() })
    }

    /// Asks the questions again, and undoes the run if significantly more of them are answered worse than
    /// better. Questions that exist only before or only after the run do not count. Returns the stored row.
    pub(super) fn keep_or_revert(&self, memory: &Memory, row: Run) -> Result<Run> {
        if row.applied_actions().next().is_none() {
            return Ok(row);
        }
        let Some(fall) = self.significant_fall(memory)? else { return Ok(row) };
        undo::undo_by_agent(memory, &row)?;
        tracing::warn!(agent = row.agent, run = %row.id, "{fall}");
        ledger::set_reverted(memory, &row, fall)
    }

    /// Asks the questions again after proposals were approved, and undoes these if significantly more questions are
    /// answered worse than better. They wait for a decision again. Returns why they were undone.
    pub(super) fn keep_or_reopen(
        &self,
        memory: &Memory,
        row: &Run,
        approved: &[u16],
    ) -> Result<Option<String>> {
        let Some(fall) = self.significant_fall(memory)? else { return Ok(None) };
        undo::undo_approved(memory, row, approved)?;
        tracing::warn!(agent = row.agent, run = %row.id, "approved proposals were {fall}");
        Ok(Some(fall))
    }

    /// The message for an undo; `None` if chance explains the difference.
    fn significant_fall(&self, memory: &Memory) -> Result<Option<String>> {
        if self.before.is_empty() {
            return Ok(None);
        }
        let (mut worse, mut better) = (0, 0);
        for (question, after) in confirmed_question::reciprocal_ranks(memory, QUESTIONS)? {
            match self.before.get(&question) {
                Some(before) if after < *before => worse += 1,
                Some(before) if after > *before => better += 1,
                _ => {}
            }
        }
        let message = format!(
            "undone: search answers {worse} of {} confirmed questions worse after it, and {better} better",
            self.before.len()
        );
        Ok((p_of_fall(worse, better) < SIGNIFICANCE).then_some(message))
    }
}
