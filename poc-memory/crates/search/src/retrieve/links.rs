//! Links that people and agents created: score is propagated one step from the best notes along their `link` edges. The
//! share depends on the end with more links, so that a hub neither raises everything around it nor is raised by
//! everything.

use super::candidates::{CandidateScore, Candidates, RetrievalQuery};
use poc_config::ScoreFusionConfig;
use poc_graph::{EdgeKind, Ix, Neighbor, NodeId, Trust};
use poc_rank::propagation::PropagationWeights;

/// Passes a share of the score of the best notes to the notes at the other end of their links, in both directions.
/// Notes that were not candidates become candidates. Links of quarantined notes pass no score, even in a search that
/// includes these notes, because their untrusted author may have chosen the targets.
///
/// Returns the source notes; [`poc_rank::propagation::PropagatedScore::link_source`] is a position in this list.
pub(super) fn propagate(
    question: &RetrievalQuery<'_>,
    config: &ScoreFusionConfig,
    weights: PropagationWeights,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let mut best = candidates.in_order();
    best.retain(|found| found.score > 0.0);
    let is_trusted = |ix: Ix| question.view.trust(ix) > Trust::Quarantined;
    best.truncate(config.link_from);
    let is_link = |edge: &&Neighbor| edge.kind() == EdgeKind::Link;
    let degree = |ix| question.view.edges(ix).iter().filter(is_link).count();
    for (from, &CandidateScore { ix, score, .. }) in
        best.iter().enumerate().filter(|(_, found)| is_trusted(found.ix))
    {
        let own = degree(ix);
        for link in question.view.edges(ix).iter().filter(is_link).filter(|link| is_trusted(link.target())) {
            let degree = own.max(degree(link.target()));
            let share = weights.of_link(f64::from(link.strength), degree, score);
            if let Some(candidate) = candidates.at_index(question, link.target()) {
                candidate.propagated.add_link(share, from, score);
            }
        }
    }
    best.into_iter().map(|found| found.id).collect()
}
