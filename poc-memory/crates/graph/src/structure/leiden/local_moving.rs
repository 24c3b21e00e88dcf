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

/// Moves nodes until no move raises modularity. Every label must be less than the number of nodes. A node is visited again
/// only after a neighbour has moved to a community other than the node's own.
pub(super) fn move_nodes(graph: &CsrGraph, labels: &mut [u32], random: &SeededRng) {
    let nodes = graph.len();
    let mut degrees = graph.degrees_by(labels);
    let mut sizes = vec![0u32; nodes];
    for &label in labels.iter() {
        if let Some(size) = sizes.get_mut(label as usize) {
            *size += 1;
        }
    }
    let mut empty: Vec<u32> =
        (0..).zip(&sizes).filter(|(_, size)| **size == 0).map(|(label, _)| label).collect();
    let mut queue: VecDeque<u32> = shuffled(nodes, random).into();
    let mut queued = vec![true; nodes];
    let mut weights = LabelWeights::new(nodes);
    let mut visits = 0u32;
    while let Some(node) = queue.pop_front() {
        visits = visits.wrapping_add(1);
        if visits.is_multiple_of(CHECK_INTERVAL) && cancellation::is_requested() {
            break;
        }
        if let Some(queued) = queued.get_mut(node as usize) {
            *queued = false;
        }
        let Some(&own) = labels.get(node as usize) else { continue };
        for (other, weight) in graph.edges(node) {
            if let Some(&label) = labels.get(other as usize) {
                weights.add(label, weight);
            }
        }
        let degree = graph.degree(node);
        let share = degree / graph.total();
        if let Some(sum) = degrees.get_mut(own as usize) {
            *sum -= degree;
        }
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
        let is_alone = sizes.get(own as usize) == Some(&1);
        if max < 0.0
            && !is_alone
            && let Some(label) = empty.pop()
        {
            best = label;
        }
        if let Some(sum) = degrees.get_mut(best as usize) {
            *sum += degree;
        }
        if best == own {
            continue;
        }
        if let Some(size) = sizes.get_mut(own as usize) {
            *size -= 1;
            if *size == 0 {
                empty.push(own);
            }
        }
        if let Some(size) = sizes.get_mut(best as usize) {
            *size += 1;
        }
        if let Some(label) = labels.get_mut(node as usize) {
            *label = best;
        }
        for (other, _) in graph.edges(node) {
            if labels.get(other as usize) != Some(&best)
                && let Some(queued) = queued.get_mut(other as usize).filter(|queued| !**queued)
            {
                *queued = true;
                queue.push_back(other);
            }
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
