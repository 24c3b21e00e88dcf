//! One step along the structure: from what is found to what stands beside it in a session, to what it
//! mentions, to what mentions it, to what has a name in common with it, and, where nothing else leads, to
//! what is alike.

use super::candidates::{Candidates, POOL, Question};
use super::retriever::Retriever;
use poc_config::ScoreFusionConfig;
use poc_graph::{Ix, NodeId, View};
use poc_index::MentionReader;
use poc_rank::propagation::PropagationWeights;

/// Lets every candidate that is worth more than nothing give on to the notes around it, the best
/// `mention-from` of them to what they mention and to what mentions them, and the best `shared-from` to what
/// has a name in common with them that is not in the question: who has those is found by them anyway.
/// Returns the notes that give on; [`poc_rank::propagation::PropagatedScore::leading_source`] tells the place among them.
pub(super) fn propagate(
    question: &Question<'_>,
    retriever: &Retriever<'_>,
    text: &str,
    weights: PropagationWeights,
    wanted: usize,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let (config, mentions) = (&retriever.config.scores, retriever.mentions);
    let mut sources = candidates.in_order();
    sources.retain(|(.., worth)| *worth > 0.0);
    let (mut beside, mut further) = (Vec::new(), Vec::new());
    for &(ix, _, worth) in &sources {
        session_neighbors(question.view, ix, &mut beside, &mut further);
        for &other in &beside {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.propagated.add_adjacent(worth);
            }
        }
        for &other in &further {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.propagated.add_second_adjacent(worth);
            }
        }
    }
    for (from, &(_, id, worth)) in sources.iter().enumerate().take(config.mention_from) {
        for other in mentions.mentioned_by(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.propagated.add_mentioned_by(worth, from);
            }
        }
        for other in mentions.mentioning(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.propagated.add_mention_of(worth, from);
            }
        }
    }
    let best: Vec<NodeId> = sources.iter().map(|(_, id, _)| *id).collect();
    let from = if weights.sharing > 0.0 { config.shared_from.min(best.len()) } else { 0 };
    let shared = mentions.sharing_names(best.get(..from).unwrap_or_default(), weights.shared_by, text);
    let least = candidates.nth_best(wanted, weights);
    for ((from, &(.., worth)), others) in sources.iter().enumerate().zip(shared) {
        for (other, count) in others {
            let share = weights.of_shared_name(count, worth);
            // Nothing else comes to a note that is no candidate by now.
            let may_come_in = |own: f64| own + share >= least;
            if let Some(candidate) = candidates.at_if(question, other, may_come_in) {
                candidate.propagated.add_shared_name(share, from);
            }
        }
    }
    best
}

/// Lets every one of the best candidates that nothing is tied to have of those nearest to it that are worth
/// more than nothing.
pub(super) fn add_similarity_boosts(
    question: &Question<'_>,
    mentions: &dyn MentionReader,
    weights: &ScoreFusionConfig,
    candidates: &mut Candidates,
) {
    let mut best = candidates.in_order();
    best.truncate(POOL);
    let to: Vec<NodeId> = best.iter().map(|(_, id, _)| *id).collect();
    // They come in order.
    let giving = best.iter().take_while(|(.., worth)| *worth > 0.0).count();
    let from = to.get(..giving).unwrap_or_default();
    let near = question.cosines.nearest_among(&to, from, weights.alike_notes, weights.alike_cosine);
    for (&(ix, id, _), near) in best.iter().zip(near) {
        if near.is_empty() || is_linked(question.view, mentions, ix, id) {
            continue;
        }
        let Some(candidate) = candidates.at_index(question, ix) else { continue };
        for (place, cosine) in near {
            let worth = best.get(place).map_or(0.0, |(.., worth)| *worth);
            candidate.propagated.add_similar(cosine, worth);
        }
    }
}

/// Whether a note stands in a session, mentions another or is mentioned.
fn is_linked(view: &View, mentions: &dyn MentionReader, ix: Ix, id: NodeId) -> bool {
    view.sequence_neighbors(ix).next().is_some()
        || !mentions.mentioned_by(id).is_empty()
        || !mentions.mentioning(id).is_empty()
}

/// The notes before and after a note in its session, and those one further away.
fn session_neighbors(view: &View, ix: Ix, beside: &mut Vec<Ix>, further: &mut Vec<Ix>) {
    beside.clear();
    further.clear();
    beside.extend(view.sequence_neighbors(ix));
    for &near in beside.iter() {
        further.extend(view.sequence_neighbors(near).filter(|other| *other != ix));
    }
    further.retain(|other| !beside.contains(other));
}
