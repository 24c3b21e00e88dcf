//! A sketch of a text, which serves to recognise a file that was both moved and edited.
//!
//! The sketch is the set of the smallest hashes of all pairs of consecutive words. For two texts, the fraction of
//! common hashes among the smallest of both estimates the Jaccard similarity of their pairs (A. Broder, "On the
//! resemblance and containment of documents", 1997). For a short text, it is exact.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// Hashes of a sketch.
const HASHES: usize = 64;

/// The sketch of a text: hashes in ascending order.
pub(super) fn of(text: &str) -> Vec<u32> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut hashes: BTreeSet<u32> = BTreeSet::new();
    let pairs = words.windows(2).chain(words.get(..1).filter(|_| words.len() == 1));
    for pair in pairs {
        let mut hasher = rustc_hash::FxHasher::default();
        pair.hash(&mut hasher);
        // The upper half of the product is better mixed (multiplicative hashing with the golden ratio).
        let hash = hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        hashes.insert(u32::try_from(hash).unwrap_or_default());
    }
    hashes.into_iter().take(HASHES).collect()
}

/// The similarity of two texts, from 0 to 1.
pub(super) fn similarity(a: &[u32], b: &[u32]) -> f64 {
    let all: BTreeSet<u32> = a.iter().chain(b).copied().collect();
    let smallest: Vec<u32> = all.into_iter().take(HASHES).collect();
    if smallest.is_empty() {
        return 0.0;
    }
    let common =
        smallest.iter().filter(|hash| a.binary_search(hash).is_ok() && b.binary_search(hash).is_ok());
    common.count() as f64 / smallest.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_edited_text_is_similar_and_another_is_not() {
        let text = "A crash between the two page writes of a B-tree split loses the keys of the right half.";
        let edited = text.replace("right half", "right half of the page");
        assert!(similarity(&of(text), &of(&edited)) > 0.6);
        assert!(similarity(&of(text), &of("Lentil soup with lemon and bread for the evening.")) < 0.1);
        assert_eq!(similarity(&of(""), &of("")), 0.0);
    }

    proptest! {
        #[test]
        fn similarity_is_symmetric_and_one_for_the_same_text(
            a in "([a-c]{1,2} ){1,200}",
            b in "([a-c]{1,2} ){1,200}",
        ) {
            let (a, b) = (of(&a), of(&b));
            prop_assert_eq!(similarity(&a, &b), similarity(&b, &a));
            prop_assert_eq!(similarity(&a, &a), 1.0);
            prop_assert!(a.len() <= HASHES && a.is_sorted());
        }
    }
}
