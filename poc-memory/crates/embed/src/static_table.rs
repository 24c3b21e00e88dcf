//! Averages word vectors that were distilled from a model. No model runs, so embedding thousands of notes takes a
//! second.
//!
//! Each token of the text adds its row of the table, which is already weighted by the rarity of the token. The sum is
//! scaled to length 1. [`super::distill`] creates the rows with a model.

use super::Embedder;
use super::table::{EmbeddingTable, TableError, TableFormatError};
use super::wordpiece::WordPiece;
use poc_graph::error::Result;
use poc_rank::cosine::normalize;
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The built-in table. `defaults/static.md` describes how it was created from all-MiniLM-L6-v2.
static BUNDLED: &[u8] = include_bytes!("../defaults/static.table");

/// The names of the embedders with the built-in tables of earlier releases. A change of the table adds the name that
/// the embedder had before.
pub(super) const FORMER_NAMES: [&str; 1] = ["static-256-61762e12"];

/// Minimum number of texts per thread; with fewer, another thread is not worth starting.
const MIN_TEXTS_PER_THREAD: usize = 32;

/// The embedder `static`.
pub struct StaticEmbedder {
    name: String,
    table: Arc<EmbeddingTable>,
    pieces: WordPiece,
}

impl StaticEmbedder {
    /// Creates an embedder with the built-in table.
    pub fn bundled() -> Result<StaticEmbedder> {
        static TABLE: OnceLock<Result<Arc<EmbeddingTable>, TableFormatError>> = OnceLock::new();
        let table = TABLE.get_or_init(|| EmbeddingTable::read(Cow::Borrowed(BUNDLED)).map(Arc::new));
        match table {
            Ok(table) => Ok(StaticEmbedder::with(table.clone())),
            Err(problem) => Err(TableError::Bundled(problem.clone()).into()),
        }
    }

    /// Opens a table that was created by `poc-memory embed distill`.
    pub fn open(path: &Path) -> Result<StaticEmbedder> {
        Ok(StaticEmbedder::with(Arc::new(EmbeddingTable::open(path)?)))
    }

    fn with(table: Arc<EmbeddingTable>) -> StaticEmbedder {
        let pieces = WordPiece::new(table.head.lowercase, table.head.strip_accents);
        StaticEmbedder { name: format!("static-{}-{}", table.dimensions, table.revision), table, pieces }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.dimensions];
        for token in self.pieces.tokens(&self.table.vocabulary, text) {
            self.table.add(token, &mut sum);
        }
        normalize(&mut sum);
        sum
    }
}

impl Embedder for StaticEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.table.dimensions
    }
    fn contextual(&self) -> bool {
        false
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.par_iter().with_min_len(MIN_TEXTS_PER_THREAD).map(|text| self.vector(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_rank::cosine::cosine;
    use proptest::prelude::*;

    fn similarity(a: &str, b: &str) -> f64 {
        let embedder = StaticEmbedder::bundled().unwrap();
        cosine(&embedder.embed_one(a).unwrap(), &embedder.embed_one(b).unwrap())
    }

    #[test]
    fn the_bundled_table_is_valid() {
        let (content, checksum) = BUNDLED.split_at(BUNDLED.len() - 32);
        assert_eq!(blake3::hash(content).as_bytes(), checksum);
        let embedder = StaticEmbedder::bundled().unwrap();
        assert_eq!(embedder.dimensions(), 256);
        assert_eq!(embedder.table.vocabulary.len(), 30_522);
        assert_eq!(embedder.table.head.licence, "Apache-2.0");
        assert!(!FORMER_NAMES.contains(&embedder.name()), "the table of this release is not a former one");
    }

    #[test]
    fn related_texts_are_more_similar_than_unrelated_ones() {
        for (a, b, other) in [
            (
                "The car would not start this morning",
                "Our vehicle's engine is broken",
                "The soup was too salty",
            ),
            (
                "She is a physician in a hospital",
                "The doctor works at the clinic",
                "The train leaves at noon",
            ),
            ("How do I reset my password?", "I forgot my login credentials", "Where is the nearest beach?"),
        ] {
            let (near, far) = (similarity(a, b), similarity(a, other));
            assert!(near > far, "{near:.3} {far:.3}: {a} / {b} / {other}");
        }
    }

    #[test]
    fn a_text_without_known_words_has_the_zero_vector() {
        let embedder = StaticEmbedder::bundled().unwrap();
        for text in ["", " \n", "\u{200b}", "\u{1f389}\u{1f680}"] {
            assert!(embedder.embed_one(text).unwrap().iter().all(|&value| value == 0.0), "{text:?}");
        }
    }

    #[test]
    fn a_batch_gives_the_same_vectors_as_single_texts() {
        let embedder = StaticEmbedder::bundled().unwrap();
        let texts: Vec<String> = (0..200).map(|number| format!("note {number} about trees")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = embedder.embed(&texts).unwrap();
        for (text, vector) in texts.iter().zip(together) {
            assert_eq!(embedder.embed_one(text).unwrap(), vector);
        }
    }

    poc_laws::laws! {
        #[test]
        fn vectors_are_unit_or_zero(text in ".{0,200}") {
            let vector = StaticEmbedder::bundled().unwrap().embed_one(&text).unwrap();
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-5);
        }
    }
}
