//! Compares the gates of `query` on the questions of a set.
//!
//! Each question is judged twice: with its relevant notes in the store (`answerable`), and as if they did not
//! exist (`removed`). Foreign questions are about something else: the questions of another set or, in a set
//! with groups, those of the group before.

use super::calibrate::{AnswerRates, right};
use super::measure::{EvalPhase, Evaluation};
use super::set::EvalSet;
use crate::Memory;
use crate::query_gate::{self, Exclusions, GateQuery, GateReason};
use poc_config::GateKind;
use poc_graph::error::Result;
use poc_graph::{NodeId, Visibility};
use poc_rank::gate::Verdict;
use serde::Serialize;

/// The verdicts of one gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateRates {
    /// The gate.
    pub gate: GateKind,
    /// Number of questions with relevant notes.
    pub questions: u64,
    /// Verdicts with the relevant notes in the store.
    pub answerable: AnswerRates,
    /// Verdicts as if the relevant notes did not exist.
    pub removed: AnswerRates,
    /// Number of questions that are WEAK only because the best note is about another subject, with the relevant notes
    /// in the store.
    pub other_subject: u64,
    /// The same number as if the relevant notes did not exist.
    pub removed_other_subject: u64,
    /// Number of foreign questions.
    pub foreign_questions: u64,
    /// Verdicts on the foreign questions; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<AnswerRates>,
}

/// The verdicts on questions, each with whether the best note is a relevant one.
type Verdicts = Vec<(Verdict, bool)>;

impl Evaluation {
    /// Asks the questions of the set, and judges each answer with every gate. `foreign` is a set about something else.
    /// Calls `progress` with the number of judged questions and the total, over all gates.
    ///
    /// # Errors
    /// `invalid_config` if there are no thresholds for the embedder; those of the embedder and the store.
    pub fn gates(
        &self,
        set: &EvalSet,
        foreign: Option<&EvalSet>,
        progress: &dyn Fn(EvalPhase, u64, u64),
    ) -> Result<Vec<GateRates>> {
        let groups = self.memories().len();
        let others = foreign.map_or(0, |foreign| foreign.questions.len());
        let total = ((set.questions.len() + others) * GateKind::ALL.len()) as u64;
        let mut done = 0;
        let mut advance = || {
            done += 1;
            progress(EvalPhase::Asking, done, total);
        };
        let mut all = Vec::new();
        for gate in GateKind::ALL {
            let [mut answerable, mut removed, mut elsewhere] =
                [Verdicts::new(), Verdicts::new(), Verdicts::new()];
            let (mut other_subject, mut removed_other_subject) = (0, 0);
            for question in &set.questions {
                advance();
                let Some(group) = self.group(question.group) else { continue };
                let (right, text) = (right(question, group), &question.text);
                let (known, reason) = verdict(&group.memory, text, &right, &[], gate)?;
                answerable.push(known);
                other_subject += u64::from(reason == GateReason::OtherSubject);
                let (unknown, reason) = verdict(&group.memory, text, &[], &right, gate)?;
                removed.push(unknown);
                removed_other_subject += u64::from(reason == GateReason::OtherSubject);
                let next = (question.group + 1) % groups.max(1);
                if let Some(other) = self.group(next).filter(|_| foreign.is_none() && next != question.group)
                {
                    elsewhere.push(verdict(&other.memory, text, &[], &[], gate)?.0);
                }
            }
            for (number, question) in foreign.into_iter().flat_map(|foreign| &foreign.questions).enumerate() {
                advance();
                let Some(group) = self.group(number % groups.max(1)) else { continue };
                elsewhere.push(verdict(&group.memory, &question.text, &[], &[], gate)?.0);
            }
            // Without its relevant notes, a question has no right answer.
            let without_right = |verdicts| AnswerRates { right: None, ..AnswerRates::of_verdicts(verdicts) };
            all.push(GateRates {
                gate,
                questions: answerable.len() as u64,
                answerable: AnswerRates::of_verdicts(&answerable),
                removed: without_right(&removed),
                other_subject,
                removed_other_subject,
                foreign_questions: elsewhere.len() as u64,
                foreign: (!elsewhere.is_empty()).then(|| without_right(&elsewhere)),
            });
        }
        Ok(all)
    }
}

/// The verdict on a question without the notes in `except`, whether the best note is one of `right`, and what decided.
fn verdict(
    memory: &Memory,
    text: &str,
    right: &[NodeId],
    except: &[NodeId],
    gate: GateKind,
) -> Result<((Verdict, bool), GateReason)> {
    let visibility = Visibility::of_person(memory.now());
    let (view, exclusions) = (memory.store.view(), Exclusions::except(except));
    let vector = memory.embedder.embed_one(text)?;
    let query = GateQuery { view: &view, text, vector: &vector, visibility, exclusions };
    let judged = query_gate::judge(memory, &query, gate)?;
    let is_right = judged.best.is_some_and(|best| right.contains(&best.id));
    Ok(((judged.verdict, is_right), judged.reason))
}
