//! The WordPiece tokenizer of BERT. It separates words from punctuation, converts them to lower case and strips accents
//! if the vocabulary requires it, and splits each word into the longest known pieces.
//!
//! ASCII words, the great majority, are tokenized here, because the `tokenizers` library is twenty times slower. That
//! library normalises all other words.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

/// Maximum length of a word in characters; longer words have no tokens.
const MAX_WORD_CHARS: usize = 100;

/// A vocabulary with look-up by text.
pub(super) struct WordPieceVocabulary {
    // The concatenated texts of all tokens. `ends` has the end of each.
    text: String,
    ends: Vec<usize>,
    // The ids of tokens that begin a word, and of tokens that continue one, by text without the prefix.
    begin: HashTable<u32>,
    middle: HashTable<u32>,
    // The length of the prefix in bytes.
    prefix_length: usize,
    // The length of the longest token in bytes, without the prefix.
    longest: usize,
}

impl WordPieceVocabulary {
    /// Creates a vocabulary from the tokens in the order of their ids. Tokens that continue a word start with the
    /// prefix `continues`.
    pub(super) fn new<'a>(tokens: impl Iterator<Item = &'a str>, continues: &str) -> WordPieceVocabulary {
        let mut vocabulary = WordPieceVocabulary {
            text: String::new(),
            ends: Vec::new(),
            begin: HashTable::new(),
            middle: HashTable::new(),
            prefix_length: continues.len(),
            longest: 0,
        };
        for token in tokens {
            vocabulary.text.push_str(token);
            vocabulary.ends.push(vocabulary.text.len());
        }
        for id in 0..vocabulary.ends.len() as u32 {
            let token = vocabulary.token(id);
            let inner = token
                .strip_prefix(continues)
                .filter(|inner| !inner.is_empty() && vocabulary.prefix_length > 0);
            let piece = inner.unwrap_or(token);
            let (hashed, length, is_inner) = (hash(piece), piece.len(), inner.is_some());
            vocabulary.longest = vocabulary.longest.max(length);
            let skip = if is_inner { vocabulary.prefix_length } else { 0 };
            let WordPieceVocabulary { text, ends, begin, middle, .. } = &mut vocabulary;
            let rehash = |&id: &u32| hash(piece_of(text, ends, id, skip));
            let table = if is_inner { middle } else { begin };
            table.insert_unique(hashed, id, rehash);
        }
        vocabulary
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a token, including its prefix; empty for an unknown id.
    pub(super) fn token(&self, id: u32) -> &str {
        piece_of(&self.text, &self.ends, id, 0)
    }

    fn find(&self, piece: &str, is_inner: bool) -> Option<u32> {
        let (table, skip) = if is_inner { (&self.middle, self.prefix_length) } else { (&self.begin, 0) };
        table.find(hash(piece), |&id| piece_of(&self.text, &self.ends, id, skip) == piece).copied()
    }

    /// Splits a normalised word into the longest known pieces from the left. Adds no tokens if a piece is unknown.
    fn tokenize_word(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.len() > MAX_WORD_CHARS && word.chars().nth(MAX_WORD_CHARS).is_some() {
            return;
        }
        let before = tokens.len();
        let mut start = 0;
        while start < word.len() {
            let mut end = word.len().min(start + self.longest);
            let found = loop {
                let piece = word.get(start..end).filter(|piece| !piece.is_empty());
                if let Some(id) = piece.and_then(|piece| self.find(piece, start > 0)) {
                    break Some(id);
                }
                if end <= start + 1 {
                    break None;
                }
                end -= 1;
            };
            let Some(id) = found else {
                tokens.truncate(before);
                return;
            };
            tokens.push(id);
            start = end;
        }
    }
}

fn piece_of<'a>(text: &'a str, ends: &[usize], id: u32, skip: usize) -> &'a str {
    let id = id as usize;
    let start = id.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(id).and_then(|&end| text.get(start + skip..end)).unwrap_or_default()
}

fn hash(piece: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(piece.as_bytes());
    hasher.finish()
}

/// Whether a character is white space. Other control characters are dropped, as in BERT.
fn is_separator(character: char) -> bool {
    character.is_whitespace() && (!character.is_control() || matches!(character, '\t' | '\n' | '\r'))
}

