//! The best `k` of many, with a bounded heap.

use crate::graph::NodeId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node with its score and what goes with it. Greater is better: by score, then the smaller id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked<T> {
    pub(super) score: f64,
    pub(super) id: NodeId,
    pub(super) with: T,
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.id.cmp(&self.id))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Ranked<T> {}

/// Keeps the greatest `limit` of the values it is offered.
pub(super) struct Top<T> {
    limit: usize,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Top<T> {
    pub(super) fn new(limit: usize) -> Self {
        Top { limit, heap: BinaryHeap::new() }
    }

    /// Whether a value would be kept if it were offered now.
    pub(super) fn takes(&self, value: &T) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|Reverse(least)| value > least)
    }

    pub(super) fn offer(&mut self, value: T) {
        if self.takes(&value) {
            if self.heap.len() == self.limit {
                self.heap.pop();
            }
            self.heap.push(Reverse(value));
        }
    }

    /// The values kept, greatest first.
    pub(super) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_head_of_the_sorted_list(values in any::<Vec<u8>>(), limit in 0usize..20) {
            let mut top = Top::new(limit);
            values.iter().for_each(|&value| top.offer(value));
            let mut sorted = values;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(limit);
            prop_assert_eq!(top.into_sorted(), sorted);
        }
    }
}
