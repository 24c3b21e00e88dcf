//! Finds secrets in a text (keys, tokens, private keys, passwords) and redacts them: replaces each by a placeholder
//! that names its kind. The secret itself appears in no report.
//!
//! Four scanners find secrets: [`tokens`] by the prefixes that providers give their tokens, [`blocks`] by their
//! form (private keys, JSON Web Tokens, passwords in URLs), [`assignments`] by the name that a value is
//! assigned to, and [`commands`] by the option of a program that takes a password.

mod assignments;
mod blocks;
mod commands;
#[cfg(test)]
mod tests;
mod tokens;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// How many secrets were replaced, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretCounts(BTreeMap<String, u64>);

impl SecretCounts {
    /// Whether no secret was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of secrets of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Kinds and numbers, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &SecretCounts) {
        for (kind, count) in other.iter() {
            self.add(kind, count);
        }
    }

    /// The kinds, separated by commas.
    pub fn kinds(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The report that secrets in the texts of a model were replaced; `None` if there were none.
    pub fn replaced_in_texts_of_model(&self) -> Option<String> {
        let report = || {
            format!(
                "secrets were replaced by placeholders ({}): the memory keeps none that a model writes",
                self.kinds()
            )
        };
        (!self.is_empty()).then(report)
    }

    fn add(&mut self, kind: &str, count: u64) {
        *self.0.entry(kind.to_owned()).or_default() += count;
    }
}

/// The beginning of a placeholder.
const PLACEHOLDER: &str = "[secret: ";

/// A secret in a text.
struct DetectedSecret {
    kind: &'static str,
    /// Its bytes in the text.
    at: Range<usize>,
}

/// The text with each secret replaced by `[secret: KIND]`; `counts` is increased by the secrets replaced. Scrubbing
/// a scrubbed text changes nothing.
pub fn scrub<'a>(text: &'a str, counts: &mut SecretCounts) -> Cow<'a, str> {
    let mut secrets = tokens::find(text);
    secrets.extend(blocks::find(text));
    secrets.extend(assignments::find(text));
    secrets.extend(commands::find(text));
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    // Of two overlapping secrets, the one that begins first counts; if both begin together, the longer one
    // counts.
    secrets.sort_by_key(|secret| (secret.at.start, usize::MAX - secret.at.end));
    let mut scrubbed = String::with_capacity(text.len());
    let mut done = 0;
    for DetectedSecret { kind, at } in secrets {
        if at.start < done {
            // The end of the second secret must not remain after the first one is replaced.
            done = done.max(at.end);
            continue;
        }
        scrubbed.push_str(text.get(done..at.start).unwrap_or_default());
        scrubbed.push_str(PLACEHOLDER);
        scrubbed.push_str(kind);
        scrubbed.push(']');
        counts.add(kind, 1);
        done = at.end;
    }
    scrubbed.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(scrubbed)
}

/// Counts the secrets of a text without replacing them, to warn about them. It also counts what may be a password after
/// `the password is`. [`scrub`] does not replace that, because any word may follow there.
pub fn count(text: &str, counts: &mut SecretCounts) {
    drop(scrub(text, counts));
    if assignments::may_state_password(text) {
        counts.add("password", 1);
    }
}

/// Like [`scrub`], but changes the text itself.
pub fn scrub_in_place(text: &mut String, counts: &mut SecretCounts) {
    if let Cow::Owned(scrubbed) = scrub(text, counts) {
        *text = scrubbed;
    }
}

/// Shannon entropy of the bytes of a text, in bits per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = text.len().max(1) as f64;
    let share = |count: &u32| f64::from(*count) / total;
    -counts.iter().filter(|count| **count > 0).map(|count| share(count) * share(count).log2()).sum::<f64>()
}
