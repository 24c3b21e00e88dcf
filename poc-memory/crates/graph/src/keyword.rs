//! Keywords: words that notes about the same subject share.

use unicode_normalization::UnicodeNormalization;

/// The form in which keywords are stored and looked up: trimmed, in lower case and in Unicode NFC.
pub fn normal_keyword(word: &str) -> String {
    word.trim().to_lowercase().nfc().collect()
}
