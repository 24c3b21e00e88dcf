//! A weighted graph without loops, and its modularity.

use crate::counting_sort::{grouped, row_starts};

/// An undirected graph in compressed sparse rows: the edges of node `i` are at `starts[i]..starts[i + 1]`, sorted by
/// target. An edge is stored at both ends.
#[derive(Clone, Debug, Default)]
pub(in crate::structure) struct CsrGraph {
    starts: Vec<usize>,
    targets: Vec<u32>,
    weights: Vec<f64>,
    // The sum of weights at each node. In a merged graph it includes the edges inside the node, twice.
    degrees: Vec<f64>,
    // The sum of all degrees.
    total: f64,
}

impl CsrGraph {
    /// Creates a graph from the edges of every node, given as the other end and a positive weight. Both ends must
    /// list an edge, and no node may list itself.
    pub(in crate::structure) fn new<R>(rows: impl ExactSizeIterator<Item = R> + Clone) -> CsrGraph
    where
        R: IntoIterator<Item = (u32, f64)>,
    {
        let nodes = rows.len();
        let starts = row_starts(nodes, rows.clone().flatten().map(|(target, _)| target));
        let length = starts.last().copied().unwrap_or(0);
        // The edges are visited by their other ends in ascending order, so the targets of each node are ascending.
        let (mut targets, mut weights) = (vec![0; length], vec![0.0; length]);
        let mut next = starts.clone();
        for (node, row) in (0..).zip(rows) {
            for (target, weight) in row {
                let Some(index) = next.get_mut(target as usize) else { continue };
                if let Some((target, slot)) = targets.get_mut(*index).zip(weights.get_mut(*index)) {
                    (*target, *slot) = (node, weight);
                }
                *index += 1;
            }
        }
        let mut graph = CsrGraph { starts, targets, weights, degrees: Vec::new(), total: 0.0 };
        graph.degrees =
            (0..nodes as u32).map(|node| graph.edges(node).map(|(_, weight)| weight).sum()).collect();
        graph.total = graph.degrees.iter().sum();
        graph
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.degrees.len()
    }

    /// The edges of a node, by target.
    #[inline]
    pub(super) fn edges(&self, node: u32) -> impl Iterator<Item = (u32, f64)> {
        let at = node as usize;
        let range =
            self.starts.get(at).zip(self.starts.get(at + 1)).map_or(0..0, |(&start, &end)| start..end);
        let targets = self.targets.get(range.clone()).unwrap_or(&[]);
        let weights = self.weights.get(range).unwrap_or(&[]);
        targets.iter().copied().zip(weights.iter().copied())
    }

    /// The sum of weights at a node.
    #[inline]
    pub(super) fn degree(&self, node: u32) -> f64 {
        self.degrees.get(node as usize).copied().unwrap_or(0.0)
    }

    /// The sum of all degrees: twice the sum of all weights.
    #[inline]
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The sums of the degrees by label.
    pub(super) fn degrees_by(&self, labels: &[u32]) -> Vec<f64> {
        let mut sums = vec![0.0; self.len()];
        for (&label, degree) in labels.iter().zip(&self.degrees) {
            if let Some(sum) = sums.get_mut(label as usize) {
                *sum += degree;
            }
        }
        sums
    }

    /// Modularity (Newman and Girvan 2004) of communities, −½ to 1: the share of weight inside communities minus the
    /// share expected by chance. A merged graph has the modularity of the graph it was merged from.
    pub(in crate::structure) fn modularity(&self, labels: &[u32]) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let label = |node: u32| labels.get(node as usize).copied();
        let between: f64 = (0..self.len() as u32)
            .flat_map(|node| self.edges(node).filter(move |(other, _)| label(*other) != label(node)))
            .map(|(_, weight)| weight)
            .sum();
        let chance: f64 = self.degrees_by(labels).iter().map(|degree| (degree / self.total).powi(2)).sum();
        1.0 - between / self.total - chance
    }

    /// The graph with each part merged into one node, and all edges between two parts merged into one edge. `parts`
    /// has the part of every node, below `count`.
    pub(super) fn merged(&self, parts: &[u32], count: usize) -> CsrGraph {
        let (first, members) = grouped(count, parts.iter().copied().zip(0u32..));
        let part = |node: u32| parts.get(node as usize).copied().unwrap_or(0);
        let mut merged = CsrGraph {
            starts: Vec::with_capacity(count + 1),
            targets: Vec::new(),
            weights: Vec::new(),
            degrees: self.degrees_by(parts),
            total: self.total,
        };
        merged.degrees.truncate(count);
        // By part: the position of its edge in the row being built, plus 1.
        let mut positions = vec![0usize; count];
        for (number, bounds) in (0u32..).zip(first.windows(2)) {
            let start = merged.targets.len();
            merged.starts.push(start);
            let range = bounds.first().zip(bounds.last()).map_or(0..0, |(&start, &end)| start..end);
            for &node in members.get(range).unwrap_or(&[]) {
                for (other, weight) in self.edges(node) {
                    let target = part(other);
                    let Some(position) = positions.get_mut(target as usize).filter(|_| target != number)
                    else {
                        continue;
                    };
                    if *position <= start {
                        merged.targets.push(target);
                        merged.weights.push(0.0);
                        *position = merged.targets.len();
                    }
                    if let Some(sum) = merged.weights.get_mut(*position - 1) {
                        *sum += weight;
                    }
                }
            }
        }
        merged.starts.push(merged.targets.len());
        merged
    }
}
