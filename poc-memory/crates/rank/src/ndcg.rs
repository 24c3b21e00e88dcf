//! Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002): how close a ranking is to the ideal
//! order.

/// The ratio `DCG(gains) / DCG(ideal)` over the first `depth` hits, 0–1, with `DCG = Σ gain / log2(rank + 1)` and ranks
/// from 1. `gains` has the gain of each hit in the order of the ranking, 0 for irrelevant ones. `ideal` has the gains
/// of all relevant documents in any order. The result is 0 if nothing is relevant.
pub fn ndcg(gains: &[f64], ideal: &[f64], depth: usize) -> f64 {
    let mut best = ideal.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    let max = dcg(&best, depth);
    if max > 0.0 { dcg(gains, depth) / max } else { 0.0 }
}

fn dcg(gains: &[f64], depth: usize) -> f64 {
    (2u32..).zip(gains.iter().take(depth)).map(|(next_rank, gain)| gain / f64::from(next_rank).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        // The second of two relevant documents is ranked first, and the other third.
        let expected = (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2());
        assert!((ndcg(&[1.0, 0.0, 1.0], &[1.0, 1.0], 10) - expected).abs() < 1e-12);
        assert_eq!(ndcg(&[0.0, 0.0, 1.0], &[1.0], 2), 0.0);
        assert_eq!(ndcg(&[0.0, 0.0, 1.0], &[1.0], 3), 0.5);
        assert_eq!(ndcg(&[], &[1.0], 10), 0.0);
        assert_eq!(ndcg(&[], &[], 10), 0.0);
    }

    poc_laws::laws! {
        /// The ideal order scores 1, and no other order scores more.
        #[test]
        fn the_ideal_order_scores_one(gains in proptest::collection::vec(0u8..4, 1..20), depth in 1usize..25) {
            let gains: Vec<f64> = gains.into_iter().map(f64::from).collect();
            let mut ideal = gains.clone();
            ideal.sort_by(|a, b| b.total_cmp(a));
            let any = gains.iter().any(|gain| *gain > 0.0);
            prop_assert_eq!(ndcg(&ideal, &gains, depth), f64::from(u8::from(any)));
            prop_assert!((0.0..=1.0 + 1e-12).contains(&ndcg(&gains, &gains, depth)));
        }

        /// Swapping a hit with a worse one above it improves the score.
        #[test]
        fn moving_a_better_hit_up_improves_the_score(gains in proptest::collection::vec(0u8..4, 2..20), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
            let gains: Vec<f64> = gains.into_iter().map(f64::from).collect();
            let (a, b) = (a.index(gains.len()), b.index(gains.len()));
            let (above, below) = (a.min(b), a.max(b));
            prop_assume!(gains[below] > gains[above]);
            let mut better = gains.clone();
            better.swap(above, below);
            prop_assert!(ndcg(&better, &gains, 20) > ndcg(&gains, &gains, 20));
        }
    }
}
