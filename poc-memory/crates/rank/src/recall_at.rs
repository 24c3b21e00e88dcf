//! Recall at a depth: the share of all relevant documents that are among the first hits.

/// The share, 0–1, of all `relevant` documents that are among the first `depth` hits. `gains` has the gain of each hit
/// in the order of the ranking, 0 for irrelevant ones. The result is 0 if nothing is relevant.
pub fn recall_at(gains: &[f64], relevant: usize, depth: usize) -> f64 {
    let found = gains.iter().take(depth).filter(|gain| **gain > 0.0).count();
    if relevant == 0 { 0.0 } else { found as f64 / relevant as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(recall_at(&[0.0, 1.0, 0.0, 2.0], 4, 3), 0.25);
        assert_eq!(recall_at(&[0.0, 1.0, 0.0, 2.0], 4, 10), 0.5);
        assert_eq!(recall_at(&[], 4, 10), 0.0);
        assert_eq!(recall_at(&[], 0, 10), 0.0);
    }

    poc_laws::laws! {
        /// Recall is monotone in the depth and at most 1.
        #[test]
        fn recall_grows_with_depth_up_to_one(hits in proptest::collection::vec(0u8..3, 0..30), missed in 0usize..5) {
            let gains: Vec<f64> = hits.iter().map(|&gain| f64::from(gain)).collect();
            let relevant = gains.iter().filter(|gain| **gain > 0.0).count() + missed;
            let at: Vec<f64> = (0..32).map(|depth| recall_at(&gains, relevant, depth)).collect();
            prop_assert!(at.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(at.iter().all(|recall| (0.0..=1.0).contains(recall)));
            if missed == 0 && relevant > 0 {
                prop_assert_eq!(recall_at(&gains, relevant, gains.len()), 1.0);
            }
        }
    }
}
