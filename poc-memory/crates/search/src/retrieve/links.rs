//! Links that people and agents made: one step from the best notes along their `link` edges.

use super::candidates::{Candidates, Question};
use poc_config::ScoreFusionConfig;
use poc_graph::{EdgeKind, Neighbor, NodeId};
use poc_rank::propagation::PropagationWeights;

/// Passes a share of the score of the best notes to the notes at the other end of their links, in both
/// directions. Notes that were not candidates become candidates.
///
/// Returns the source notes; [`poc_rank::propagation::PropagatedScore::linking_source`] is a position in them.
pub(super) fn propagate(
    question: &Question<'_>,
    config: &ScoreFusionConfig,
    weights: PropagationWeights,
    candidates: &mut Candidates,
) -> Vec<NodeId> {
    let mut best = candidates.in_order();
    best.retain(|(.., score)| *score > 0.0);
    best.truncate(config.link_from);
    let mut links: Vec<Neighbor> = Vec::new();
    for (from, &(ix, _, score)) in best.iter().enumerate() {
        links.clear();
        let edges = question.view.edges(ix).iter();
        links.extend(edges.copied().filter(|edge| edge.kind() == EdgeKind::Link));
        for link in &links {
            let share = weights.of_link(f64::from(link.strength), links.len(), score);
            if let Some(candidate) = candidates.at_index(question, link.target()) {
                candidate.propagated.add_link(share, from);
            }
        }
    }
    best.into_iter().map(|(_, id, _)| id).collect()
}
