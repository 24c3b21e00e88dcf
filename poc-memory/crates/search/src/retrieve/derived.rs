//! Notes that were derived from others, such as facts and digests. They are searched like all notes and pass a share of
//! their score to their sources, which represent them among the hits: a hit shows which derived note led to it.

use super::candidates::{CandidateScore, Candidates, RetrievalQuery};
use poc_graph::NodeId;

/// Passes part of the base scores of derived candidates to their sources, which need not have been candidates before.
/// Of the confirmed questions, only the best `max_questions` pass score: the others are less similar to the question
/// and lead to notes that answer something else.
///
/// Returns the derived notes; [`poc_rank::propagation::PropagatedScore::leading_derived`] is a position in this list.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    max_questions: usize,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let (mut derived, mut questions) = (Vec::new(), 0);
    for CandidateScore { ix, id, score } in candidates.in_order() {
        if question.view.is_confirmed_question(ix) {
            questions += 1;
            if questions > max_questions {
                continue;
            }
        }
        let before = derived.len();
        for origin in question.view.sources(ix) {
            if let Some(candidate) = candidates.at_index(question, origin) {
                candidate.propagated.add_derived(score, before);
                if derived.len() == before {
                    derived.push(id);
                }
            }
        }
    }
    derived
}
