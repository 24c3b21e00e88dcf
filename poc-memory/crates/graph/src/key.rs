//! Keys: what people call a node.

use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Bytes a key may have.
pub const KEY_MAX_BYTES: usize = 512;

/// Former keys a node may keep as aliases.
pub const MAX_ALIASES: usize = 64;

/// The form keys are stored and looked up in: trimmed and in Unicode's NFC, so that `é` is found
/// however it was typed.
pub fn normal_key(key: &str) -> Cow<'_, str> {
    let key = key.trim();
    if is_nfc(key) { key.into() } else { key.nfc().collect::<String>().into() }
}
