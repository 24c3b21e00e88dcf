//! Combines the text score and the vector score of a note, both as standard scores (`standard_score.rs`).
//!
//! BM25 has a long tail: a note with all the rare words of a question can be ten deviations above the mean, while the
//! best cosine is seldom more than five above. Squaring the vector scores gives them a similar tail. Vector scores near
//! the mean are noise, and squared they hardly count. A note that stands out by its meaning alone then ranks above one
//! that merely shares a common word.
//!
//! The vectors of a sentence model carry more information than words that occur in many notes, and less than rare
//! words. If all notes are about one topic, the words of a question are common, and a note with one more matching word
//! would outrank notes with the same meaning. [`clarity`] measures how clearly the words point to a note, and
//! [`meaning_factor`] raises the weight of the vector score if they do not.

/// The combined score `words + weight · sign(meaning) · meaning²`, where `words` and `meaning` are the standard scores
/// of BM25 and of the cosine.
#[inline]
pub fn fused(words: f64, meaning: f64, weight: f64) -> f64 {
    words + of_meaning(meaning, weight)
}

/// The contribution of the vector score to [`fused`].
#[inline]
pub fn of_meaning(meaning: f64, weight: f64) -> f64 {
    weight * meaning * meaning.abs()
}

/// How clearly the words of a question point to a note: the geometric mean of the highest BM25 score and its standard
/// score; 0 if no note contains any of the words. BM25 sums the inverse document frequencies of the words found, so it
/// is low for common words. The standard score is low if many notes have the same words. Each of them alone is
/// misleading for some questions: BM25 for those with many common words, and the standard score in small stores, where
/// it is at most √(n − 1) for n notes.
pub fn clarity(bm25: f64, standard: f64) -> f64 {
    (bm25.max(0.0) * standard.max(0.0)).sqrt()
}

/// The factor for the weight of the vector score: `clear / clarity`, limited to 1 to `max`. It is always 1 if `clear`
/// is 0.
pub fn meaning_factor(clarity: f64, clear: f64, max: f64) -> f64 {
    if clarity >= clear { 1.0 } else { (clear / clarity).min(max).max(1.0) }
}

/// The bonus of a note that the question names: `weight` times the score of the best note, or 0 if that score is
/// negative.
pub fn name_bonus(weight: f64, best: f64) -> f64 {
    weight * best.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(fused(3.0, 2.0, 0.5), 5.0);
        assert_eq!(fused(3.0, -2.0, 0.5), 1.0);
        assert_eq!((clarity(9.0, 4.0), clarity(9.0, -1.0), clarity(0.0, 0.0)), (6.0, 0.0, 0.0));
        let factor = |clarity| meaning_factor(clarity, 12.0, 4.0);
        assert_eq!([20.0, 12.0, 8.0, 4.0, 3.0, 1.0, 0.0].map(factor), [1.0, 1.0, 1.5, 3.0, 4.0, 4.0, 4.0]);
        assert_eq!((meaning_factor(0.0, 0.0, 4.0), meaning_factor(5.0, 0.0, 4.0)), (1.0, 1.0));
        assert_eq!((name_bonus(0.75, 4.0), name_bonus(0.75, -4.0)), (3.0, 0.0));
    }

    poc_laws::laws! {
        /// The score increases with both inputs. With a weight of 0, only the words count.
        #[test]
        fn the_fused_score_grows_with_both_scores(
            words in -5.0f64..30.0, meaning in -5.0f64..9.0, more in 0.0f64..5.0, weight in 0.0f64..2.0,
        ) {
            let score = fused(words, meaning, weight);
            prop_assert!(fused(words + more, meaning, weight) >= score);
            prop_assert!(fused(words, meaning + more, weight) >= score);
            prop_assert_eq!(fused(words, meaning, 0.0), words);
        }

        /// The clearer the words, the lower the factor. It never leaves its bounds.
        #[test]
        fn clearer_words_lower_the_factor(
            bm25 in 0.0f64..60.0, standard in -2.0f64..30.0, more in 0.0f64..5.0,
            clear in 0.0f64..40.0, max in 1.0f64..16.0,
        ) {
            let factor = |bm25, standard| meaning_factor(clarity(bm25, standard), clear, max);
            let before = factor(bm25, standard);
            prop_assert!((1.0..=max).contains(&before));
            prop_assert!(factor(bm25 + more, standard) <= before && factor(bm25, standard + more) <= before);
        }

        /// With weight 1, a named note ranks at least as high as any note that is not named.
        #[test]
        fn a_named_note_comes_first(best in 0.0f64..30.0, own in 0.0f64..30.0, other in 0.0f64..30.0) {
            let (own, other) = (own.min(best), other.min(best));
            prop_assert!(own + name_bonus(1.0, best) >= other);
        }
    }
}
