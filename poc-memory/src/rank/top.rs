//! The best `k` of many, with a bounded heap.

use crate::graph::NodeId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node with its score and what goes with it. Greater is better: by score, then the smaller id.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<T> {
    /// How good it is.
    pub score: f64,
    /// The node.
    pub id: NodeId,
    /// What goes with it.
    pub with: T,
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
pub struct Top<T> {
    limit: usize,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Top<T> {
    /// Keeps so many; none of 0.
    pub fn new(limit: usize) -> Self {
        Top { limit, heap: BinaryHeap::new() }
    }

    /// Whether a value would be kept if it were offered now.
    pub fn takes(&self, value: &T) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|Reverse(least)| value > least)
    }

    /// Keeps a value, in place of the least one when there is no room, or leaves it.
    pub fn offer(&mut self, value: T) {
        if self.takes(&value) {
            if self.heap.len() == self.limit {
                self.heap.pop();
            }
            self.heap.push(Reverse(value));
        }
    }

    /// The least value kept, once there are as many as are kept: what is less is not taken.
    pub fn least(&self) -> Option<&T> {
        self.heap.peek().map(|Reverse(least)| least).filter(|_| self.heap.len() >= self.limit)
    }

    /// The values kept, greatest first.
    pub fn into_sorted(self) -> Vec<T> {
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
            let full = limit > 0 && values.len() >= limit;
            prop_assert_eq!(top.least().is_some(), full);
            if let Some(least) = top.least() {
                prop_assert!(!top.takes(least));
            }
            let mut sorted = values;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(limit);
            prop_assert_eq!(top.into_sorted(), sorted);
        }
    }
}
