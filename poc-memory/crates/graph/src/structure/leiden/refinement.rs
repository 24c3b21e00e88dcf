//! The second step of a level: splits every community into parts that are well connected internally.

use super::csr_graph::CsrGraph;
use super::local_moving::{LabelWeights, MIN_MOVE, shuffled};
use crate::rng::{Rng, SeededRng};

/// The randomness of the choice of a part (θ in the paper, which uses the same value): a part that raises the objective
/// by `RANDOMNESS` less is chosen e times less often.
const RANDOMNESS: f64 = 0.01;

/// The part of every node, below the number of nodes. A part lies within one community. Every node starts as a part of
/// its own. A node that is still alone and well connected with the rest of its community joins a well-connected part of
/// it, if modularity does not decrease. The choice among several parts is random, so that refinement can reach
/// partitions that a greedy choice would miss.
pub(super) fn refine(graph: &CsrGraph, communities: &[u32], random: &SeededRng) -> Vec<u32> {
    let nodes = graph.len();
    let in_community = graph.degrees_by(communities);
    let community = |node: u32| communities.get(node as usize).copied().unwrap_or(0);
    let community_degree = |node: u32| in_community.get(community(node) as usize).copied().unwrap_or(0.0);
    let cut = |node: u32| -> f64 {
        let inside = graph.edges(node).filter(|(other, _)| community(*other) == community(node));
        inside.map(|(_, weight)| weight).sum()
    };
    let mut parts = Parts {
        numbers: (0..nodes as u32).collect(),
        degrees: (0..nodes as u32).map(|node| graph.degree(node)).collect(),
        cuts: (0..nodes as u32).map(cut).collect(),
        is_alone: vec![true; nodes],
    };
    let mut weights = LabelWeights::new(nodes);
    let mut choices: Vec<(u32, f64)> = Vec::new();
    for node in shuffled(nodes, random) {
        let at = node as usize;
        let (Some(true), Some(&cut)) = (parts.is_alone.get(at).copied(), parts.cuts.get(at)) else {
            continue;
        };
        let (degree, community_degree) = (graph.degree(node), community_degree(node));
        let well_connected =
            |cut: f64, degree: f64| cut + MIN_MOVE >= degree * (community_degree - degree) / graph.total();
        if !well_connected(cut, degree) {
            continue;
        }
        for (other, weight) in graph.edges(node).filter(|(other, _)| community(*other) == community(node)) {
            if let Some(&part) = parts.numbers.get(other as usize) {
                weights.add(part, weight);
            }
        }
        choices.clear();
        for &part in weights.labels() {
            let Some((its_cut, its_degree)) = parts.cut_and_degree(part) else { continue };
            let gain = weights.get(part) - degree * its_degree / graph.total();
            if gain >= 0.0 && well_connected(its_cut, its_degree) {
                choices.push((part, gain));
            }
        }
        if let Some(part) = sample_part(&choices, random) {
            parts.join(node, part, degree, cut - 2.0 * weights.get(part));
        }
        weights.clear();
    }
    parts.numbers
}

/// The parts while nodes join them. A part has the number of the node with which it began.
struct Parts {
    /// The part of every node.
    numbers: Vec<u32>,
    /// By part: the sum of the degrees of its nodes.
    degrees: Vec<f64>,
    /// By part: the weight of the edges to the rest of its community.
    cuts: Vec<f64>,
    /// By node: whether it has joined no part and none has joined it.
    is_alone: Vec<bool>,
}

impl Parts {
    fn cut_and_degree(&self, part: u32) -> Option<(f64, f64)> {
        Some((*self.cuts.get(part as usize)?, *self.degrees.get(part as usize)?))
    }

    /// Adds a node that is alone to a part. `cut` is the change of the part's cut.
    fn join(&mut self, node: u32, part: u32, degree: f64, cut: f64) {
        if let Some(number) = self.numbers.get_mut(node as usize) {
            *number = part;
        }
        for end in [node, part] {
            if let Some(is_alone) = self.is_alone.get_mut(end as usize) {
                *is_alone = false;
            }
        }
        if let Some(sum) = self.degrees.get_mut(part as usize) {
            *sum += degree;
        }
        if let Some(sum) = self.cuts.get_mut(part as usize) {
            *sum += cut;
        }
    }
}

/// Chooses a part with a probability proportional to the exponential of its gain. The paper also lets a node stay
/// alone. Without that option, every community of several nodes has a part of several nodes, so every level shrinks the
/// graph.
fn sample_part(choices: &[(u32, f64)], random: &SeededRng) -> Option<u32> {
    let max = choices.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
    let odds = |gain: f64| ((gain - max) / RANDOMNESS).exp();
    let all: f64 = choices.iter().map(|(_, gain)| odds(*gain)).sum();
    let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut remaining = unit * all;
    for &(part, gain) in choices {
        remaining -= odds(gain);
        if remaining < 0.0 {
            return Some(part);
        }
    }
    choices.last().map(|(part, _)| *part)
}
