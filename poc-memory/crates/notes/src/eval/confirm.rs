//! Simulates a user who confirms which note answered a question.

use super::measure::Evaluation;
use super::set::EvalSet;
use crate::{Draft, confirmed_question};
use poc_graph::error::Result;
use poc_graph::{NodeId, Trust};

/// The actor of the confirmations.
const ACTOR: &str = "eval";

/// Two sets with the same documents, each with half of the questions of each group.
pub struct EvalHalves {
    /// The set with the questions at odd positions of their group.
    pub odd: EvalSet,
    /// The set with those at even positions.
    pub even: EvalSet,
}

impl EvalSet {
    /// Divides the questions of each group into two sets.
    pub fn halves(&self) -> EvalHalves {
        let mut seen = vec![0_usize; self.groups.len()];
        let is_odd = |group: usize| {
            seen.get_mut(group).is_some_and(|count| {
                *count += 1;
                *count % 2 == 1
            })
        };
        let marked: Vec<bool> = self.questions.iter().map(|question| question.group).map(is_odd).collect();
        let half = |wanted: bool| {
            let own = self.questions.iter().zip(&marked).filter(|(_, odd)| **odd == wanted);
            EvalSet { questions: own.map(|(question, _)| question.clone()).collect(), ..self.clone() }
        };
        EvalHalves { odd: half(true), even: half(false) }
    }
}

impl Evaluation {
    /// Confirms each question for one of its relevant notes, as a user would who found that note by other
    /// means. A hash of the question selects the note. Returns the number of confirmed questions.
    ///
    /// # Errors
    /// Those of the embedder and the store.
    pub fn confirm(&self, set: &EvalSet, progress: &dyn Fn(u64, u64)) -> Result<u64> {
        let mut confirmed = 0;
        for (done, question) in (1..).zip(&set.questions) {
            let Some(group) = self.group(question.group) else { continue };
            let relevant: Vec<NodeId> =
                question.relevant.keys().filter_map(|document| group.notes.get(document)).copied().collect();
            let hash = question
                .text
                .bytes()
                .fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
            if let Some(&note) = relevant.get(hash % relevant.len().max(1)) {
                let draft = Draft { title: Some(question.text.clone()), ..Draft::new(ACTOR, Trust::User) };
                let prepared = confirmed_question::prepare(&group.memory, draft)?;
                let cause = group.memory.cause(ACTOR, "reinforce");
                let now = cause.at;
                let store = &group.memory.store;
                let done = store.transact(cause, |tx| confirmed_question::apply(tx, &prepared, note, now))?;
                confirmed += u64::from(done.value.is_some());
            }
            progress(done, set.questions.len() as u64);
        }
        Ok(confirmed)
    }
}
