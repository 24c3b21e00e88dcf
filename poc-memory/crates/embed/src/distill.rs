//! Creates the table of the embedder `static` from a model of the BERT family.
//!
//! 1. The model reads each token alone, as `[CLS] token [SEP]`. The last hidden state of the token becomes its row.
//! 2. The rows H are projected onto the leading eigenvectors of HᵀH. The mean is not subtracted, because retrieval is
//!    better without that. The sign of an eigenvector is chosen so that its greatest component is positive.
//! 3. Each row is multiplied by r / (r + c), where r is the rank of the word by frequency and c the rank at which a
//!    word counts half. If frequency is proportional to 1 / r (Zipf), this is the smooth inverse frequency of Arora,
//!    Liang and Ma (2017). BERT's vocabulary begins with markers and single characters, which all have rank 1. The
//!    words after them are sorted by frequency, so the rank of a word is its position among them. In a vocabulary
//!    sorted by spelling, the position says nothing about frequency, and rows are not multiplied.
//! 4. If there is a corpus, the rows are fitted to the vectors that the model gives its texts ([`super::fit`]). The
//!    axes of step 2 are then the leading eigenvectors of YᵀY, with Y the vectors of the texts.
//! 5. Each row is quantised to signed bytes with its own scale.

use super::bert::{Bert, VocabularyInfo};
use super::core_pool::CorePool;
use super::fit::{self, FitText};
use super::table::{self, TableHeader};
use super::wordpiece::{WordPiece, WordPieceVocabulary};
use faer::{Mat, Side};
use poc_graph::error::{Error, Result};
use std::path::Path;

/// The default rank at which a word counts half. It worked best on conversations and multi-hop questions among the
/// values tried, from 20 to 917.
pub const DEFAULT_COMMON_RANK: f64 = 150.0;

/// The number of tokens per batch of the model.
const BATCH: u32 = 128;

/// The number of texts of the corpus between two reports of progress.
const TEXTS_PER_REPORT: usize = 1024;

/// Why a table cannot be computed.
#[derive(Debug, thiserror::Error)]
enum DistillError {
    #[error("the common rank cannot be {0}")]
    Rank(f64),
    #[error("a table cannot have {dimensions} dimensions")]
    Dimensions { dimensions: usize, max: usize },
    #[error("the vocabulary has more tokens than a 32-bit id can number")]
    TooManyTokens,
    #[error(
        "the principal axes of the vectors cannot be computed: the hidden states of the model are not finite"
    )]
    NotFinite,
}

impl From<DistillError> for Error {
    fn from(error: DistillError) -> Error {
        let message = error.to_string();
        match error {
            DistillError::Rank(_) => Error::invalid(message).hint("give a number from 0").field("common"),
            DistillError::Dimensions { max, .. } => {
                Error::invalid(message).hint(format!("give 1 to {max}")).field("dims")
            }
            DistillError::TooManyTokens => Error::invalid(message),
            DistillError::NotFinite => Error::internal(message),
        }
    }
}

/// What [`distill`] counts while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistillStage {
    /// Tokens of the vocabulary.
    Tokens,
    /// Texts of the corpus.
    Texts,
}

/// The options of [`distill`].
#[derive(Clone, Debug)]
pub struct DistillOptions {
    /// The number of dimensions of a vector, at most that of the model.
    pub dimensions: usize,
    /// The rank, from 0, at which a word counts half. With 0, all words have the same weight.
    pub common: f64,
    /// The texts to whose vectors the rows are fitted; none if the rows are not fitted. Blank texts are skipped.
    pub corpus: Vec<String>,
    /// The name of the model, recorded in the table.
    pub model: String,
    /// The licence of the model; empty if unknown.
    pub licence: String,
    /// The command line that creates the table, recorded in it.
    pub made_by: String,
}

/// The result of [`distill`].
#[derive(Debug)]
pub struct DistilledTable {
    /// The content of the table file.
    pub bytes: Vec<u8>,
    /// The number of tokens.
    pub tokens: usize,
    /// The share of the sum of all eigenvalues that belongs to the kept axes, 0–1.
    pub kept: f64,
}

/// Creates a table from the model in a folder. `progress` is called with what is being counted, how many are done and
/// their total.
///
/// # Errors
/// `invalid_argument` if an option is out of range, and errors of the model and its files.
pub fn distill(
    folder: &Path,
    options: &DistillOptions,
    progress: &mut dyn FnMut(DistillStage, usize, usize),
) -> Result<DistilledTable> {
    if !options.common.is_finite() || options.common < 0.0 {
        return Err(DistillError::Rank(options.common).into());
    }
    let model = Bert::open(folder)?;
    if options.dimensions == 0 || options.dimensions > model.dimensions {
        return Err(DistillError::Dimensions { dimensions: options.dimensions, max: model.dimensions }.into());
    }
    let words = model.vocabulary()?;
    let states = states(&model, words.tokens.len(), progress)?;
    let texts: Vec<&str> =
        options.corpus.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    let vectors = vectors(&model, &texts, progress)?;
    if !states.iter().chain(&vectors).flatten().all(|value| value.is_finite()) {
        return Err(DistillError::NotFinite.into());
    }
    let axes = Axes::of(if vectors.is_empty() { &states } else { &vectors }, options.dimensions)?;
    let mut rows = axes.project(&states);
    for (row, weight) in rows.iter_mut().zip(weights(&words, options.common)) {
        row.iter_mut().for_each(|value| *value *= weight as f32);
    }
    let VocabularyInfo { tokens, lowercase, strip_accents, continues } = words;
    if !texts.is_empty() {
        // The tokens are those of the embedder `static`, which has none for words that the vocabulary does not cover.
        let vocabulary = WordPieceVocabulary::new(tokens.iter().map(String::as_str), &continues);
        let pieces = WordPiece::new(lowercase, strip_accents);
        let texts: Vec<FitText> = texts
            .iter()
            .zip(axes.project(&vectors))
            // All tokens of a text count, also those after the part that the model reads: the embedder sums all, too.
            .map(|(text, vector)| FitText { tokens: pieces.tokens(&vocabulary, text), vector })
            .collect();
        rows = fit::fit(rows, &texts);
    }
    let head = TableHeader {
        model: options.model.clone(),
        licence: options.licence.clone(),
        made_by: options.made_by.clone(),
        common: options.common,
        lowercase,
        strip_accents,
        continues,
    };
    Ok(DistilledTable { bytes: table::encode(&head, &tokens, &rows)?, tokens: tokens.len(), kept: axes.kept })
}

