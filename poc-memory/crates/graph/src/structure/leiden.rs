//! The Leiden algorithm (Traag, Waltman and van Eck 2019, "From Louvain to Leiden: guaranteeing well-connected
//! communities") with modularity as its objective.
//!
//! A level moves nodes between communities while modularity grows ([`local_moving`]), splits every community into
//! well-connected parts ([`refinement`]) and merges each part into one node. The next level continues with the smaller
//! graph, whose nodes start in the communities they were split from. A pass ends when every community is a single
//! node. The next pass starts from the communities of the previous one.

mod csr_graph;
mod local_moving;
mod refinement;
#[cfg(test)]
mod tests;

pub(super) use csr_graph::CsrGraph;

use crate::cancellation;
use crate::rng::SeededRng;
use local_moving::move_nodes;
use refinement::refine;

/// The minimum increase in modularity that a pass must bring for another one to follow.
const MIN_GAIN: f64 = 1e-4;

/// Maximum number of passes. Most graphs need two or three; further passes gain less than a hundredth.
const MAX_PASSES: usize = 4;

/// The community of every node. `start` has the initial community of each node; its labels must be below the number of
/// nodes. Modularity never decreases from `start`. All random choices follow from `seed`.
pub(super) fn leiden(graph: &CsrGraph, start: &[u32], seed: u64) -> Vec<u32> {
    let random = SeededRng::new(seed);
    let mut communities = start.to_vec();
    if graph.total() <= 0.0 {
        return communities;
    }
    let mut modularity = graph.modularity(&communities);
    for _ in 0..MAX_PASSES {
        pass(graph, &mut communities, &random);
        let before = std::mem::replace(&mut modularity, graph.modularity(&communities));
        if modularity - before < MIN_GAIN || cancellation::is_requested() {
            break;
        }
    }
    communities
}

/// Runs one pass over all levels and updates the community of each node.
fn pass(graph: &CsrGraph, communities: &mut [u32], random: &SeededRng) {
    // The node of the current level that contains each node of the graph, and the community of each node of the
    // current level.
    let mut merged_into: Vec<u32> = (0..graph.len() as u32).collect();
    let mut labels = communities.to_vec();
    let mut level: Option<CsrGraph> = None;
    loop {
        let current = level.as_ref().unwrap_or(graph);
        move_nodes(current, &mut labels, random);
        if cancellation::is_requested() {
            break;
        }
        if number_consecutively(&mut labels) == current.len() {
            break;
        }
        let mut parts = refine(current, &labels, random);
        let count = number_consecutively(&mut parts);
        if count == current.len() {
            break;
        }
        let merged = current.merged(&parts, count);
        let mut next = vec![0; count];
        for (&part, &label) in parts.iter().zip(&labels) {
            if let Some(slot) = next.get_mut(part as usize) {
                *slot = label;
            }
        }
        for node in &mut merged_into {
            *node = parts.get(*node as usize).copied().unwrap_or(0);
        }
        labels = next;
        level = Some(merged);
    }
    for (community, &node) in communities.iter_mut().zip(&merged_into) {
        *community = labels.get(node as usize).copied().unwrap_or(0);
    }
}

/// Renumbers labels in the order of their first use and returns their number. Every label must be less than
/// `labels.len()`.
fn number_consecutively(labels: &mut [u32]) -> usize {
    let mut numbers = vec![u32::MAX; labels.len()];
    let mut count = 0;
    for label in labels {
        let Some(number) = numbers.get_mut(*label as usize) else { continue };
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *label = *number;
    }
    count as usize
}
