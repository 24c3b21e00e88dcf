//! A table of word vectors in one file with a checksum. The `static` embedder reads it, and
//! `poc-memory embed distill` writes it.
//!
//! Layout; all numbers are little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic, `pocwords` |
//! | 4 | version of the format, 1 |
//! | 4 | length of the head |
//! | 4 | rows: tokens of the vocabulary |
//! | 4 | dimensions of a row |
//! | 4 | length of the vocabulary |
//! | … | head: [`TableHeader`] as JSON |
//! | … | vocabulary: the tokens by id, each followed by a line feed |
//! | 4 × rows | scale of each row, single floats |
//! | rows × dimensions | values, signed bytes, each multiplied by the scale of its row |
//! | 32 | BLAKE3 of everything before |

use super::wordpiece::WordPieceVocabulary;
use multiversion::multiversion;
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"pocwords";
const VERSION: u32 = 1;
const PREFIX_LENGTH: usize = 8 + 5 * 4;
const CHECKSUM: usize = 32;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("the table `{}` cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("`{}` cannot be used as a table of word vectors: {problem}", path.display())]
    NotATable { path: PathBuf, problem: TableFormatError },
    #[error("the bundled table cannot be used: {0}")]
    Bundled(TableFormatError),
    #[error("the table cannot be written: {0}")]
    Encode(String),
}

/// Why bytes are not a table.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum TableFormatError {
    #[error("it is not a table")]
    NoMagic,
    #[error("its format is version {found}, this release reads version {supported}")]
    OtherVersion { found: u32, supported: u32 },
    #[error("it is truncated")]
    Truncated,
    #[error("its length differs from the length in its header")]
    OtherLength,
    #[error("its vectors have no dimensions")]
    NoDimensions,
    /// The text comes from the JSON parser.
    #[error("its head cannot be read: {0}")]
    Head(String),
    #[error("its vocabulary is not UTF-8")]
    NotUtf8,
    #[error("its vocabulary has {tokens} tokens for {rows} rows")]
    OtherRows { tokens: usize, rows: usize },
    #[error("a row has a scale that is not a finite number")]
    NotFinite,
    #[error("it is damaged: its checksum is wrong")]
    WrongChecksum,
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Error {
        let message = error.to_string();
        match error {
            TableError::Read { .. } | TableError::NotATable { .. } => {
                Error::config(message).hint("`poc-memory embed distill --from FOLDER` creates one")
            }
            TableError::Bundled(_) | TableError::Encode(_) => Error::internal(message),
        }
    }
}

/// The metadata of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct TableHeader {
    /// The model that the table was created from.
    pub(super) model: String,
    /// The licence of that model, which also applies to the table; empty if unknown.
    pub(super) licence: String,
    /// The command line that created the table.
    pub(super) made_by: String,
    /// The rank at which a word counts half; see [`super::distill`].
    pub(super) common: f64,
    /// Whether all tokens of the vocabulary are lower case.
    pub(super) lowercase: bool,
    /// Whether no token of the vocabulary has accents.
    pub(super) strip_accents: bool,
    /// The prefix of tokens that continue a word.
    pub(super) continues: String,
}

/// A loaded table.
pub(super) struct EmbeddingTable {
    pub(super) head: TableHeader,
    pub(super) vocabulary: WordPieceVocabulary,
    pub(super) dimensions: usize,
    /// The first bytes of the checksum in hexadecimal. They distinguish embedders with different
    /// tables.
    pub(super) revision: String,
    scales: Vec<f32>,
    bytes: Cow<'static, [u8]>,
    // The offset of the values in the file.
    values: usize,
}

impl EmbeddingTable {
    /// Reads a table from a file and verifies its checksum.
    pub(super) fn open(path: &Path) -> Result<EmbeddingTable> {
        let bytes =
            std::fs::read(path).map_err(|source| TableError::Read { path: path.to_owned(), source })?;
        let (content, checksum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
        let is_intact = blake3::hash(content).as_bytes().as_slice() == checksum;
        let table = EmbeddingTable::read(Cow::Owned(bytes))
            .and_then(|table| if is_intact { Ok(table) } else { Err(TableFormatError::WrongChecksum) });
        Ok(table.map_err(|problem| TableError::NotATable { path: path.to_owned(), problem })?)
    }

    /// Reads a table from bytes without verifying the checksum.
    pub(super) fn read(bytes: Cow<'static, [u8]>) -> Result<EmbeddingTable, TableFormatError> {
        if !bytes.starts_with(MAGIC) {
            return Err(TableFormatError::NoMagic);
        }
        let number = |at: usize| -> Option<u32> {
            bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes)
        };
        let length = |at: usize| number(at).and_then(|number| usize::try_from(number).ok());
        match number(8) {
            Some(VERSION) => {}
            Some(found) => return Err(TableFormatError::OtherVersion { found, supported: VERSION }),
            None => return Err(TableFormatError::Truncated),
        }
        let fields = (|| Some((length(12)?, length(16)?, length(20)?, length(24)?)))();
        let (head, rows, dimensions, words) = fields.ok_or(TableFormatError::Truncated)?;
        // The end offset of each field.
        let offsets = (|| {
            let head = PREFIX_LENGTH.checked_add(head)?;
            let words = head.checked_add(words)?;
            let scales = words.checked_add(rows.checked_mul(4)?)?;
            let values = scales.checked_add(rows.checked_mul(dimensions)?)?;
            Some((head, words, scales, values))
        })();
        let (head_end, words_end, scales_end, values_end) = offsets
            .filter(|(.., end)| end.checked_add(CHECKSUM) == Some(bytes.len()))
            .ok_or(TableFormatError::OtherLength)?;
        if dimensions == 0 {
            return Err(TableFormatError::NoDimensions);
        }
        let head: TableHeader =
            serde_json::from_slice(bytes.get(PREFIX_LENGTH..head_end).unwrap_or_default())
                .map_err(|error| TableFormatError::Head(error.to_string()))?;
        let words = std::str::from_utf8(bytes.get(head_end..words_end).unwrap_or_default())
            .map_err(|_| TableFormatError::NotUtf8)?;
        let vocabulary = WordPieceVocabulary::new(words.lines(), &head.continues);
        if vocabulary.len() != rows {
            return Err(TableFormatError::OtherRows { tokens: vocabulary.len(), rows });
        }
        let scales: Vec<f32> = bytes
            .get(words_end..scales_end)
            .unwrap_or_default()
            .chunks_exact(4)
            .filter_map(|four| four.try_into().ok().map(f32::from_le_bytes))
            .collect();
        if !scales.iter().all(|scale| scale.is_finite()) {
            return Err(TableFormatError::NotFinite);
        }
        let checksum = bytes.get(values_end..).unwrap_or_default();
        let revision = checksum.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Ok(EmbeddingTable { head, vocabulary, dimensions, revision, scales, values: scales_end, bytes })
    }

