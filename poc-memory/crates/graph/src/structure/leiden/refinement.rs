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
    let mut parts: Vec<u32> = (0..nodes as u32).collect();
    let mut degrees: Vec<f64> = (0..nodes as u32).map(|node| graph.degree(node)).collect();
    // By part: the weight of the edges to the rest of its community.
    let mut cuts: Vec<f64> = (0..nodes as u32)
        .map(|node| {
            let inside = graph.edges(node).filter(|(other, _)| community(*other) == community(node));
            inside.map(|(_, weight)| weight).sum()
        })
        .collect();
    let mut is_alone = vec![true; nodes];
    let mut weights = LabelWeights::new(nodes);
    let mut choices: Vec<(u32, f64)> = Vec::new();
    for node in shuffled(nodes, random) {
        let at = node as usize;
        let (Some(true), Some(&cut)) = (is_alone.get(at).copied(), cuts.get(at)) else { continue };
        let (degree, community_degree) = (graph.degree(node), community_degree(node));
        let well_connected =
            |cut: f64, degree: f64| cut + MIN_MOVE >= degree * (community_degree - degree) / graph.total();
        if !well_connected(cut, degree) {
            continue;
        }
        for (other, weight) in graph.edges(node).filter(|(other, _)| community(*other) == community(node)) {
            if let Some(&part) = parts.get(other as usize) {
                weights.add(part, weight);
            }
        }
        choices.clear();
        for &part in weights.labels() {
            let (Some(&its_cut), Some(&its_degree)) = (cuts.get(part as usize), degrees.get(part as usize))
            else {
                continue;
            };
            let gain = weights.get(part) - degree * its_degree / graph.total();
            if gain >= 0.0 && well_connected(its_cut, its_degree) {
                choices.push((part, gain));
            }
        }
        if let Some(part) = sample_part(&choices, random) {
            let to_part = weights.get(part);
            if let Some(slot) = parts.get_mut(at) {
                *slot = part;
            }
            for alone in [at, part as usize] {
                if let Some(slot) = is_alone.get_mut(alone) {
                    *slot = false;
                }
            }
            if let Some(sum) = degrees.get_mut(part as usize) {
                *sum += degree;
            }
            if let Some(sum) = cuts.get_mut(part as usize) {
                *sum += cut - 2.0 * to_part;
            }
        }
        weights.clear();
    }
    parts
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
