//! Notes that were derived from others, such as facts and digests. They are searched like all notes and pass a share of
//! their score to their sources, which represent them among the hits: a hit shows which derived note led to it.

use super::candidates::{CandidateScore, Candidates, RetrievalQuery};
use poc_graph::{Ix, NodeId};

/// Passes part of the base scores of derived candidates to their sources, which need not have been candidates before.
/// Of the confirmed questions, only the best `max_questions` pass score: the others are less similar to the question
/// and lead to notes that answer something else. A question that a derived note answered also passes score to the
/// sources of this note, which represent it among the hits.
///
/// Returns the derived notes; [`poc_rank::propagation::PropagatedScore::leading_derived`] is a position in this list.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    max_questions: usize,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let (mut derived, mut questions) = (Vec::new(), 0);
    for CandidateScore { ix, id, score } in candidates.in_order() {
        let view = question.view;
        let mut origins: Vec<Ix> = view.sources(ix).collect();
        if view.is_confirmed_question(ix) {
            questions += 1;
            if questions > max_questions {
                continue;
            }
            let of_answers: Vec<Ix> = origins.iter().flat_map(|&answer| view.sources(answer)).collect();
            origins.extend(of_answers);
        }
        let before = derived.len();
        for origin in origins {
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
