//! BM25 (Robertson and Zaragoza 2009), with Lucene's inverse document frequency, which is never
//! negative.

/// The inverse document frequency `ln(1 + (N − n + 0.5) / (n + 0.5))` of a term that occurs in
/// `containing` (n) of `documents` (N) documents.
pub fn idf(documents: usize, containing: usize) -> f64 {
    let (all, with) = (documents.max(containing) as f64, containing as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// The term-frequency factor of BM25, `tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average))`,
/// for `tf` occurrences in a text of `length` tokens, where texts have `average` tokens on average.
/// It is between 0 and k1 + 1. The BM25 score is its product with [`idf`].
pub fn saturation(tf: f64, length: f64, average: f64, k1: f64, b: f64) -> f64 {
    let relative = if average > 0.0 { length / average } else { 1.0 };
    let denominator = tf + k1 * (1.0 - b + b * relative);
    if denominator > 0.0 { tf * (k1 + 1.0) / denominator } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn rarer_terms_count_more(documents in 1usize..100_000, a in 0usize..100_000, b in 0usize..100_000) {
            let (rare, common) = (a.min(b).min(documents), a.max(b).min(documents));
            prop_assert!(idf(documents, rare) >= idf(documents, common));
            prop_assert!(idf(documents, common) > 0.0);
        }

        #[test]
        fn more_occurrences_count_more_and_saturate(
            tf in 0.0f64..1000.0,
            length in 1.0f64..10_000.0,
            average in 1.0f64..1000.0,
            k1 in 0.0f64..3.0,
            b in 0.0f64..=1.0,
        ) {
            let score = saturation(tf, length, average, k1, b);
            prop_assert!(score >= 0.0 && score <= k1 + 1.0 + 1e-9);
            prop_assert!(saturation(tf + 1.0, length, average, k1, b) >= score);
            prop_assert!(saturation(tf, length * 2.0, average, k1, b) <= score);
        }
    }

    #[test]
    fn scores_match_values_computed_by_hand() {
        // One occurrence in a document of average length has a saturation of 1.
        assert_eq!(saturation(1.0, 5.0, 5.0, 0.9, 0.4), 1.0);
        assert!((idf(3, 1) - (1.0f64 + 2.5 / 1.5).ln()).abs() < 1e-12);
    }
}
