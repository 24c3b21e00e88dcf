//! Values that are assigned to a name such as `password` or `API_KEY`, also in a sentence: `the api key is …`.
//!
//! The names and the minimum entropy of keys come from gitleaks' rule `generic-api-key`. Passwords are
//! shorter and less random than keys, so only values that cannot be words of a sentence or code count as
//! passwords.

use super::blocks::is_reference;
use super::{DetectedSecret, entropy};
use memchr::{memchr2_iter, memchr3, memmem};

/// Parts of names whose value is a password.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd", "passwort", "kennwort"];
/// A name of a password that has letters outside of ASCII.
const SPANISH_PASSWORD: &str = "contraseña";
/// Parts of names whose value is a key. Names are compared without `_` and `-`.
const KEYS: &[&str] = &[
    "apikey",
    "secret",
    "token",
    "accesskey",
    "privatekey",
    "accountkey",
    "authkey",
    "credential",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "sharedaccesskey",
];
/// Minimum entropy of a key, in bits per byte.
const KEY_ENTROPY: f64 = 3.5;
/// Minimum entropy and number of digits of a key in a sentence. 32 random characters of `0-9a-f` have 3.5 bits on
/// average.
const SENTENCE_ENTROPY: f64 = 3.0;
const SENTENCE_DIGITS: usize = 4;
const KEY_MIN: usize = 16;
const PASSWORD_MIN: usize = 6;
/// What is between a name and its value in a sentence.
const SENTENCE_SEPARATOR: &str = " is ";
/// What is between the name of a password and its value in sentences of several languages.
const PASSWORD_SEPARATORS: [&str; 3] = [SENTENCE_SEPARATOR, " ist ", " es "];
/// Maximum length of a value in bytes.
const VALUE_MAX: usize = 512;
/// Maximum length of a name in bytes.
const NAME_MAX: usize = 60;

/// The secrets in a text.
pub(super) fn find(text: &str) -> Vec<DetectedSecret> {
    let bytes = text.as_bytes();
    let mut secrets = Vec::new();
    for at in memchr2_iter(b'=', b':', bytes) {
        // `:=`, `=>`, `==` and `::`, then spaces.
        let mut start = at + 1;
        if matches!(bytes.get(start), Some(b'=' | b'>')) {
            start += 1;
        }
        while matches!(bytes.get(start), Some(b' ' | b'\t')) {
            start += 1;
        }
        let rest = text.get(start..).unwrap_or_default();
        let (start, value, quoted) = value(rest, start);
        let (may_be_password, may_be_key) = (is_password_value(value, quoted), is_key(value));
        // Most values are neither, and names are compared with many words.
        let may_be_secret = may_be_password || may_be_key;
        if !may_be_secret || is_reference(value) {
            continue;
        }
        let kind = match names_secret(text.get(..at).unwrap_or_default()) {
            Some(true) if may_be_password => "password",
            Some(false) if may_be_key => "assigned-secret",
            _ => continue,
        };
        let end = start + value.len();
        let rest = if quoted { escaped_rest(text, start, end) } else { 0 };
        secrets.push(DetectedSecret { kind, at: start..end + rest });
    }
    for at in memmem::find_iter(bytes, SENTENCE_SEPARATOR) {
        let start = at + SENTENCE_SEPARATOR.len();
        let (start, value, _) = value(text.get(start..).unwrap_or_default(), start);
        let ends_with_key = || {
            let names = last_names(text.get(..at).unwrap_or_default());
            KEYS.iter().any(|part| names.iter().any(|name| name.ends_with(part)))
        };
        if is_key_in_sentence(value) && ends_with_key() {
            secrets.push(DetectedSecret { kind: "assigned-secret", at: start..start + value.len() });
        }
    }
    secrets
}

/// Whether a sentence of a text may state a password, as in `the password is hunter2`.
pub(super) fn may_state_password(text: &str) -> bool {
    let states_after = |at: usize, separator: &str| {
        let start = at + separator.len();
        let (_, value, quoted) = value(text.get(start..).unwrap_or_default(), start);
        names_secret(text.get(..at).unwrap_or_default()) == Some(true)
            && value.bytes().any(|byte| byte.is_ascii_digit())
            && (quoted || !value.contains(['-', '_', '/']))
            && is_password_value(value, quoted)
            && !is_reference(value)
    };
    PASSWORD_SEPARATORS
        .into_iter()
        .any(|separator| memmem::find_iter(text.as_bytes(), separator).any(|at| states_after(at, separator)))
}

