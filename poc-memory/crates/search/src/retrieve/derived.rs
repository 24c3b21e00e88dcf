//! Notes that were derived from others, such as facts and digests. They are searched like all notes and pass a share of
//! their score to their sources, which represent them among the hits: a hit shows which derived note led to it.

use super::candidates::{CandidateScore, Candidates, RetrievalQuery};
use poc_config::ScoreFusionConfig;
use poc_graph::{Ix, NodeId, View};

/// Passes part of the base scores of derived candidates to their sources, which need not have been candidates before.
/// Sources that were derived from others do not represent the candidate, so their sources get a share, too, which
/// decreases with each step.
///
/// Only the best `question_from` confirmed questions pass their score. The others are less similar to the question, and
/// their notes answer something else. A question that a derived note answered also passes its score to the
/// notes that this note was derived from, because they represent it among the hits.
///
/// Returns the derived notes; [`poc_rank::propagation::PropagatedScore::derived_source`] is a position in this list.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    weights: &ScoreFusionConfig,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let is_visible = |ix: Ix| question.visible_id(ix).is_some();
    // The weight of the first step is applied when all shares of a note are added. A weight above 1 must not be raised
    // to a power.
    let further_weight = weights.derived_weight.min(1.0);
    let (mut derived, mut questions) = (Vec::new(), 0);
    for CandidateScore { ix, id, score } in candidates.in_order() {
        let view = question.view;
        let shares = if view.is_confirmed_question(ix) {
            // Damage may have lost the notes that answered it.
            if view.sources(ix).next().is_none() {
                continue;
            }
            questions += 1;
            if questions > weights.question_from {
                continue;
            }
            shares_of_question(view, ix, score, &is_visible)
        } else {
            shares_of_note(view, ix, score, further_weight, &is_visible)
        };
        let before = derived.len();
        for (origin, share) in shares {
            if let Some(candidate) = candidates.at_index(question, origin) {
                candidate.propagated.add_derived(share, before);
                if derived.len() == before {
                    derived.push(id);
                }
            }
        }
    }
    derived
}

/// The notes that a derived note passes score to.
fn shares_of_note(
    view: &View,
    ix: Ix,
    score: f64,
    further_weight: f64,
    is_visible: &dyn Fn(Ix) -> bool,
) -> Vec<(Ix, f64)> {
    let share = |steps: usize| (1..steps).fold(score, |share, _| share * further_weight);
    view.ancestors(ix, is_visible).into_iter().map(|(origin, steps)| (origin, share(steps))).collect()
}

/// The notes that a confirmed question passes score to: its answers, and what represents those that are derived notes.
fn shares_of_question(view: &View, ix: Ix, score: f64, is_visible: &dyn Fn(Ix) -> bool) -> Vec<(Ix, f64)> {
    let mut shares = Vec::new();
    for answer in view.sources(ix) {
        shares.push((answer, score));
        shares.extend(view.ancestors(answer, is_visible).into_iter().map(|(origin, _)| (origin, score)));
    }
    shares
}
