//! Keys: the readable, unique names of nodes.

use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Maximum length of a key in bytes.
pub const KEY_MAX_BYTES: usize = 512;

/// Maximum number of former keys that a node keeps as aliases.
pub const MAX_ALIASES: usize = 64;

/// The form in which keys are stored and looked up: trimmed and in Unicode NFC, so that `é` is
/// found whether it was typed as one character or as two.
pub fn normal_key(key: &str) -> Cow<'_, str> {
    let key = key.trim();
    if is_nfc(key) { key.into() } else { key.nfc().collect::<String>().into() }
}
