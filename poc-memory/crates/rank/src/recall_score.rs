//! The score of `recall`: similarity to the question, weight from use, and distance in hops.

/// Maps a cosine of −1 to 1 to a similarity of 0–1: `(cos + 1) / 2`.
pub fn similarity(cosine: f64) -> f64 {
    f64::midpoint(cosine, 1.0).clamp(0.0, 1.0)
}

/// The exponents of similarity and weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallExponents {
    /// The exponent α of the similarity.
    pub similarity: f64,
    /// The exponent β of the weight.
    pub weight: f64,
}

/// The score `similarity^α · graph · weight^β`, where `graph` is the factor of [`after_hops`]. It is 1 for a node that
/// was found directly.
pub fn score(similarity: f64, graph: f64, weight: f64, exponents: RecallExponents) -> f64 {
    similarity.powf(exponents.similarity) * graph * weight.powf(exponents.weight)
}

/// The factor of a node that was reached over `hops` edges: `1 / factor^hops`.
pub fn after_hops(hops: usize, factor: f64) -> f64 {
    factor.powi(-i32::try_from(hops).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USUAL: RecallExponents = RecallExponents { similarity: 1.0, weight: 0.5 };

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(
            [similarity(1.0), similarity(0.6), similarity(0.0), similarity(-1.0)],
            [1.0, 0.8, 0.5, 0.0]
        );
        // Rounding may give a cosine above 1.
        assert_eq!(similarity(1.002), 1.0);
        assert_eq!(score(0.8, 1.0, 4.0, USUAL), 1.6);
        assert_eq!([after_hops(0, 2.0), after_hops(1, 2.0), after_hops(2, 2.0)], [1.0, 0.5, 0.25]);
        // Two hops from a node of similarity 0.9, to a node of weight 2.25.
        assert!((score(0.9, after_hops(2, 2.0), 2.25, USUAL) - 0.9 / 4.0 * 1.5).abs() < 1e-12);
    }

    poc_laws::laws! {
        #[test]
        fn more_likeness_more_weight_and_fewer_hops_score_more(
            a in 0.0f64..=1.0, b in 0.0f64..=1.0, w in 0.01f64..100.0, v in 0.01f64..100.0, hops in 0usize..8,
        ) {
            let of = |similarity, hops, weight| score(similarity, after_hops(hops, 2.0), weight, USUAL);
            prop_assert!(of(a.max(b), hops, w) >= of(a.min(b), hops, w));
            prop_assert!(of(a, hops, w.max(v)) >= of(a, hops, w.min(v)));
            prop_assert!(of(a, hops, w) >= of(a, hops + 1, w));
        }
    }
}
