//! Putting items in order by a value: all of them, or only the first few through a bounded heap.

use super::Scored;
use super::value::Direction;
use crate::graph::View;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Items with their values, the first of them greatest in the heap's order when it comes last.
struct Ranked<'a> {
    rank: f64,
    item: Scored,
    view: &'a View,
}

impl Ranked<'_> {
    fn order(&self, other: &Self) -> Ordering {
        self.rank.total_cmp(&other.rank).then_with(|| by_id(self.view, self.item, other.item))
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}
impl Eq for Ranked<'_> {}
impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

/// The order of two items by id.
pub(super) fn by_id(view: &View, a: Scored, b: Scored) -> Ordering {
    if view.ids_ascend() { a.ix.cmp(&b.ix) } else { view.id(a.ix).cmp(&view.id(b.ix)) }
}

/// What a value counts in a direction: ranks ascend. Adding zero makes the negative zero a plain one.
fn rank(value: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Asc => value + 0.0,
        Direction::Desc => -value + 0.0,
    }
}

/// The first few of the items offered, in the order of their values, ties by id.
pub(super) struct First<'a> {
    // Its greatest is the worst of the first so far.
    heap: BinaryHeap<Ranked<'a>>,
    wanted: usize,
    direction: Direction,
    view: &'a View,
}

impl<'a> First<'a> {
    /// Keeps so many.
    pub(super) fn new(view: &'a View, direction: Direction, wanted: usize) -> Self {
        First { heap: BinaryHeap::new(), wanted, direction, view }
    }

    /// Takes in items with their values.
    pub(super) fn offer(&mut self, items: &[Scored], values: &[f64]) {
        for (&item, &value) in items.iter().zip(values) {
            let ranked = Ranked { rank: rank(value, self.direction), item, view: self.view };
            if self.heap.len() < self.wanted {
                self.heap.push(ranked);
            } else if let Some(mut worst) = self.heap.peek_mut()
                && ranked < *worst
            {
                *worst = ranked;
            }
        }
    }

    /// The items that are kept, in order.
    pub(super) fn finish(self) -> Vec<Scored> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| ranked.item).collect()
    }
}

/// Puts the items in the order of their values, ties by id; keeps the first `wanted` only.
pub(super) fn order(
    view: &View,
    items: &mut Vec<Scored>,
    values: &[f64],
    direction: Direction,
    wanted: usize,
) {
    if wanted < items.len() {
        let mut first = First::new(view, direction, wanted);
        first.offer(items, values);
        *items = first.finish();
        return;
    }
    let ranked = |(&item, &value)| Ranked { rank: rank(value, direction), item, view };
    let mut all: Vec<Ranked<'_>> = items.iter().zip(values).map(ranked).collect();
    all.sort_unstable();
    *items = all.into_iter().map(|ranked| ranked.item).collect();
}

/// Puts scored items best first, ties by id.
pub(super) fn best_first(view: &View, items: &mut [Scored]) {
    items.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_id(view, *a, *b)));
}
