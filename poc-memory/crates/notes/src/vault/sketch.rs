//! A sketch of a text, which serves to recognise a file that was both moved and edited.
//!
//! The sketch is the set of the smallest hashes of all pairs of consecutive words. For two texts, the fraction of
//! common hashes among the smallest of both estimates the Jaccard similarity of their pairs (A. Broder, "On the
//! resemblance and containment of documents", 1997). For a short text, it is exact.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// Hashes of a sketch.
const HASHES: usize = 64;

/// Maximum number of sketches that an index returns for a sketch.
const NEAREST: usize = 16;

/// Maximum number of entries of an index that are read for a sketch, so that the time for many texts with few
/// words does not grow with the square of their number.
const POSTINGS: usize = 16_384;

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

/// Finds the sketches that have hashes in common with another one.
pub(super) struct SketchIndex {
    /// The sketches that contain a hash, by their place.
    places: FxHashMap<u32, Vec<usize>>,
}

impl SketchIndex {
    pub(super) fn of<'a>(sketches: impl Iterator<Item = &'a [u32]>) -> SketchIndex {
        let mut places: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (place, sketch) in sketches.enumerate() {
            sketch.iter().for_each(|hash| places.entry(*hash).or_default().push(place));
        }
        SketchIndex { places }
    }

    /// The places of the sketches with the most common hashes, multiplied by `weight`; at most [`NEAREST`]. The
    /// rarest hashes are compared first, and further ones up to [`POSTINGS`].
    pub(super) fn nearest(&self, sketch: &[u32], weight: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut postings: Vec<&Vec<usize>> = sketch.iter().filter_map(|hash| self.places.get(hash)).collect();
        postings.sort_by_key(|places| places.len());
        let mut common: FxHashMap<usize, usize> = FxHashMap::default();
        for place in postings.into_iter().flatten().take(POSTINGS) {
            *common.entry(*place).or_default() += 1;
        }
        let mut nearest: Vec<(Reverse<usize>, usize)> =
            common.into_iter().map(|(place, count)| (Reverse(count * weight(place)), place)).collect();
        nearest.sort_unstable();
        nearest.truncate(NEAREST);
        nearest.into_iter().map(|(_, place)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::rng::SeededRng;
    use proptest::prelude::*;

    #[test]
    fn an_edited_text_is_similar_and_another_is_not() {
        let text = "A crash between the two page writes of a B-tree split loses the keys of the right half.";
        let edited = text.replace("right half", "right half of the page");
        assert!(similarity(&of(text), &of(&edited)) > 0.6);
        assert!(similarity(&of(text), &of("Lentil soup with lemon and bread for the evening.")) < 0.1);
        assert_eq!(similarity(&of(""), &of("")), 0.0);
    }

    #[test]
    fn an_index_finds_an_edited_text_among_many_of_few_words() {
        let rng = SeededRng::new(1);
        let text = |_| (0..40).map(|_| format!("w{} ", rng.below(0, 18))).collect::<String>();
        let texts: Vec<String> = (0..2000).map(text).collect();
        let sketches: Vec<Vec<u32>> = texts.iter().map(|text| of(text)).collect();
        let index = SketchIndex::of(sketches.iter().map(Vec::as_slice));
        for (place, text) in texts.iter().enumerate() {
            let nearest = index.nearest(&of(&format!("{text} edited")), |_| 1);
            assert!(nearest.len() <= NEAREST && nearest.first() == Some(&place), "{place}: {nearest:?}");
        }
        // The weight decides among equally similar texts.
        let twins = [of("a b c d"), of("a b c d")];
        let index = SketchIndex::of(twins.iter().map(Vec::as_slice));
        assert_eq!(index.nearest(&of("a b c e"), |place| place + 1), [1, 0]);
    }

    #[test]
    fn an_index_reads_a_bounded_number_of_entries_for_a_text() {
        let hashes: [[u32; 1]; 3] = [[1], [2], [3]];
        let sketches = hashes.iter().flat_map(|hash| std::iter::repeat_n(hash.as_slice(), 10_000));
        let index = SketchIndex::of(sketches);
        let read = std::cell::Cell::new(0);
        let nearest = index.nearest(&[1, 2, 3], |_| {
            read.set(read.get() + 1);
            1
        });
        assert_eq!((nearest.len(), read.get()), (NEAREST, POSTINGS));
    }

    poc_laws::laws! {
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
