//! The first step of a level: nodes move to the neighbouring community that raises modularity most.

use super::csr_graph::CsrGraph;
use crate::cancellation;
use crate::rng::{Rng, SeededRng};
use std::collections::VecDeque;

/// A move must raise the weight inside communities by more than this, so that rounding errors cannot move nodes back
/// and forth forever. Real weights are far greater.
pub(super) const MIN_MOVE: f64 = 1e-9;

/// The number of nodes visited between two checks for cancellation.
const CHECK_INTERVAL: u32 = 1024;

/// Moves nodes until no move raises modularity. Every label must be less than the number of nodes. A node is visited
/// again only after a neighbour has moved to a community other than the node's own.
pub(super) fn move_nodes(graph: &CsrGraph, labels: &mut [u32], random: &SeededRng) {
    let mut communities = MovingNodes::new(graph, labels);
    let mut queue = NodeQueue::new(shuffled(graph.len(), random));
    let mut weights = LabelWeights::new(graph.len());
    let mut visits = 0u32;
    while let Some(node) = queue.pop() {
        visits = visits.wrapping_add(1);
        if visits.is_multiple_of(CHECK_INTERVAL) && cancellation::is_requested() {
            break;
        }
        let Some(own) = communities.label(node) else { continue };
        let degree = graph.degree(node);
        communities.add_degree(own, -degree);
        let best = communities.best_label(node, own, &mut weights);
        communities.add_degree(best, degree);
        if best == own {
            continue;
        }
        communities.set_label(node, own, best);
        for (other, _) in graph.edges(node) {
            if communities.label(other) != Some(best) {
                queue.push(other);
            }
        }
    }
}

/// The communities while nodes move between them.
struct MovingNodes<'a> {
    graph: &'a CsrGraph,
    /// The community of every node.
    labels: &'a mut [u32],
    /// By community: the sum of the degrees of its nodes.
    degrees: Vec<f64>,
    /// By community: the number of its nodes.
    sizes: Vec<u32>,
    /// The communities without nodes.
    empty: Vec<u32>,
}

impl<'a> MovingNodes<'a> {
    fn new(graph: &'a CsrGraph, labels: &'a mut [u32]) -> MovingNodes<'a> {
        let mut sizes = vec![0u32; graph.len()];
        for &label in labels.iter() {
            if let Some(size) = sizes.get_mut(label as usize) {
                *size += 1;
            }
        }
        let empty = (0..).zip(&sizes).filter(|(_, size)| **size == 0).map(|(label, _)| label).collect();
        MovingNodes { graph, degrees: graph.degrees_by(labels), labels, sizes, empty }
    }

    fn label(&self, node: u32) -> Option<u32> {
        self.labels.get(node as usize).copied()
    }

    fn add_degree(&mut self, label: u32, degree: f64) {
        if let Some(sum) = self.degrees.get_mut(label as usize) {
            *sum += degree;
        }
    }

    /// The community to which a node should move; `own` if no move raises modularity. The degree of the node must not
    /// be part of the sum of its own community. `weights` must be empty, and is left empty.
    fn best_label(&mut self, node: u32, own: u32, weights: &mut LabelWeights) -> u32 {
        for (other, weight) in self.graph.edges(node) {
            if let Some(label) = self.label(other) {
                weights.add(label, weight);
            }
        }
        let share = self.graph.degree(node) / self.graph.total();
        let degrees = &self.degrees;
        let gain =
            |label: u32, weight: f64| weight - share * degrees.get(label as usize).copied().unwrap_or(0.0);
        let mut best = own;
        let mut max = gain(own, weights.get(own)) + MIN_MOVE;
        for &label in weights.labels() {
            let gain = gain(label, weights.get(label));
            if gain > max {
                (best, max) = (label, gain);
            }
        }
        weights.clear();
        // A community of one node contributes no gain and no loss.
        let is_alone = self.sizes.get(own as usize) == Some(&1);
        if max < 0.0
            && !is_alone
            && let Some(label) = self.empty.pop()
        {
            best = label;
        }
        best
    }

    /// Moves a node from its own community to another.
    fn set_label(&mut self, node: u32, own: u32, label: u32) {
        if let Some(size) = self.sizes.get_mut(own as usize) {
            *size -= 1;
            if *size == 0 {
                self.empty.push(own);
            }
        }
        if let Some(size) = self.sizes.get_mut(label as usize) {
            *size += 1;
        }
        if let Some(current) = self.labels.get_mut(node as usize) {
            *current = label;
        }
    }
}

/// The nodes to visit, each at most once at a time.
struct NodeQueue {
    nodes: VecDeque<u32>,
    // By node.
    is_queued: Vec<bool>,
}

impl NodeQueue {
    /// A queue of all nodes in the given order.
    fn new(order: Vec<u32>) -> NodeQueue {
        NodeQueue { is_queued: vec![true; order.len()], nodes: order.into() }
    }

    fn pop(&mut self) -> Option<u32> {
        let node = self.nodes.pop_front()?;
        if let Some(is_queued) = self.is_queued.get_mut(node as usize) {
            *is_queued = false;
        }
        Some(node)
    }

    /// Adds a node unless it is in the queue.
    fn push(&mut self, node: u32) {
        if let Some(is_queued) = self.is_queued.get_mut(node as usize).filter(|is_queued| !**is_queued) {
            *is_queued = true;
            self.nodes.push_back(node);
        }
    }
}

/// The numbers below `count` in random order (Fisher and Yates 1938).
pub(super) fn shuffled(count: usize, random: &SeededRng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

/// The total edge weight from one node to each neighbouring label.
pub(super) struct LabelWeights {
    weights: Vec<f64>,
    labels: Vec<u32>,
}

impl LabelWeights {
    /// Creates an empty accumulator for labels below `count`.
    pub(super) fn new(count: usize) -> LabelWeights {
        LabelWeights { weights: vec![0.0; count], labels: Vec::new() }
    }

    /// Adds a positive weight to a label.
    #[inline]
    pub(super) fn add(&mut self, label: u32, weight: f64) {
        if let Some(sum) = self.weights.get_mut(label as usize) {
            if *sum == 0.0 {
                self.labels.push(label);
            }
            *sum += weight;
        }
    }

    /// The weight to a label.
    #[inline]
    pub(super) fn get(&self, label: u32) -> f64 {
        self.weights.get(label as usize).copied().unwrap_or(0.0)
    }

    /// The labels with a weight, in the order in which they were added.
    pub(super) fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Removes all weights.
    pub(super) fn clear(&mut self) {
        for label in self.labels.drain(..) {
            if let Some(sum) = self.weights.get_mut(label as usize) {
                *sum = 0.0;
            }
        }
    }
}
