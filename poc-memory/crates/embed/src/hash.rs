//! Hashed character n-grams: deterministic, and needs no model file.
//!
//! Uses signed feature hashing (Weinberger et al. 2009) of word stems and of the character 3- to 5-grams of padded
//! stems (Bojanowski et al. 2017). The weight of a word grows less than linearly with its number of occurrences. Texts
//! that share words or parts of words are similar; synonyms are not recognised.

use super::Embedder;
use super::error::EmbedderError;
use super::word_weight::weight;
use poc_graph::error::Result;
use poc_rank::cosine::normalize;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Supported numbers of dimensions. With fewer, unrelated texts look alike; more bring no improvement.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 16..=4096;

/// Maximum length of a word in characters; longer words are ignored.
const MAX_WORD_CHARS: usize = 64;

/// The share of a word's energy, 0–1, that goes to the whole stem. Its n-grams share the rest.
const WHOLE_WORD: f32 = 0.6;

/// The embedder `hash`.
pub struct HashEmbedder {
    name: String,
    dimensions: usize,
    // The stemmer is English for all languages, because it removes little from words of other languages.
    stemmer: Stemmer,
}

impl HashEmbedder {
    /// Creates an embedder with vectors of this many dimensions, 16 to 4096.
    pub fn new(dimensions: usize) -> Result<Self> {
        if !DIMENSIONS.contains(&dimensions) {
            return Err(EmbedderError::Dimensions { dimensions, supported: DIMENSIONS }.into());
        }
        let stemmer = Stemmer::create(Algorithm::English);
        Ok(HashEmbedder { name: format!("hash-{dimensions}-1"), dimensions, stemmer })
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0f32; self.dimensions];
        let normal: String = text.nfkc().flat_map(char::to_lowercase).collect();
        let mut counts: FxHashMap<&str, f32> = FxHashMap::default();
        let mut order = Vec::new();
        for word in normal.unicode_words().flat_map(|word| word.split(['_', '.', ':'])) {
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            if !word.is_empty() && word.chars().nth(MAX_WORD_CHARS).is_none() {
                let count = counts.entry(word).or_insert_with(|| {
                    order.push(word);
                    0.0
                });
                *count += 1.0;
            }
        }
        // Words are added in the order of their first occurrence, because a sum of floats depends on the order.
        for word in order {
            let count = counts.get(word).copied().unwrap_or(1.0);
            let stem = self.stemmer.stem(word);
            add_word(&mut vector, &stem, weight(word) * (1.0 + count.ln()));
        }
        normalize(&mut vector);
        vector
    }
}

impl Embedder for HashEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.dimensions
    }
    fn contextual(&self) -> bool {
        false
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Adds a stem and its n-grams with a total energy of `weight`².
fn add_word(vector: &mut [f32], stem: &str, weight: f32) {
    let padded: Vec<char> = std::iter::once('<').chain(stem.chars()).chain(std::iter::once('>')).collect();
    let grams: Vec<u64> =
        (3..=5).flat_map(|length| padded.windows(length).map(|gram| hash(gram.iter().copied()))).collect();
    add(vector, hash(std::iter::once('=').chain(stem.chars())), weight * WHOLE_WORD.sqrt());
    let share = weight * ((1.0 - WHOLE_WORD) / grams.len().max(1) as f32).sqrt();
    for gram in grams {
        add(vector, gram, share);
    }
}

/// Adds a feature to its bucket. Its hash also determines the sign.
fn add(vector: &mut [f32], hash: u64, amount: f32) {
    let bucket = (hash % vector.len().max(1) as u64) as usize;
    if let Some(value) = vector.get_mut(bucket) {
        *value += if hash >> 63 == 0 { amount } else { -amount };
    }
}

/// FNV-1a over the characters, then the finaliser of SplitMix64, so that every bit depends on every character. The hash
/// is part of the stored format: another hash requires another revision of the embedder.
fn hash(characters: impl Iterator<Item = char>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for character in characters {
        hash = (hash ^ u64::from(u32::from(character))).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_rank::cosine::cosine;
    use proptest::prelude::*;

    fn similarity(a: &str, b: &str) -> f64 {
        let embedder = HashEmbedder::new(256).unwrap();
        cosine(&embedder.embed_one(a).unwrap(), &embedder.embed_one(b).unwrap())
    }

    #[test]
    fn notes_on_the_same_topic_are_similar() {
        for (a, b) in [
            (
                "The B-tree splits a leaf page when an insert does not fit",
                "When is a B-tree leaf page split? On an insert that does not fit the page",
            ),
            (
                "Anna moved to Lisbon in March and works at the harbour",
                "Since March Anna has been living in Lisbon, working near the harbour",
            ),
            (
                "The deploy failed because the database migration timed out",
                "Database migrations timing out made the deploys fail",
            ),
        ] {
            let found = similarity(a, b);
            assert!(found >= 0.5, "{found:.3}: {a} / {b}");
        }
    }

    #[test]
    fn unrelated_notes_are_dissimilar() {
        let notes = [
            "The B-tree splits a leaf page when an insert does not fit",
            "Anna moved to Lisbon in March and works at the harbour",
            "We had soup and bread for dinner, and it was the best in years",
            "The invoice of the plumber is in the blue folder on the shelf",
            "Reset the router by holding the button at the back for ten seconds",
            "He has been playing the violin since he was a child",
        ];
        for (at, a) in notes.iter().enumerate() {
            for b in &notes[at + 1..] {
                let found = similarity(a, b);
                assert!(found <= 0.25, "{found:.3}: {a} / {b}");
            }
        }
    }

    #[test]
    fn forms_of_a_word_are_closer_than_other_words() {
        assert!(similarity("migration", "migrations") > 0.9);
        assert!(similarity("harbour", "harbourmaster") > 0.2);
        assert!(similarity("migration", "violin") < 0.2);
        assert_eq!(similarity("Straße ＡＢＣ", "straße abc"), 1.0);
    }

    #[test]
    fn an_empty_text_has_the_zero_vector() {
        let embedder = HashEmbedder::new(16).unwrap();
        for text in ["", "  \n", "… !?"] {
            assert_eq!(embedder.embed_one(text).unwrap(), vec![0.0; 16], "{text:?}");
        }
    }

    #[test]
    fn dimensions_out_of_range_are_refused() {
        let error = HashEmbedder::new(8).err().unwrap();
        insta::assert_snapshot!(error, @"`embedder.dimensions`: the embedder `hash` cannot have 8 dimensions");
        insta::assert_snapshot!(error.hint.unwrap(), @"give a number from 16 to 4096");
        assert!(HashEmbedder::new(4097).is_err());
        assert_eq!(HashEmbedder::new(4096).unwrap().name(), "hash-4096-1");
    }

    /// Stored vectors are compared with new ones, so every release that keeps the embedder's name must give
    /// the same vector for the same text.
    #[test]
    fn the_vector_of_a_text_never_changes() {
        let vector = HashEmbedder::new(16).unwrap().embed_one("A note about B-trees").unwrap();
        let shown: Vec<String> = vector.iter().map(|value| format!("{value:.4}")).collect();
        insta::assert_snapshot!(shown.join(" "), @"0.0000 0.6461 0.1382 0.0620 -0.0871 0.0581 0.0359 0.0000 -0.0180 0.1382 0.4325 0.1562 0.0180 -0.5079 0.2406 -0.0180");
    }

    poc_laws::laws! {
        #[test]
        fn vectors_are_unit_or_zero(text in ".{0,200}") {
            let vector = HashEmbedder::new(64).unwrap().embed_one(&text).unwrap();
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-5);
        }
    }
}
