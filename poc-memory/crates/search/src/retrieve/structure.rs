//! One propagation step along the structure: from the notes found to their neighbours in a session, to notes they
//! mention, to notes that mention them and to notes that share a name with them. Notes without any of these relations
//! get a share from similar notes.

use super::candidates::{CandidateScore, Candidates, POOL, RetrievalQuery};
use super::retriever::Retriever;
use poc_config::ScoreFusionConfig;
use poc_graph::{Ix, NodeId, View};
use poc_index::MentionReader;
use poc_rank::propagation::PropagationWeights;

/// Propagates part of the scores. Every candidate with a positive base score passes a share to its neighbours in the
/// session. The best `mention-from` candidates pass one to the notes they mention and to those that mention them, and
/// the best `shared-from` pass one to the notes that share a name with them. Names in the query do not count, because
/// text search already finds them.
///
/// Returns the source notes; [`poc_rank::propagation::PropagatedScore::name_source`] is a position in this list.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    retriever: &Retriever<'_>,
    text: &str,
    weights: PropagationWeights,
    wanted: usize,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let (config, mentions) = (&retriever.config.scores, retriever.mentions);
    let mut sources = candidates.in_order();
    sources.retain(|found| found.score > 0.0);
    let (mut beside, mut further) = (Vec::new(), Vec::new());
    for &CandidateScore { ix, score, .. } in &sources {
        session_neighbors(question.view, ix, &mut beside, &mut further);
        for &other in &beside {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.propagated.add_adjacent(score);
            }
        }
        for &other in &further {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.propagated.add_second_adjacent(score);
            }
        }
    }
    for (from, &CandidateScore { id, score, .. }) in sources.iter().enumerate().take(config.mention_from) {
        for other in mentions.mentioned_by(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.propagated.add_mentioned_by(score, from);
            }
        }
        for other in mentions.mentioning(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.propagated.add_mention_of(score, from);
            }
        }
    }
    let best: Vec<NodeId> = sources.iter().map(|found| found.id).collect();
    let from = if weights.sharing > 0.0 { config.shared_from.min(best.len()) } else { 0 };
    let shared = mentions.sharing_names(best.get(..from).unwrap_or_default(), weights.shared_by, text);
    let min = candidates.nth_best(wanted, weights);
    for ((from, found), others) in sources.iter().enumerate().zip(shared) {
        for (other, count) in others {
            let share = weights.of_shared_name(count, found.score);
            // A note that is not a candidate at this point gets no other share.
            let can_enter = |base: f64| base + share >= min;
            if let Some(candidate) = candidates.at_if(question, other, can_enter) {
                candidate.propagated.add_shared_name(share, from);
            }
        }
    }
    best
}

/// Passes to the best candidates without relations a share from the nearest notes with a positive base score. Confirmed
/// questions neither receive nor pass one: their share goes to the notes that answered them.
pub(super) fn add_similarity_boosts(
    question: &RetrievalQuery<'_>,
    mentions: &dyn MentionReader,
    weights: &ScoreFusionConfig,
    candidates: &mut Candidates,
) {
    let mut best = candidates.in_order();
    best.retain(|found| !question.view.is_confirmed_question(found.ix));
    best.truncate(POOL);
    let to: Vec<NodeId> = best.iter().map(|found| found.id).collect();
    // The candidates are in descending order.
    let positive = best.iter().take_while(|found| found.score > 0.0).count();
    let from = to.get(..positive).unwrap_or_default();
    let near = question.cosines.nearest_among(&to, from, weights.alike_notes, weights.alike_cosine);
    for (&CandidateScore { ix, id, .. }, near) in best.iter().zip(near) {
        if near.is_empty() || is_linked(question.view, mentions, ix, id) {
            continue;
        }
        let Some(candidate) = candidates.at_index(question, ix) else { continue };
        for (position, cosine) in near {
            let score = best.get(position).map_or(0.0, |found| found.score);
            candidate.propagated.add_similar(cosine, score);
        }
    }
}

/// Whether a note is part of a session, mentions a note or is mentioned by one.
fn is_linked(view: &View, mentions: &dyn MentionReader, ix: Ix, id: NodeId) -> bool {
    view.sequence_neighbors(ix).next().is_some()
        || !mentions.mentioned_by(id).is_empty()
        || !mentions.mentioning(id).is_empty()
}

/// Collects the notes next to a note in its session, and those two places away.
fn session_neighbors(view: &View, ix: Ix, beside: &mut Vec<Ix>, further: &mut Vec<Ix>) {
    beside.clear();
    further.clear();
    beside.extend(view.sequence_neighbors(ix));
    for &near in beside.iter() {
        further.extend(view.sequence_neighbors(near).filter(|other| *other != ix));
    }
    further.retain(|other| !beside.contains(other));
}