/// The hidden state of every token.
fn states(
    model: &Bert,
    count: usize,
    progress: &mut dyn FnMut(DistillStage, usize, usize),
) -> Result<Vec<Vec<f32>>> {
    let last = u32::try_from(count).map_err(|_| DistillError::TooManyTokens)?;
    let mut states = Vec::with_capacity(count);
    for start in (0..last).step_by(BATCH as usize) {
        states.extend(model.single_token_states(start..last.min(start + BATCH))?);
        progress(DistillStage::Tokens, states.len(), count);
    }
    Ok(states)
}

/// The unit vector of every text.
fn vectors(
    model: &Bert,
    texts: &[&str],
    progress: &mut dyn FnMut(DistillStage, usize, usize),
) -> Result<Vec<Vec<f32>>> {
    let pool = CorePool::new()?;
    let mut vectors = Vec::with_capacity(texts.len());
    for texts_of_report in texts.chunks(TEXTS_PER_REPORT) {
        let tokens =
            texts_of_report.iter().map(|text| model.tokens(text)).collect::<Result<Vec<Vec<u32>>>>()?;
        vectors.extend(pool.map_batches(&tokens, Vec::len, |batch| {
            model.vectors(&batch.iter().map(|tokens| tokens.as_slice()).collect::<Vec<_>>())
        })?);
        progress(DistillStage::Texts, vectors.len(), texts.len());
    }
    Ok(vectors)
}

/// The leading axes of a set of vectors.
struct Axes {
    // One column per axis.
    leading: Mat<f64>,
    // The share of the eigenvalues that belongs to these axes, 0–1.
    kept: f64,
}

impl Axes {
    /// The leading axes of the rows of a matrix.
    fn of(rows: &[Vec<f32>], dimensions: usize) -> Result<Axes> {
        let matrix = matrix(rows);
        let width = matrix.ncols();
        let gram = matrix.transpose() * &matrix;
        let eigen = gram.self_adjoint_eigen(Side::Lower).map_err(|_| DistillError::NotFinite)?;
        // Eigenvalues are in ascending order.
        let (axes, eigenvalues) = (eigen.U(), eigen.S().column_vector());
        let sum = |from: usize| (from..width).map(|at| eigenvalues.get(at).max(0.0)).sum::<f64>();
        let leading = Mat::from_fn(width, dimensions, |row, column| {
            let axis = width - 1 - column;
            let greatest = (0..width)
                .map(|at| *axes.get(at, axis))
                .fold(0.0f64, |max, value| if value.abs() > max.abs() { value } else { max });
            axes.get(row, axis) * if greatest < 0.0 { -1.0 } else { 1.0 }
        });
        let all = sum(0);
        Ok(Axes { leading, kept: if all > 0.0 { sum(width - dimensions) / all } else { 1.0 } })
    }

    /// The rows in the coordinates of the axes.
    fn project(&self, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let projected = &matrix(rows) * &self.leading;
        let row = |row: usize| -> Vec<f32> {
            (0..projected.ncols()).map(|column| *projected.get(row, column) as f32).collect()
        };
        (0..projected.nrows()).map(row).collect()
    }
}

fn matrix(rows: &[Vec<f32>]) -> Mat<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let value = |row: usize, column: usize| {
        f64::from(rows.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0))
    };
    Mat::from_fn(rows.len(), width, value)
}

/// The weight of each token, 0–1.
fn weights(words: &VocabularyInfo, common: f64) -> Vec<f64> {
    let tokens = &words.tokens;
    if is_sorted_by_spelling(tokens) {
        return vec![1.0; tokens.len()];
    }
    let is_word = |token: &String| {
        let is_marker = token.starts_with('[') && token.ends_with(']');
        let letters = token.strip_prefix(&words.continues).unwrap_or(token);
        !is_marker && letters.chars().nth(1).is_some()
    };
    let first = tokens.iter().position(is_word).unwrap_or(tokens.len());
    let rank = |id: usize| (id + 1).saturating_sub(first).max(1) as f64;
    (0..tokens.len()).map(|id| rank(id) / (rank(id) + common)).collect()
}

/// Whether at least nine of ten tokens sort after their predecessor. In order of frequency, only half do.
fn is_sorted_by_spelling(tokens: &[String]) -> bool {
    let rising = tokens.windows(2).filter(|pair| pair.first() < pair.last()).count();
    tokens.len() > 100 && rising * 10 >= tokens.len() * 9
}
