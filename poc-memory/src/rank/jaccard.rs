//! Likeness of two texts as sets (Jaccard 1901): of what they are spelt with, or of their words.

use rustc_hash::FxHashSet;
use std::hash::Hash;
use unicode_segmentation::UnicodeSegmentation;

/// Spaces put at both ends, so that a word's first and last letter count as often as the others.
const PADDING: &str = "  ";

/// Characters in a row that are compared.
const LENGTH: usize = 3;

/// How many of the character trigrams of two texts are in both, 0–1. The texts are lower-cased and
/// padded with two spaces at both ends. A text of white space is like nothing, not even itself.
pub fn spelling(a: &str, b: &str) -> f64 {
    jaccard(&trigrams(a), &trigrams(b))
}

/// How many of the words of two texts (Unicode, in lower case) are in both, 0–1. A text without words
/// is like nothing, not even itself.
pub fn words(a: &str, b: &str) -> f64 {
    let [a, b] = [a, b].map(str::to_lowercase);
    jaccard(&a.unicode_words().collect(), &b.unicode_words().collect())
}

/// Size of the common part of two sets by the size of both together; 0 when both are empty.
fn jaccard<T: Eq + Hash>(a: &FxHashSet<T>, b: &FxHashSet<T>) -> f64 {
    let common = a.intersection(b).count();
    let together = a.len() + b.len() - common;
    if together == 0 { 0.0 } else { common as f64 / together as f64 }
}

fn trigrams(text: &str) -> FxHashSet<[char; LENGTH]> {
    let text = text.trim();
    if text.is_empty() {
        return FxHashSet::default();
    }
    let letters: Vec<char> = format!("{PADDING}{}{PADDING}", text.to_lowercase()).chars().collect();
    letters.windows(LENGTH).filter_map(|window| window.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // "  ab  " has {"  a", " ab", "ab ", "b  "}, "  ac  " {"  a", " ac", "ac ", "c  "}.
        assert_eq!(spelling("ab", "ac"), 1.0 / 7.0);
        assert_eq!(spelling("B-tree", "b-TREE"), 1.0);
        assert_eq!(spelling("", ""), 0.0);
        assert_eq!(spelling("  ", "x"), 0.0);
        assert_eq!(spelling("abc", "xyz"), 0.0);
        assert_eq!(words("The B-tree split", "a split tree"), 2.0 / 5.0);
        assert_eq!(words("…", "…"), 0.0);
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_a_share(a in ".{0,12}", b in ".{0,12}") {
            let like = spelling(&a, &b);
            prop_assert_eq!(like, spelling(&b, &a));
            prop_assert!((0.0..=1.0).contains(&like));
            prop_assert_eq!(spelling(&a, &a), if a.trim().is_empty() { 0.0 } else { 1.0 });
        }
    }
}