/// Whether the name at the end of a text is one of a password (true) or of a key (false).
fn names_secret(before: &str) -> Option<bool> {
    let before = before.trim_end_matches([' ', '\t']);
    // `the password is: hunter2` names it as clearly as `password: hunter2`.
    let mut verbs = PASSWORD_SEPARATORS.iter().map(|separator| separator.trim_end());
    let before = verbs.find_map(|verb| before.strip_suffix(verb)).unwrap_or(before);
    let before = before.strip_suffix(['"', '\'', '`']).unwrap_or(before);
    let before = before.strip_suffix('\\').unwrap_or(before);
    let [name, joined] = last_names(before);
    let end = before.len().checked_sub(SPANISH_PASSWORD.len()).and_then(|start| before.get(start..));
    let is_spanish = end.is_some_and(|end| end.to_lowercase() == SPANISH_PASSWORD);
    if is_spanish || PASSWORDS.iter().any(|part| name.ends_with(part)) {
        return Some(true);
    }
    KEYS.iter().any(|part| name.contains(part) || joined.ends_with(part)).then_some(false)
}

/// The name at the end of a text, and the same together with the word before it (`api key`), in lower case and without
/// `_` and `-`.
fn last_names(text: &str) -> [String; 2] {
    let (before, name) = split_name(text);
    let (_, word) = split_name(before.strip_suffix(' ').unwrap_or_default());
    let plain = |name: &str| -> String {
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
    };
    [plain(name), plain(word) + &plain(name)]
}

/// Splits a text before the name at its end.
fn split_name(text: &str) -> (&str, &str) {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text.bytes().rev().take_while(is_name).take(NAME_MAX).count();
    text.split_at_checked(text.len() - length).unwrap_or((text, ""))
}

/// Whether a value after `is` can be a key. Identifiers, paths and addresses are not.
fn is_key_in_sentence(value: &str) -> bool {
    value.len() >= KEY_MIN
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'='))
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().filter(u8::is_ascii_digit).count() >= SENTENCE_DIGITS
        && entropy(value) >= SENTENCE_ENTROPY
        && !value.split(['-', '_']).any(is_lowercase_word)
}

/// Whether a part of a value is a word, as in `bert-base-2024`.
fn is_lowercase_word(part: &str) -> bool {
    part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The value at the beginning of `rest`, a text that begins at `start`: the content of quotes, or everything
/// up to a space or another delimiter. Returns its position and whether it was in quotes.
fn value(rest: &str, start: usize) -> (usize, &str, bool) {
    let (rest, start) = match rest.strip_prefix('\\') {
        Some(inner) if inner.starts_with('"') => (inner, start + 1),
        _ => (rest, start),
    };
    if let Some(quote) = rest.bytes().next().filter(|byte| matches!(byte, b'"' | b'\'' | b'`')) {
        let inner = rest.get(1..).unwrap_or_default();
        let end = memchr3(quote, b'\n', b'\\', inner.as_bytes()).unwrap_or(0).min(VALUE_MAX);
        return (start + 1, inner.get(..end).unwrap_or_default(), true);
    }
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>' | '|');
    let mut length = 0;
    for (at, c) in rest.char_indices().take_while(|(_, c)| !ends(*c)) {
        // Punctuation at the end belongs to the sentence or the code.
        if !matches!(c, '.' | ')' | ']' | '}') {
            length = at + c.len_utf8();
        }
        // The rest is not read: a long text without spaces may have many names.
        if length > VALUE_MAX {
            return (start, "", false);
        }
    }
    (start, rest.get(..length).unwrap_or_default(), false)
}

/// The number of bytes after a value at `start..end` in quotes, which ends before a backslash, up to the closing quote; 0
/// if a space comes first, or if the quotes themselves are escaped.
fn escaped_rest(text: &str, start: usize, end: usize) -> usize {
    let bytes = text.as_bytes();
    let before = |distance: usize| start.checked_sub(distance).and_then(|at| bytes.get(at));
    let (quote, rest) = (before(1), bytes.get(end..).unwrap_or_default());
    if before(2) == Some(&b'\\') || rest.first() != Some(&b'\\') {
        return 0;
    }
    let mut is_escaped = false;
    for (length, byte) in rest.iter().enumerate().take(VALUE_MAX) {
        if is_escaped {
            is_escaped = false;
        } else if Some(byte) == quote {
            return length;
        } else if byte.is_ascii_whitespace() {
            return 0;
        } else {
            is_escaped = *byte == b'\\';
        }
    }
    0
}

fn is_key(value: &str) -> bool {
    value.len() >= KEY_MIN
        && value.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b':')
        })
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.contains("://")
        && entropy(value) >= KEY_ENTROPY
}

/// Whether a value can be a literal password. Code that reads a password (`form.password`, `getpass()`) and
/// words of a sentence after `password:` are not.
fn is_password_value(value: &str, quoted: bool) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_code = || {
        value.contains(['(', '[', '{'])
            || value.split('.').all(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
                && value.contains('.')
    };
    value.len() >= PASSWORD_MIN
        && !value.contains(' ')
        && has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_digit)
            || has(u8::is_ascii_punctuation) && (quoted || !value.contains(['_', '-', '/'])))
        && (quoted || !is_code())
}
