//! Selects the greatest `k` of many values.

use poc_graph::NodeId;
use std::cmp::Ordering;

/// A node with its score and a payload. Ordered by score, then by descending id, so that the greater one ranks first.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<T> {
    /// The score; higher is better.
    pub score: f64,
    /// The node.
    pub id: NodeId,
    /// The payload.
    pub payload: T,
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

/// Keeps the greatest `limit` of the values offered. Values are collected until there are twice as many, and are then
/// reduced by selection. This takes constant time per value, while the time of a heap grows with the limit.
pub struct TopK<T> {
    limit: usize,
    kept: Vec<T>,
    // At least `limit` of the values offered so far are not below this.
    floor: Option<T>,
}

/// The minimum number of values collected beyond the limit.
const MIN_EXTRA: usize = 16;

impl<T: Ord + Copy> TopK<T> {
    /// Creates a selection of the greatest `limit` values; with 0 it keeps none.
    pub fn new(limit: usize) -> Self {
        TopK { limit, kept: Vec::new(), floor: None }
    }

    /// Whether a value may be among the greatest `limit`; `false` means that it certainly is not; `true` may be wrong.
    #[inline]
    pub fn may_accept(&self, value: &T) -> bool {
        self.limit > 0 && self.floor.is_none_or(|floor| *value > floor)
    }

    /// Offers a value.
    #[inline]
    pub fn offer(&mut self, value: T) {
        if self.may_accept(&value) {
            self.kept.push(value);
            if self.kept.len() >= self.limit.saturating_add(self.limit.max(MIN_EXTRA)) {
                self.narrow();
            }
        }
    }

    /// The bound that a value must exceed; `None` while every value is accepted. After [`TopK::narrow`] it is the
    /// smallest of the greatest `limit` values; before, it may be lower.
    #[inline]
    pub fn floor(&self) -> Option<&T> {
        self.floor.as_ref()
    }

    /// Drops all but the greatest `limit` values.
    pub fn narrow(&mut self) {
        let Some(last) = self.limit.checked_sub(1).filter(|last| *last < self.kept.len()) else { return };
        let (_, min, _) = self.kept.select_nth_unstable_by(last, |a, b| b.cmp(a));
        self.floor = Some(*min);
        self.kept.truncate(self.limit);
    }

    /// The greatest `limit` values, greatest first.
    pub fn into_sorted(mut self) -> Vec<T> {
        self.narrow();
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn the_result_is_the_head_of_the_sorted_list(values in any::<Vec<u8>>(), limit in 0usize..20) {
            let mut top = TopK::new(limit);
            for (count, &value) in values.iter().enumerate() {
                let greater = values[..count].iter().filter(|other| **other >= value).count();
                prop_assert!(top.may_accept(&value) || greater >= limit);
                top.offer(value);
            }
            let mut narrow = TopK::new(limit);
            values.iter().for_each(|&value| narrow.offer(value));
            narrow.narrow();
            let mut sorted = values;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(limit);
            prop_assert_eq!(narrow.floor(), sorted.last().filter(|_| sorted.len() == limit));
            prop_assert_eq!(top.into_sorted(), sorted);
        }
    }
}
