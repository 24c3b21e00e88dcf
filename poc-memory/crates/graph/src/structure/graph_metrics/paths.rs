//! Components and shortest paths, by breadth-first search.

use crate::Ix;
use crate::View;

/// Components of up to this many nodes are searched from every node.
pub(super) const EXACT: usize = 512;

/// Maximum number of edges that the searches of a larger component follow, counting both
/// directions.
const MAX_FOLLOWED_EDGES: usize = 40_000_000;

/// The minimum number of start nodes for a component of any size.
const MIN_SOURCES: usize = 16;

/// The connected components of the nodes, each with its members.
pub(super) fn components(view: &View, nodes: &[Ix]) -> Vec<Vec<Ix>> {
    let mut search = BreadthFirstSearch::new(view);
    let mut parts = Vec::new();
    for &seed in nodes {
        if !search.has_seen(seed) {
            parts.push(search.from(seed).to_vec());
        }
    }
    parts
}

/// The mean shortest-path length between two different nodes of a component; `None` for fewer
/// than two nodes. Searches from all its nodes, or from an evenly spaced sample.
pub(super) fn mean_length(view: &View, component: &[Ix]) -> Option<f64> {
    if component.len() < 2 {
        return None;
    }
    let ends: usize = component.iter().map(|&ix| view.degree(ix) as usize).sum();
    let sources = match component.len() {
        nodes if nodes <= EXACT => nodes,
        _ => (MAX_FOLLOWED_EDGES / ends.max(1)).clamp(MIN_SOURCES, EXACT),
    };
    let mut search = BreadthFirstSearch::new(view);
    let mut sum = 0;
    for &source in component.iter().step_by(component.len().div_ceil(sources)) {
        search.reset();
        search.from(source);
        sum += search.distances();
    }
    let counted = component.len().div_ceil(component.len().div_ceil(sources));
    Some(sum as f64 / (counted * (component.len() - 1)) as f64)
}

/// A breadth-first search that reuses its memory.
struct BreadthFirstSearch<'a> {
    view: &'a View,
    // By node: the number of the last search that visited it.
    seen: Vec<u32>,
    number: u32,
    // The nodes in the order of discovery, and the end of each distance level.
    found: Vec<Ix>,
    levels: Vec<usize>,
}

impl<'a> BreadthFirstSearch<'a> {
    fn new(view: &'a View) -> Self {
        let seen = vec![0; view.slots() as usize];
        BreadthFirstSearch { view, seen, number: 1, found: Vec::new(), levels: Vec::new() }
    }

    fn has_seen(&self, ix: Ix) -> bool {
        self.seen.get(ix as usize) == Some(&self.number)
    }

    /// Marks all nodes as not visited.
    fn reset(&mut self) {
        self.number += 1;
    }

    fn visit(&mut self, ix: Ix) {
        if let Some(seen) = self.seen.get_mut(ix as usize)
            && *seen != self.number
        {
            *seen = self.number;
            self.found.push(ix);
        }
    }

    /// The unvisited nodes that are reachable from a node, nearest first.
    fn from(&mut self, source: Ix) -> &[Ix] {
        self.found.clear();
        self.levels.clear();
        self.visit(source);
        let mut next = 0;
        while next < self.found.len() {
            let level_end = self.found.len();
            self.levels.push(level_end);
            for at in next..level_end {
                let Some(&ix) = self.found.get(at) else { break };
                for edge in self.view.merged_edges(ix) {
                    self.visit(edge.ix);
                }
            }
            next = level_end;
        }
        &self.found
    }

    /// The sum of the distances of the last search.
    fn distances(&self) -> usize {
        let levels = self.levels.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?));
        (1..).zip(levels).map(|(distance, nodes): (usize, usize)| distance * nodes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::view;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// Compares with the Floyd–Warshall algorithm.
        #[test]
        fn paths_and_components_match_brute_force(
            links in proptest::collection::vec((0u64..9, 0u64..9, 0.1f64..1.0), 0..16)
        ) {
            let links: Vec<(u64, u64, f64)> = links.into_iter().filter(|(a, b, _)| a != b).collect();
            let view = view(9, &links);
            let mut distances = [[usize::MAX / 4; 9]; 9];
            for (node, row) in distances.iter_mut().enumerate() {
                row[node] = 0;
            }
            for &(a, b, _) in &links {
                distances[a as usize][b as usize] = 1;
                distances[b as usize][a as usize] = 1;
            }
            for middle in 0..9 {
                for a in 0..9 {
                    for b in 0..9 {
                        let over = distances[a][middle] + distances[middle][b];
                        distances[a][b] = distances[a][b].min(over);
                    }
                }
            }
            let all: Vec<Ix> = (0..9).collect();
            let mut seen = 0;
            for part in components(&view, &all) {
                seen += part.len();
                let reached = |a: usize| (0..9).filter(|&b| distances[a][b] < 9).count();
                prop_assert!(part.iter().all(|&ix| reached(ix as usize) == part.len()));
                let pairs = part.iter().flat_map(|&a| part.iter().map(move |&b| (a as usize, b as usize)));
                let sum: usize = pairs.map(|(a, b)| distances[a][b]).sum();
                let expected = (part.len() > 1).then(|| sum as f64 / (part.len() * (part.len() - 1)) as f64);
                prop_assert_eq!(mean_length(&view, &part), expected);
            }
            prop_assert_eq!(seen, 9);
        }
    }
}