    /// Adds the row of a token to a sum. If the sum has fewer dimensions, only the first ones are
    /// added.
    pub(super) fn add(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let start = self.values + token * self.dimensions;
        let (Some(row), Some(&scale)) =
            (self.bytes.get(start..start + self.dimensions), self.scales.get(token))
        else {
            return;
        };
        add_scaled(row, scale, sum);
    }
}

/// Adds signed bytes, each multiplied by `scale`, to a sum. Every component is rounded on its own, so that all
/// processors give the same sum.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn add_scaled(row: &[u8], scale: f32, sum: &mut [f32]) {
    for (sum, &value) in sum.iter_mut().zip(row) {
        *sum += scale * f32::from(value.cast_signed());
    }
}

/// Encodes a table. `rows` has the vector of each token by id, all of the same length. Each row is
/// quantised to signed bytes with its own scale, so that its largest absolute value becomes 127.
pub(super) fn encode(head: &TableHeader, tokens: &[String], rows: &[Vec<f32>]) -> Result<Vec<u8>> {
    let dimensions = rows.first().map_or(0, Vec::len);
    let internal = |error: &dyn std::fmt::Display| TableError::Encode(error.to_string());
    let head = serde_json::to_vec(head).map_err(|error| internal(&error))?;
    let words: String = tokens.iter().flat_map(|token| [token.as_str(), "\n"]).collect();
    let mut bytes = MAGIC.to_vec();
    for number in [VERSION as usize, head.len(), rows.len(), dimensions, words.len()] {
        bytes.extend(u32::try_from(number).map_err(|error| internal(&error))?.to_le_bytes());
    }
    bytes.extend(head);
    bytes.extend(words.as_bytes());
    let scales: Vec<f32> =
        rows.iter().map(|row| row.iter().fold(0.0f32, |max, value| max.max(value.abs())) / 127.0).collect();
    scales.iter().for_each(|scale| bytes.extend(scale.to_le_bytes()));
    for (row, &scale) in rows.iter().zip(&scales) {
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        // The cast saturates, and it maps NaN to 0.
        bytes.extend(row.iter().map(|value| ((value * inverse).round_ties_even() as i8).cast_unsigned()));
    }
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> TableHeader {
        TableHeader {
            model: "tiny".into(),
            licence: "none".into(),
            made_by: "a test".into(),
            common: 150.0,
            lowercase: true,
            strip_accents: true,
            continues: "##".into(),
        }
    }

    fn sample() -> Vec<u8> {
        let tokens = ["[UNK]", "note", "##s"].map(str::to_owned);
        encode(&head(), &tokens, &[vec![0.0, 0.0], vec![1.0, -0.5], vec![0.0, 3.0]]).unwrap()
    }

    #[test]
    fn an_encoded_table_reads_back() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("a.table");
        std::fs::write(&path, sample()).unwrap();
        let table = EmbeddingTable::open(&path).unwrap();
        assert_eq!((table.dimensions, table.vocabulary.len(), &table.head), (2, 3, &head()));
        let mut sum = vec![0.0; 2];
        [0, 1, 2, 7].into_iter().for_each(|token| table.add(token, &mut sum));
        assert!((sum[0] - 1.0).abs() < 1e-6 && (sum[1] - 2.5).abs() < 0.01, "{sum:?}");
    }

    #[test]
    fn every_damaged_byte_is_detected() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("a.table");
        let complete = sample();
        for at in 0..complete.len() {
            let mut bytes = complete.clone();
            bytes[at] ^= 0x40;
            std::fs::write(&path, &bytes).unwrap();
            assert!(EmbeddingTable::open(&path).is_err(), "byte {at}");
            std::fs::write(&path, &complete[..at]).unwrap();
            assert!(EmbeddingTable::open(&path).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn format_errors_are_reported() {
        let report =
            |bytes: &[u8]| EmbeddingTable::read(Cow::Owned(bytes.to_vec())).err().unwrap().to_string();
        let mut newer = sample();
        newer[8] = 2;
        let mut wide = sample();
        wide[23] = 0xff;
        let all = [report(b"PK"), report(&newer), report(&sample()[..40]), report(&wide)];
        insta::assert_snapshot!(all.join("\n"), @r"
        it is not a table
        its format is version 2, this release reads version 1
        its length differs from the length in its header
        its length differs from the length in its header
        ");
    }
}
