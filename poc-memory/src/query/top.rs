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

/// Puts the items in the order of their values, ties by id; keeps the first `wanted` only.
pub(super) fn order(
    view: &View,
    items: &mut Vec<Scored>,
    values: &[f64],
    direction: Direction,
    wanted: usize,
) {
    // Ranks ascend. Adding zero makes the negative zero a plain one.
    let rank = |value: f64| match direction {
        Direction::Asc => value + 0.0,
        Direction::Desc => -value + 0.0,
    };
    let ranked = items.iter().zip(values).map(|(&item, &value)| Ranked { rank: rank(value), item, view });
    if wanted >= items.len() {
        let mut all: Vec<Ranked<'_>> = ranked.collect();
        all.sort_unstable();
        *items = all.into_iter().map(|ranked| ranked.item).collect();
        return;
    }
    // The heap's greatest is the worst of the best so far.
    let mut best: BinaryHeap<Ranked<'_>> = BinaryHeap::with_capacity(wanted);
    for ranked in ranked {
        if best.len() < wanted {
            best.push(ranked);
        } else if let Some(mut worst) = best.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }
    *items = best.into_sorted_vec().into_iter().map(|ranked| ranked.item).collect();
}

/// Puts scored items best first, ties by id.
pub(super) fn best_first(view: &View, items: &mut [Scored]) {
    items.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_id(view, *a, *b)));
}
