//! Fusion of the text score and the vector score of a note, both as standard scores
//! (`standard_score.rs`).
//!
//! BM25 has a long tail: a note with all the rare words of a question can be ten deviations above the
//! mean, while the best cosine is seldom above five. Squaring the cosine scores gives them a similar
//! tail. Near the mean, where they are noise, they then hardly count, and a note that stands out by
//! its meaning alone ranks above one that merely shares a common word.

/// `words + weight · sign(meaning) · meaning²`, where `words` and `meaning` are the standard scores of BM25
/// and of the cosine.
#[inline]
pub fn fused(words: f64, meaning: f64, weight: f64) -> f64 {
    words + of_meaning(meaning, weight)
}

/// The contribution of the meaning to [`fused`].
#[inline]
pub fn of_meaning(meaning: f64, weight: f64) -> f64 {
    weight * meaning * meaning.abs()
}

/// The bonus of a note that the question names: `weight` times the base score of the best note, and 0 when
/// that score is negative.
pub fn lift(weight: f64, best: f64) -> f64 {
    weight * best.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(fused(3.0, 2.0, 0.5), 5.0);
        assert_eq!(fused(3.0, -2.0, 0.5), 1.0);
        assert_eq!((lift(0.75, 4.0), lift(0.75, -4.0)), (3.0, 0.0));
    }

    proptest! {
        /// The score is monotone in both inputs, and a weight of 0 leaves only the words.
        #[test]
        fn it_grows_with_both(
            words in -5.0f64..30.0, meaning in -5.0f64..9.0, more in 0.0f64..5.0, weight in 0.0f64..2.0,
        ) {
            let score = fused(words, meaning, weight);
            prop_assert!(fused(words + more, meaning, weight) >= score);
            prop_assert!(fused(words, meaning + more, weight) >= score);
            prop_assert_eq!(fused(words, meaning, 0.0), words);
        }

        /// With weight 1, a named note ranks at least as high as any note that is not named.
        #[test]
        fn a_named_note_comes_first(best in 0.0f64..30.0, own in 0.0f64..30.0, other in 0.0f64..30.0) {
            let (own, other) = (own.min(best), other.min(best));
            prop_assert!(own + lift(1.0, best) >= other);
        }
    }
}
