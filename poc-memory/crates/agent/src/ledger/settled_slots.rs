//! The settled slots of an agent: those with an outcome.

use super::time_range::TimeRange;
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Maximum number of separate ranges.
const RANGES: usize = 32;

/// The settled slots as ordered, inclusive ranges.
///
/// Slots are identified by their scheduled time, so that setting the clock back does not run a slot twice.
/// When there are too many ranges, the two closest are merged, including the gap between them: slots in the
/// gap are skipped, which is better than running slots twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SettledSlots(Vec<TimeRange>);

impl SettledSlots {
    /// Marks the slots from `first` to `last` as settled.
    pub(super) fn add(&mut self, first: Timestamp, last: Timestamp) {
        let (ranges, mut added) = (&mut self.0, TimeRange { first: first.min(last), last });
        ranges.retain(|range| {
            let apart = range.last < added.first || range.first > added.last;
            if !apart {
                added = TimeRange { first: added.first.min(range.first), last: added.last.max(range.last) };
            }
            apart
        });
        let at = ranges.partition_point(|range| range.last < added.first);
        ranges.insert(at, added);
        if ranges.len() <= RANGES {
            return;
        }
        let gaps = ranges.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [before, after] => Some((after.first.0.saturating_sub(before.last.0), index)),
            _ => None,
        });
        let Some((_, closest)) = gaps.min() else { return };
        let TimeRange { last, .. } = ranges.remove(closest + 1);
        if let Some(range) = ranges.get_mut(closest) {
            range.last = last;
        }
    }

    /// The last settled slot at or before `now`, or `now` itself if it is inside a range.
    pub(super) fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let at = self.0.partition_point(|range| range.first <= now);
        Some(now.min(self.0.get(at.checked_sub(1)?)?.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// Settled slots stay settled for any number and order of slots, and the number of ranges is bounded.
        #[test]
        fn settled_slots_stay_settled(slots in proptest::collection::vec(0..100_000i64, 1..200)) {
            let mut settled = SettledSlots::default();
            for (count, slot) in slots.iter().enumerate() {
                settled.add(Timestamp(*slot), Timestamp(*slot));
                prop_assert!(slots.iter().take(count + 1).all(|slot| settled.last(Timestamp(*slot)) == Some(Timestamp(*slot))));
            }
            prop_assert!(settled.0.len() <= RANGES);
            prop_assert!(settled.0.is_sorted());
            let min = slots.iter().min().copied().unwrap_or_default();
            prop_assert_eq!(settled.last(Timestamp(min - 1)), None);
        }

        /// A slot far ahead, from a clock that was ahead, settles no consecutive slots before it.
        #[test]
        fn a_slot_far_ahead_settles_no_earlier_slot(count in 1..200i64, ahead in 1_000..100_000i64) {
            let mut settled = SettledSlots::default();
            settled.add(Timestamp(count + ahead), Timestamp(count + ahead));
            (0..count).for_each(|slot| settled.add(Timestamp(slot), Timestamp(slot)));
            prop_assert_eq!(settled.last(Timestamp(count + ahead - 1)), Some(Timestamp(count - 1)));
        }
    }
}
