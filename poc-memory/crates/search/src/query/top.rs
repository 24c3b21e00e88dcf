//! Sorts items by a value. If only the first few are wanted, it keeps little more than that number in memory.

use super::set::ScoredNode;
use super::value::SortDirection;
use poc_graph::View;
use std::cmp::Ordering;

/// An item with its sort key. Smaller keys come first.
#[derive(Clone, Copy)]
struct Ranked {
    rank: f64,
    item: ScoredNode,
}

impl Ranked {
    fn new(item: ScoredNode, value: f64, direction: SortDirection) -> Ranked {
        // Adding zero turns negative zero into zero.
        let rank = match direction {
            SortDirection::Asc => value + 0.0,
            SortDirection::Desc => -value + 0.0,
        };
        Ranked { rank, item }
    }

    fn order(&self, other: &Self, view: &View) -> Ordering {
        self.rank.total_cmp(&other.rank).then_with(|| by_id(view, self.item, other.item))
    }
}

/// Compares two items by id.
pub(super) fn by_id(view: &View, a: ScoredNode, b: ScoredNode) -> Ordering {
    if view.ids_ascend() { a.ix.cmp(&b.ix) } else { view.id(a.ix).cmp(&view.id(b.ix)) }
}

/// The minimum number of surplus items to collect before the set is truncated.
const SPARE: usize = 256;

/// Collects the first few of the offered items, ordered by value, then by id.
pub(super) struct FirstN<'a> {
    // The first items at the last truncation, and later items that may be among them.
    kept: Vec<Ranked>,
    last: Option<Ranked>,
    wanted: usize,
    direction: SortDirection,
    view: &'a View,
}

impl<'a> FirstN<'a> {
    /// Collects the first `wanted` items.
    pub(super) fn new(view: &'a View, direction: SortDirection, wanted: usize) -> Self {
        FirstN { kept: Vec::new(), last: None, wanted, direction, view }
    }

    /// Offers items with their values, which must not be NaN.
    pub(super) fn offer(&mut self, items: &[ScoredNode], values: &[f64]) {
        let room = self.wanted.saturating_add(self.wanted.max(SPARE));
        for (&item, &value) in items.iter().zip(values) {
            let ranked = Ranked::new(item, value, self.direction);
            if self.last.is_some_and(|last| ranked.order(&last, self.view).is_ge()) {
                continue;
            }
            self.kept.push(ranked);
            if self.kept.len() == room {
                self.truncate();
            }
        }
    }

    /// Drops all but the first items. It takes linear time, but runs only when the buffer is full.
    fn truncate(&mut self) {
        let (view, wanted) = (self.view, self.wanted);
        if let Some(last) = wanted.checked_sub(1).filter(|_| wanted < self.kept.len()) {
            self.last = Some(*self.kept.select_nth_unstable_by(last, |a, b| a.order(b, view)).1);
        }
        self.kept.truncate(wanted);
    }

    /// Returns the first items in order.
    pub(super) fn finish(mut self) -> Vec<ScoredNode> {
        self.truncate();
        self.kept.sort_unstable_by(|a, b| a.order(b, self.view));
        self.kept.into_iter().map(|ranked| ranked.item).collect()
    }
}

/// Sorts the items by value, then by id, and keeps only the first `wanted`.
pub(super) fn order(
    view: &View,
    items: &mut Vec<ScoredNode>,
    values: &[f64],
    direction: SortDirection,
    wanted: usize,
) {
    let mut first = FirstN::new(view, direction, wanted);
    first.offer(items, values);
    *items = first.finish();
}

/// Sorts items by descending score, then by id.
pub(super) fn best_first(view: &View, items: &mut [ScoredNode]) {
    items.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_id(view, *a, *b)));
}

/// Puts the first `wanted` items of [`best_first`] in front, in order. The order of the others is unspecified.
pub(super) fn best_to_front(view: &View, items: &mut [ScoredNode], wanted: usize) {
    let order =
        |a: &ScoredNode, b: &ScoredNode| b.score.total_cmp(&a.score).then_with(|| by_id(view, *a, *b));
    let wanted = wanted.min(items.len());
    if let Some(last) = wanted.checked_sub(1).filter(|_| wanted < items.len()) {
        items.select_nth_unstable_by(last, order);
    }
    items.get_mut(..wanted).unwrap_or_default().sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;
    use proptest::prelude::*;

    /// Blocks with many equal values give the same result as sorting all items.
    #[test]
    fn the_first_items_agree_with_a_full_sort() {
        let view = testing::view(900, &[]);
        let value = prop_oneof![
            (0u8..9).prop_map(f64::from),
            Just(-0.0),
            Just(f64::NEG_INFINITY),
            Just(f64::INFINITY)
        ];
        let blocks = proptest::collection::vec(proptest::collection::vec(value, 0..300), 0..4);
        proptest!(|(blocks in blocks, wanted in 0usize..400, descending: bool)| {
            let direction = if descending { SortDirection::Desc } else { SortDirection::Asc };
            let mut first = FirstN::new(&view, direction, wanted);
            let mut all: Vec<(f64, u32)> = Vec::new();
            for values in blocks {
                let ixs = all.len() as u32..;
                let items: Vec<ScoredNode> = ixs.zip(&values).map(|(ix, _)| ScoredNode { ix, score: 1.0 }).collect();
                first.offer(&items, &values);
                all.extend(values.iter().zip(&items).map(|(value, item)| (*value + 0.0, item.ix)));
            }
            let value = |value: f64| if descending { -value + 0.0 } else { value };
            all.sort_by(|a, b| value(a.0).total_cmp(&value(b.0)).then(a.1.cmp(&b.1)));
            let expected: Vec<u32> = all.iter().take(wanted).map(|(_, ix)| *ix).collect();
            let found: Vec<u32> = first.finish().iter().map(|item| item.ix).collect();
            prop_assert_eq!(found, expected);
        });
    }
}
