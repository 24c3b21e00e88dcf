//! Fusion of what words and meaning say of a note, by their standard scores (`standard.rs`).
//!
//! BM25 has a long tail as it is: a note with all the rare words of a question stands ten deviations
//! and more above the mean, while the best cosine seldom stands above five. Squared, cosines have such a
//! tail, too: near the mean, where they are noise, they hardly count, and a note that stands out by its
//! meaning alone comes before one that shares a common word.

/// `words + weight · sign(meaning) · meaning²`, of the standard scores of BM25 and cosine.
#[inline]
pub fn fused(words: f64, meaning: f64, weight: f64) -> f64 {
    words + of_meaning(meaning, weight)
}

/// The share of the meaning in [`fused`].
#[inline]
pub fn of_meaning(meaning: f64, weight: f64) -> f64 {
    weight * meaning * meaning.abs()
}

/// What it is worth that a question names a note: so many times what the best note is worth by itself.
/// Nothing when the best is worth less than nothing.
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
        /// More of either never makes less, and a weight of 0 leaves the words alone.
        #[test]
        fn it_grows_with_both(
            words in -5.0f64..30.0, meaning in -5.0f64..9.0, more in 0.0f64..5.0, weight in 0.0f64..2.0,
        ) {
            let score = fused(words, meaning, weight);
            prop_assert!(fused(words + more, meaning, weight) >= score);
            prop_assert!(fused(words, meaning + more, weight) >= score);
            prop_assert_eq!(fused(words, meaning, 0.0), words);
        }

        /// A note that is named passes every other that is worth as much by itself.
        #[test]
        fn who_is_named_comes_first(best in 0.0f64..30.0, own in 0.0f64..30.0, other in 0.0f64..30.0) {
            let (own, other) = (own.min(best), other.min(best));
            prop_assert!(own + lift(1.0, best) >= other);
        }
    }
}
