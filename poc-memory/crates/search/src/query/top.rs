//! Putting items in order by a value: all of them, or only the first few, of which little more than
//! that many are kept.

use super::set::ScoredNode;
use super::value::Direction;
use poc_graph::View;
use std::cmp::Ordering;

/// An item with what its value counts: the smaller, the earlier.
#[derive(Clone, Copy)]
struct Ranked {
    rank: f64,
    item: ScoredNode,
}

impl Ranked {
    fn new(item: ScoredNode, value: f64, direction: Direction) -> Ranked {
        // Adding zero makes the negative zero a plain one.
        let rank = match direction {
            Direction::Asc => value + 0.0,
            Direction::Desc => -value + 0.0,
        };
        Ranked { rank, item }
    }

    fn order(&self, other: &Self, view: &View) -> Ordering {
        self.rank.total_cmp(&other.rank).then_with(|| by_id(view, self.item, other.item))
    }
}

/// The order of two items by id.
pub(super) fn by_id(view: &View, a: ScoredNode, b: ScoredNode) -> Ordering {
    if view.ids_ascend() { a.ix.cmp(&b.ix) } else { view.id(a.ix).cmp(&view.id(b.ix)) }
}

/// Items that may be kept beyond those wanted before the others are left out.
const SPARE: usize = 256;

/// The first few of the items offered, in the order of their values, ties by id.
pub(super) struct FirstN<'a> {
    // The first few so far and those offered since that come before the last of these.
    kept: Vec<Ranked>,
    last: Option<Ranked>,
    wanted: usize,
    direction: Direction,
    view: &'a View,
}

impl<'a> FirstN<'a> {
    /// Keeps so many.
    pub(super) fn new(view: &'a View, direction: Direction, wanted: usize) -> Self {
        FirstN { kept: Vec::new(), last: None, wanted, direction, view }
    }

    /// Takes in items with their values, none of which is NaN.
    pub(super) fn offer(&mut self, items: &[ScoredNode], values: &[f64]) {
        let room = self.wanted.saturating_add(self.wanted.max(SPARE));
        for (&item, &value) in items.iter().zip(values) {
            let ranked = Ranked::new(item, value, self.direction);
            if self.last.is_some_and(|last| ranked.order(&last, self.view).is_ge()) {
                continue;
            }
            self.kept.push(ranked);
            if self.kept.len() == room {
                self.cut();
            }
        }
    }

    /// Leaves out what is not among the first few: linear, once for as many items as there is room.
    fn cut(&mut self) {
        let (view, wanted) = (self.view, self.wanted);
        if let Some(last) = wanted.checked_sub(1).filter(|_| wanted < self.kept.len()) {
            self.last = Some(*self.kept.select_nth_unstable_by(last, |a, b| a.order(b, view)).1);
        }
        self.kept.truncate(wanted);
    }

    /// The items that are kept, in order.
    pub(super) fn finish(mut self) -> Vec<ScoredNode> {
        self.cut();
        self.kept.sort_unstable_by(|a, b| a.order(b, self.view));
        self.kept.into_iter().map(|ranked| ranked.item).collect()
    }
}

/// Puts the items in the order of their values, ties by id; keeps the first `wanted` only.
pub(super) fn order(
    view: &View,
    items: &mut Vec<ScoredNode>,
    values: &[f64],
    direction: Direction,
    wanted: usize,
) {
    let mut first = FirstN::new(view, direction, wanted);
    first.offer(items, values);
    *items = first.finish();
}

/// Puts scored items best first, ties by id.
pub(super) fn best_first(view: &View, items: &mut [ScoredNode]) {
    items.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_id(view, *a, *b)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;
    use proptest::prelude::*;

    /// What comes in in blocks, with many equal values, leaves as a sort of all would have it.
    #[test]
    fn the_first_few_are_those_of_a_sort() {
        let view = testing::view(900, &[]);
        let value = prop_oneof![
            (0u8..9).prop_map(f64::from),
            Just(-0.0),
            Just(f64::NEG_INFINITY),
            Just(f64::INFINITY)
        ];
        let blocks = proptest::collection::vec(proptest::collection::vec(value, 0..300), 0..4);
        proptest!(|(blocks in blocks, wanted in 0usize..400, descending: bool)| {
            let direction = if descending { Direction::Desc } else { Direction::Asc };
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
