//! The Jaccard similarity of two texts (Jaccard 1901): shared character trigrams, or shared words, as a share of all.

use rustc_hash::FxHashSet;
use std::hash::Hash;
use unicode_segmentation::UnicodeSegmentation;

/// Spaces at both ends, so that the first and last characters of a text are in as many trigrams as the others.
const PADDING: &str = "  ";

/// The number of characters in a trigram.
const LENGTH: usize = 3;

/// The Jaccard similarity of the character trigrams of two texts, 0–1. The texts are trimmed, lower-cased and padded
/// with two spaces at both ends. 0 if a text is blank.
pub fn trigrams(a: &str, b: &str) -> f64 {
    similarity(&trigrams_of(a), &trigrams_of(b))
}

/// The Jaccard similarity of the lower-case Unicode words of two texts, 0–1. 0 if a text has no words.
pub fn words(a: &str, b: &str) -> f64 {
    let [a, b] = [a, b].map(str::to_lowercase);
    similarity(&a.unicode_words().collect(), &b.unicode_words().collect())
}

/// The size of the intersection divided by the size of the union; 0 if both sets are empty.
fn similarity<T: Eq + Hash>(a: &FxHashSet<T>, b: &FxHashSet<T>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

fn trigrams_of(text: &str) -> FxHashSet<[char; LENGTH]> {
    let text = text.trim();
    if text.is_empty() {
        return FxHashSet::default();
    }
    let characters: Vec<char> = format!("{PADDING}{}{PADDING}", text.to_lowercase()).chars().collect();
    characters.windows(LENGTH).filter_map(|window| window.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        // "  ab  " has {"  a", " ab", "ab ", "b  "}, and "  ac  " has {"  a", " ac", "ac ", "c  "}.
        assert_eq!(trigrams("ab", "ac"), 1.0 / 7.0);
        assert_eq!(trigrams("B-tree", "b-TREE"), 1.0);
        assert_eq!(trigrams("", ""), 0.0);
        assert_eq!(trigrams("  ", "x"), 0.0);
        assert_eq!(trigrams("abc", "xyz"), 0.0);
        assert_eq!(words("The B-tree split", "a split tree"), 2.0 / 5.0);
        assert_eq!(words("…", "…"), 0.0);
    }

    poc_laws::laws! {
        #[test]
        fn the_jaccard_index_is_symmetric_and_a_share(a in ".{0,12}", b in ".{0,12}") {
            for similarity in [trigrams, words] {
                prop_assert_eq!(similarity(&a, &b), similarity(&b, &a));
                prop_assert!((0.0..=1.0).contains(&similarity(&a, &b)));
            }
            prop_assert_eq!(trigrams(&a, &a), if a.trim().is_empty() { 0.0 } else { 1.0 });
        }
    }
}