/// Splits texts into the tokens of a vocabulary.
pub(super) struct WordPiece {
    lowercase: bool,
    normalizer: BertNormalizer,
}

impl WordPiece {
    /// Creates a tokenizer with the normalisation of a vocabulary.
    pub(super) fn new(lowercase: bool, strip_accents: bool) -> WordPiece {
        WordPiece { lowercase, normalizer: BertNormalizer::new(true, true, Some(strip_accents), lowercase) }
    }

    /// The token ids of a text. Words that the vocabulary does not cover have none.
    pub(super) fn tokens(&self, vocabulary: &WordPieceVocabulary, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut word = String::new();
        for run in text.split(is_separator) {
            if run.is_ascii() {
                for character in run.chars() {
                    if character.is_ascii_punctuation() {
                        vocabulary.tokenize_word(&word, &mut tokens);
                        word.clear();
                        vocabulary.tokenize_word(character.encode_utf8(&mut [0; 4]), &mut tokens);
                    } else if !character.is_ascii_control() {
                        word.push(if self.lowercase { character.to_ascii_lowercase() } else { character });
                    }
                }
                vocabulary.tokenize_word(&word, &mut tokens);
                word.clear();
            } else {
                self.words(run, &mut |word| vocabulary.tokenize_word(word, &mut tokens));
            }
        }
        tokens
    }

    /// Calls `take` with the normalised words and punctuation of any text.
    fn words(&self, text: &str, take: &mut dyn FnMut(&str)) {
        let mut normalized = NormalizedString::from(text);
        let prepared = self.normalizer.normalize(&mut normalized).and_then(|()| {
            let mut words = PreTokenizedString::from(normalized);
            BertPreTokenizer.pre_tokenize(&mut words).map(|()| words)
        });
        // Neither step should fail; if one does, the text has no words.
        let Ok(words) = prepared else { return };
        for (word, ..) in words.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            take(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;
    use tokenizers::Tokenizer;
    use tokenizers::models::wordpiece::WordPiece as Reference;

    const TOKENS: &[&str] = &[
        "[UNK]", "the", "note", "##s", "##book", "b", "-", "tree", "split", "##ting", "'", "é", "e", "cafe",
        "中", "##中", "ss", "##ß", "strasse", "a", "##b", "1", "##2", "##23", "_", "k", "##elvin", "…", "ı",
        "##i",
    ];

    static VOCABULARY: LazyLock<WordPieceVocabulary> =
        LazyLock::new(|| WordPieceVocabulary::new(TOKENS.iter().copied(), "##"));

    fn check(text: &str, expected: &[&str]) {
        let tokens = WordPiece::new(true, true).tokens(&VOCABULARY, text);
        let shown: Vec<&str> = tokens.iter().map(|&id| VOCABULARY.token(id)).collect();
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn words_are_split_into_the_longest_pieces() {
        check("The Notes", &["the", "note", "##s"]);
        check("B-tree splitting", &["b", "-", "tree", "split", "##ting"]);
        check("notebook’s tree's", &["note", "##book", "tree", "'"]);
        check("Café 中中", &["cafe", "中", "中"]);
        check("a123 [UNK] xyz", &[]);
        check("", &[]);
        check(&"a".repeat(101), &[]);
    }

    /// The tokens according to the `tokenizers` library.
    fn reference(lowercase: bool, text: &str) -> Vec<u32> {
        static MODEL: LazyLock<Reference> = LazyLock::new(|| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), TOKENS.join("\n")).unwrap();
            Reference::from_file(&file.path().to_string_lossy()).build().unwrap()
        });
        let mut tokenizer = Tokenizer::new(MODEL.clone());
        tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase))).unwrap();
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        let found = tokenizer.encode(text, false).unwrap();
        found.get_ids().iter().copied().filter(|&id| id != 0).collect()
    }

    poc_laws::laws! {
        #[test]
        fn tokens_match_the_tokenizers_library(
            text in "([A-Za-z0-9_'’. \t\u{0}\u{7f}\u{b}\u{85}\u{2028}éÉßİK中…-]|note|the|\u{200b}|\u{301}|.){0,40}",
            lowercase in any::<bool>(),
        ) {
            prop_assert_eq!(WordPiece::new(lowercase, lowercase).tokens(&VOCABULARY, &text), reference(lowercase, &text));
        }
    }
}
