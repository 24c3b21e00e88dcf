//! Reciprocal rank (Voorhees 1999) of the first relevant hit. Its mean over many questions is the MRR.

/// The reciprocal rank `1 / rank`, with ranks from 1, of the first hit with a gain above 0 among the first `depth`; 0
/// if there is none.
pub fn reciprocal_rank(gains: &[f64], depth: usize) -> f64 {
    let first = gains.iter().take(depth).position(|gain| *gain > 0.0);
    first.map_or(0.0, |before| 1.0 / (before as f64 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall_at::recall_at;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(reciprocal_rank(&[0.0, 0.0, 1.0, 1.0], 10), 1.0 / 3.0);
        assert_eq!(reciprocal_rank(&[0.0, 0.0, 1.0], 2), 0.0);
        assert_eq!(reciprocal_rank(&[], 10), 0.0);
    }

    poc_laws::laws! {
        /// With one relevant document, the result is above 0 exactly if that document is found.
        #[test]
        fn the_reciprocal_rank_is_above_zero_when_something_is_found(index in 0usize..20, depth in 1usize..25) {
            let mut gains = vec![0.0; 20];
            gains[index] = 1.0;
            let rank = reciprocal_rank(&gains, depth);
            prop_assert_eq!(rank > 0.0, recall_at(&gains, 1, depth) > 0.0);
            prop_assert!(rank == 0.0 || (rank - 1.0 / (index as f64 + 1.0)).abs() < 1e-12);
        }
    }
}
