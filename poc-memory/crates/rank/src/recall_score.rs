//! The score of `recall`: relevance to the question, weight from use, and distance in hops.
//!
//! The relevance decides. The weight only decides between notes of about the same relevance: weights reach from 0.01 to
//! 100, and similarities of unrelated and related notes hardly differ. A score that is proportional to a power of the
//! weight would put the heaviest notes first for every question.

/// The largest share by which the weight raises a score, before the exponent.
const MAX_BOOST: f64 = 0.2;

/// The weight that gives half of the largest boost.
const HALF_BOOST_WEIGHT: f64 = 4.0;

/// Maps a cosine of −1 to 1 to a similarity of 0–1: `(cos + 1) / 2`.
pub fn similarity(cosine: f64) -> f64 {
    f64::midpoint(cosine, 1.0).clamp(0.0, 1.0)
}

/// How well a note agrees with a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallSignals {
    /// The similarity, 0–1.
    pub similarity: f64,
    /// The share of the question's words that the note contains, 0–1. Words are not weighted by their rarity, so that
    /// notes which agents add change no score.
    pub coverage: f64,
}

impl RecallSignals {
    /// The relevance, 0–1: `(6 · similarity + coverage) / 7`. A share of the words counts a third of the same difference
    /// of cosines. With more, long notes that contain common words of the question would come before its subject.
    pub fn relevance(self) -> f64 {
        (6.0 * self.similarity + self.coverage) / 7.0
    }
}

/// The exponents of relevance and boost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallExponents {
    /// The exponent α of the relevance.
    pub relevance: f64,
    /// The exponent β of the boost by the weight.
    pub weight: f64,
}

/// The boost by a weight of at least 0: `1 + 0.2 · weight / (weight + 4)`, between 1 and 1.2.
pub fn boost(weight: f64) -> f64 {
    1.0 + MAX_BOOST * weight / (weight + HALF_BOOST_WEIGHT)
}

/// The score `relevance^α · graph · boost^β`, where `graph` is the factor of [`after_hops`]. It is 1 for a node that was
/// found directly.
pub fn score(relevance: f64, graph: f64, weight: f64, exponents: RecallExponents) -> f64 {
    relevance.powf(exponents.relevance) * graph * boost(weight).powf(exponents.weight)
}

/// The factor of a node that was reached over `hops` edges: `1 / factor^hops`.
pub fn after_hops(hops: usize, factor: f64) -> f64 {
    factor.powi(-i32::try_from(hops).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USUAL: RecallExponents = RecallExponents { relevance: 1.0, weight: 0.5 };

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(
            [similarity(1.0), similarity(0.6), similarity(0.0), similarity(-1.0)],
            [1.0, 0.8, 0.5, 0.0]
        );
        // Rounding may give a cosine above 1.
        assert_eq!(similarity(1.002), 1.0);
        let relevance = |similarity, coverage| RecallSignals { similarity, coverage }.relevance();
        assert_eq!([relevance(1.0, 1.0), relevance(0.875, 0.0), relevance(0.0, 0.875)], [1.0, 0.75, 0.125]);
        assert_eq!([boost(0.0), boost(4.0), boost(f64::MAX)], [1.0, 1.1, 1.2]);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(score(0.8, 1.0, 4.0, USUAL), 0.8 * 1.1f64.sqrt()));
        assert_eq!([after_hops(0, 2.0), after_hops(1, 2.0), after_hops(2, 2.0)], [1.0, 0.5, 0.25]);
        // Two hops from a node of relevance 0.9, to a node of weight 6.
        assert!(close(score(0.9, after_hops(2, 2.0), 6.0, USUAL), 0.9 / 4.0 * 1.12f64.sqrt()));
    }

    poc_laws::laws! {
        #[test]
        fn more_likeness_more_words_more_weight_and_fewer_hops_score_more(
            a in 0.0f64..=1.0, b in 0.0f64..=1.0, c in 0.0f64..=1.0,
            w in 0.01f64..100.0, v in 0.01f64..100.0, hops in 0usize..8,
        ) {
            let of = |similarity, coverage, hops, weight| {
                let relevance = RecallSignals { similarity, coverage }.relevance();
                score(relevance, after_hops(hops, 2.0), weight, USUAL)
            };
            prop_assert!(of(a.max(b), c, hops, w) >= of(a.min(b), c, hops, w));
            prop_assert!(of(c, a.max(b), hops, w) >= of(c, a.min(b), hops, w));
            prop_assert!(of(a, c, hops, w.max(v)) >= of(a, c, hops, w.min(v)));
            prop_assert!(of(a, c, hops, w) >= of(a, c, hops + 1, w));
        }

        /// However heavy the other note is, a note that is a tenth more relevant comes first.
        #[test]
        fn the_weight_decides_only_between_notes_of_about_the_same_relevance(
            relevance in 0.0f64..=0.9, light in 0.01f64..100.0, heavy in 0.01f64..1e6,
        ) {
            let of = |relevance, weight| score(relevance, 1.0, weight, USUAL);
            prop_assert!(of(relevance * 1.1, light) >= of(relevance, heavy));
        }
    }
}
