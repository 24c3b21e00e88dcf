//! Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): merges rankings whose scores are not comparable.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The constant of the paper. With a greater constant, the score falls more slowly with the rank.
pub const K: f64 = 60.0;

/// Fuses ranked lists, each with its weight. The score of an item is the sum of `weight / (K + rank)` over the lists
/// that contain it, with ranks from 1. Items are returned best first; equal scores are ordered by item. The maximum
/// score with three lists of weight 1 is 3/61. No list may repeat an item. Lists of weight 0 are ignored.
pub fn rrf<T: Copy + Eq + Hash + Ord>(lists: &[(f64, &[T])]) -> Vec<(T, f64)> {
    let mut scores: FxHashMap<T, f64> = FxHashMap::default();
    for &(weight, list) in lists.iter().filter(|(weight, _)| *weight > 0.0) {
        for (before, &item) in list.iter().enumerate() {
            *scores.entry(item).or_default() += weight / (K + 1.0 + before as f64);
        }
    }
    let mut fused: Vec<(T, f64)> = scores.into_iter().collect();
    fused.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        let fused = rrf(&[(1.0, &["a", "b"]), (1.0, &["c", "b"]), (0.5, &["d"]), (0.0, &["e"])]);
        let expected = [("b", 2.0 / 62.0), ("a", 1.0 / 61.0), ("c", 1.0 / 61.0), ("d", 0.5 / 61.0)];
        assert_eq!(fused, expected);
    }

    /// Three rankings, each of some items below 12.
    fn lists() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let list = Just((0u8..12).collect::<Vec<u8>>()).prop_shuffle();
        proptest::collection::vec((list, 0usize..12), 3).prop_map(|lists| {
            lists.into_iter().map(|(list, length)| list.into_iter().take(length).collect()).collect()
        })
    }

    poc_laws::laws! {
        /// The score equals its definition and is at most that of an item that is first in every list.
        #[test]
        fn a_score_equals_its_definition_and_is_bounded(lists in lists()) {
            let fused = rrf(&lists.iter().map(|list| (1.0, list.as_slice())).collect::<Vec<_>>());
            prop_assert!(fused.iter().all(|(_, score)| *score > 0.0 && *score <= 3.0 / 61.0));
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 > pair[1].1 || (pair[0].1 == pair[1].1 && pair[0].0 < pair[1].0)));
            for item in 0u8..12 {
                let ranks = lists.iter().filter_map(|list| list.iter().position(|other| *other == item));
                let expected: f64 = ranks.map(|before| 1.0 / (61.0 + before as f64)).sum();
                let found = fused.iter().find(|(other, _)| *other == item).map_or(0.0, |(_, score)| *score);
                prop_assert!((found - expected).abs() < 1e-12);
            }
        }

        /// Moving an item to the top of one list never lowers its fused rank.
        #[test]
        fn a_better_rank_never_hurts(lists in lists(), item in 0u8..12) {
            let rank_of = |lists: &[Vec<u8>]| {
                let fused = rrf(&lists.iter().map(|list| (1.0, list.as_slice())).collect::<Vec<_>>());
                fused.iter().position(|(other, _)| *other == item).unwrap_or(usize::MAX)
            };
            let mut better = lists.clone();
            better[1].retain(|other| *other != item);
            better[1].insert(0, item);
            prop_assert!(rank_of(&better) <= rank_of(&lists));
        }
    }
}
