//! A provider's key, which must be neither stored nor shown.

use serde_json::Value;
use std::fmt;

/// Characters of the shortest key that is removed from texts. Servers on one's own machine accept any key, so that
/// people set `x` or `local`, which occur in ordinary words; keys of providers have twenty characters and more.
const MIN_LENGTH: usize = 8;

/// Characters of the shortest key that counts as generated.
const MIN_GENERATED: usize = 16;

/// What replaces a key.
const PLACEHOLDER: &str = "[key]";

/// A key. It has no `Display`, and its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The secret with this text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Its text, to send it to its provider.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a program has generated it: it is long and has letters and digits. Other keys may be ordinary words, such
    /// as `lm-studio`.
    pub fn is_generated(&self) -> bool {
        let has = |is: fn(&char) -> bool| self.0.chars().any(|c| is(&c));
        self.0.len() >= MIN_GENERATED && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
    }

    /// `text` with the secret replaced by `[key]`. A secret of fewer than eight characters is left in place.
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < MIN_LENGTH { text.to_owned() } else { text.replace(&self.0, PLACEHOLDER) }
    }

    /// Redacts all strings of a JSON value, and leaves the names of fields.
    pub fn redact_strings(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(&self.0) => *text = self.redact(text),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.redact_strings(entry)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_strings(field)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_short_key_leaves_texts_as_they_are() {
        for (secret, expected) in
            [("x", "sk-secret x link"), ("link", "sk-secret x link"), ("sk-secret", "[key] x link")]
        {
            let secret = Secret::new(secret);
            assert_eq!(secret.redact("sk-secret x link"), expected);
            let mut value = json!({"sk-secret": ["sk-secret x link", 1, {"link": "x"}]});
            secret.redact_strings(&mut value);
            assert_eq!(value, json!({"sk-secret": [expected, 1, {"link": "x"}]}));
            assert!(!format!("{secret:?}").contains(secret.expose()));
        }
    }

    #[test]
    fn words_do_not_count_as_generated() {
        for (key, expected) in [
            ("lm-studio", false),
            ("supersede", false),
            ("sk-no-key-required", false),
            ("1234567890123456", false),
            ("sk-short-1", false),
            ("sk-proj-0123456789abcdef", true),
        ] {
            assert_eq!(Secret::new(key).is_generated(), expected, "{key}");
        }
    }
}
