//! Coverage: the weighted share of a question's words that a note contains. Words are weighted by their inverse
//! document frequency (`bm25.rs`). A word that no note contains has the highest weight, so it lowers the coverage of
//! every note.

/// The share, 0–1, of the total weight that belongs to terms in the note. A term is given as its weight and whether the
/// note contains it. 0 without terms.
pub fn coverage(terms: impl Iterator<Item = (f64, bool)>) -> f64 {
    let (held, all) = terms.fold((0.0, 0.0), |(held, all), (weight, holds)| {
        (if holds { held + weight } else { held }, all + weight)
    });
    if all > 0.0 { held / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm25::idf;
    use proptest::prelude::*;

    #[test]
    fn an_unseen_word_weighs_most() {
        let (common, unseen) = (idf(100, 50), idf(100, 0));
        assert_eq!(coverage([(common, true)].into_iter()), 1.0);
        assert!(coverage([(common, true), (unseen, false)].into_iter()) < 0.2);
        assert_eq!(coverage(std::iter::empty()), 0.0);
    }

    poc_laws::laws! {
        #[test]
        fn coverage_is_a_share_that_grows_with_the_terms_contained(
            terms in proptest::collection::vec((0.01f64..9.0, any::<bool>()), 1..12), at in any::<proptest::sample::Index>(),
        ) {
            let share = coverage(terms.iter().copied());
            prop_assert!((0.0..=1.0).contains(&share));
            let mut more = terms.clone();
            more[at.index(terms.len())].1 = true;
            prop_assert!(coverage(more.into_iter()) >= share);
        }
    }
}
