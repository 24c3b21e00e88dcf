//! The texts of an erasure, and the search for their copies.

use crate::{Memory, key};
use memchr::memmem;
use poc_graph::error::Result;
use poc_graph::{Message, Node, NodeId};
use poc_store::{LoggedChangeKind, LoggedTransaction, Record, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Minimum length of a line of a text that identifies a copy; shorter lines are too common. A text that is shorter as a
/// whole identifies a copy only as whole words: `ok` is also in `token`.
const MIN_LINE_CHARS: usize = 16;

/// Length of the start of a text by which its copies are found. No line is shorter.
const START_BYTES: usize = MIN_LINE_CHARS;

/// Maximum length of the beginning of a text that is compared at each position where its start is. A longer text whose
/// beginning was found is searched once: a text that repeats one character has its beginning at many positions.
const MAX_BEGINNING_BYTES: usize = 256;

/// The erased texts, as the strings that identify copies of them. White space is compared as single spaces,
/// because prompts indent and wrap texts.
///
/// An erasure of old messages has hundreds of thousands of lines, which are looked for in every text of the history and
/// of the backups. So a text is searched once for all of them, by their starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedTexts {
    by_start: FxHashMap<[u8; START_BYTES], Beginnings>,
    /// Texts with fewer than [`MIN_LINE_CHARS`] characters.
    short: BTreeSet<Vec<u8>>,
}

/// How short texts are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matches {
    /// As whole words.
    Words,
    /// Anywhere. In encoded data, the length of a text before it may look like a letter.
    Anywhere,
}

impl ErasedTexts {
    /// Adds a note, with those of its keys that were made from its title.
    pub fn add_note(&mut self, node: &Node) {
        self.add(&node.title);
        self.add(&node.body);
        let slug = key::slug(&node.title);
        let of_title = |key: &&String| key.strip_prefix(&slug).is_some_and(is_number_suffix);
        let keys = std::iter::once(&node.key).chain(&node.aliases);
        keys.filter(of_title).for_each(|key| self.insert(key.as_bytes()));
    }

    /// Adds a message.
    pub fn add_message(&mut self, message: &Message) {
        self.add(&message.text);
    }

    /// Adds all texts that a note has had since the history begins.
    pub fn add_history(&mut self, memory: &Memory, id: NodeId) -> Result<()> {
        for change in memory.store.history(id)? {
            match change.kind {
                LoggedChangeKind::Created(_) => {}
                LoggedChangeKind::Changed { before, after } => {
                    self.add_note(&before);
                    self.add_note(&after);
                }
                LoggedChangeKind::Deleted(before) => self.add_note(&before),
            }
        }
        Ok(())
    }

    pub(super) fn add(&mut self, text: &str) {
        let lines = text.lines().map(with_single_spaces);
        lines
            .filter(|line| line.chars().count() >= MIN_LINE_CHARS)
            .for_each(|line| self.insert(line.as_bytes()));
        self.insert(with_single_spaces(text).as_bytes());
    }

    fn insert(&mut self, text: &[u8]) {
        let chars = text.iter().filter(|byte| !is_continuation(**byte)).count();
        match text.first_chunk().copied().filter(|_| chars >= MIN_LINE_CHARS) {
            Some(start) => self.by_start.entry(start).or_default().insert(text),
            None if text.is_empty() => {}
            None => {
                self.short.insert(text.to_vec());
            }
        }
    }

    /// Adds other texts.
    pub(crate) fn append(&mut self, other: ErasedTexts) {
        for (beginning, longer) in other.by_start.into_values().flat_map(|beginnings| beginnings.0) {
            if longer.is_empty() {
                self.insert(&beginning);
            }
            longer.iter().for_each(|text| self.insert(text));
        }
        other.short.iter().for_each(|text| self.insert(text));
    }

    /// Whether a text that is not encoded contains one of the texts.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.have_match(text, Matches::Words)
    }

    fn have_match(&self, text: &str, matches: Matches) -> bool {
        let spaced = with_single_spaces(text);
        let text = spaced.as_bytes();
        let has = |known: &Vec<u8>| memmem::find(text, known).is_some();
        let mut searched: FxHashSet<&[u8]> = FxHashSet::default();
        let is_at = |(at, start): (usize, &[u8])| {
            let Some(beginnings) = self.by_start.get(start) else { return false };
            let rest = text.get(at..).unwrap_or_default();
            let Some((beginning, longer)) = beginnings.at_beginning_of(rest) else { return false };
            longer.is_empty() || searched.insert(beginning) && longer.iter().any(has)
        };
        let has_short = |known: &Vec<u8>| match matches {
            Matches::Words => has_as_words(&spaced, known),
            Matches::Anywhere => has(known),
        };
        text.windows(START_BYTES).enumerate().any(is_at) || self.short.iter().any(has_short)
    }

    pub(super) fn are_in_note(&self, node: &Node) -> bool {
        self.are_in(&node.title) || self.are_in(&node.body)
    }

    pub(super) fn are_in_transaction(&self, txn: &LoggedTransaction) -> bool {
        txn.writes.iter().any(|write| {
            let mut images = [&write.before, &write.after].into_iter().flatten();
            images.any(|image| self.are_in_record(write.table, image))
        })
    }

    pub(super) fn are_in_record(&self, table: Table, bytes: &[u8]) -> bool {
        let decoded = match table {
            Table::Nodes => Node::decode(bytes).ok().map(|node| self.are_in_note(&node)),
            Table::Messages => Message::decode(bytes).ok().map(|message| self.are_in(&message.text)),
            _ => None,
        };
        decoded.unwrap_or_else(|| self.are_in_bytes(bytes))
    }

    /// Whether the content of a file contains one of the texts: that of a run, which is JSON, or a copy of a file of a
    /// vault.
    pub(super) fn are_in_file(&self, bytes: &[u8]) -> bool {
        match (serde_json::from_slice::<Value>(bytes), std::str::from_utf8(bytes)) {
            (Ok(value), _) => self.are_in_json(&value),
            (Err(_), Ok(text)) => self.are_in(text),
            _ => self.are_in_bytes(bytes),
        }
    }

    /// Whether encoded data contains one of the texts.
    pub(super) fn are_in_bytes(&self, bytes: &[u8]) -> bool {
        self.have_match(&String::from_utf8_lossy(bytes), Matches::Anywhere)
    }

    fn are_in_json(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                self.are_in(text) || json_within(text).is_some_and(|value| self.are_in_json(&value))
            }
            Value::Array(items) => items.iter().any(|item| self.are_in_json(item)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| self.are_in(name) || self.are_in_json(value))
            }
            _ => false,
        }
    }
}

/// The beginnings of the texts with one start, at most [`MAX_BEGINNING_BYTES`] of each, with the texts that are longer.
/// A beginning without longer texts is a text itself. No beginning is a prefix of another one: a text that has the
/// longer one also has the shorter one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Beginnings(BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>);

impl Beginnings {
    fn insert(&mut self, text: &[u8]) {
        let beginning = text.get(..MAX_BEGINNING_BYTES).unwrap_or(text);
        if self.at_beginning_of(beginning).is_some_and(|(_, longer)| longer.is_empty()) {
            return;
        }
        if beginning.len() < text.len() {
            self.0.entry(beginning.to_vec()).or_default().insert(text.to_vec());
            return;
        }
        let from_text: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(text), Bound::Unbounded);
        let known = self.0.range::<[u8], _>(from_text).map(|(known, _)| known);
        for longer in known.take_while(|known| known.starts_with(text)).cloned().collect::<Vec<_>>() {
            self.0.remove(&longer);
        }
        self.0.insert(text.to_vec(), BTreeSet::new());
    }

    /// The beginning that is a prefix of `text`, with the longer texts. Only the last one that is not greater can be: a
    /// greater one than the prefix would begin with the prefix, too.
    fn at_beginning_of(&self, text: &[u8]) -> Option<(&[u8], &BTreeSet<Vec<u8>>)> {
        let up_to_text: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Included(text));
        let (beginning, longer) = self.0.range::<[u8], _>(up_to_text).next_back()?;
        text.starts_with(beginning).then_some((beginning.as_slice(), longer))
    }
}

/// Whether a text is a suffix that [`key::unique`] appends to a slug: nothing, or `-2` and so on.
fn is_number_suffix(suffix: &str) -> bool {
    suffix.is_empty() || suffix.strip_prefix('-').is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Whether a byte of a text is not the first one of its character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Whether a text contains another one that no word continues at its start or end.
fn has_as_words(text: &str, known: &[u8]) -> bool {
    let is_inside_word = |at: usize| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        before.chars().next_back().is_some_and(is_word_char)
            && after.chars().next().is_some_and(is_word_char)
            && !ends_with_escape(before)
    };
    let mut from = 0;
    while let Some(at) = text.as_bytes().get(from..).and_then(|rest| memmem::find(rest, known)) {
        let (start, end) = (from + at, from + at + known.len());
        if !is_inside_word(start) && !is_inside_word(end) {
            return true;
        }
        from = start + 1;
    }
    false
}

/// The JSON that a text is or that begins in it, such as the reply of a model, if it may have escapes.
fn json_within(text: &str) -> Option<Value> {
    let start = text.find(['{', '[']).filter(|_| text.contains('\\'))?;
    serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<Value>().next()?.ok()
}

/// Whether a text ends with an escape such as `\n` or `\u00e9`, which is not part of the word after it. The reply of a
/// model is JSON, also in a file that is JSON itself, and a file may have JSON that was cut off.
fn ends_with_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b'\\', _] | [.., b'\\', b'u', _, _, _, _])
}

/// Whether a character belongs to a word with the letters and digits next to it. Later alphabets than Latin, Greek and
/// Cyrillic have scripts without spaces, and words with prefixes.
fn is_word_char(char: char) -> bool {
    char < '\u{530}' && char.is_alphanumeric()
}

fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_found_by_its_long_lines_or_as_a_whole() {
        let mut texts = ErasedTexts::default();
        texts.add("The gate opens\nat noon, when the bell rings.\nNot before.");
        assert!(texts.are_in("  at noon,  when the\n  bell rings."));
        assert!(!texts.are_in("The gate opens. Not before."));
        texts.add("pw: 1");
        assert!(texts.are_in("user: bob, pw:\t1"));
        let mut all = ErasedTexts::default();
        all.append(texts);
        all.add("");
        assert!(all.are_in("pw: 1") && all.are_in("at noon, when the bell rings.") && !all.are_in("noon"));
    }

    #[test]
    fn a_short_text_is_found_as_whole_words() {
        let mut texts = ErasedTexts::default();
        ["ok", "пароль 12", "東京", "a b a"].iter().for_each(|text| texts.add(text));
        for copy in ["ok", "It is (ok).", "ok_1", "\"ok\"", "мой пароль 12.", "私は東京に", "xa b a b a"]
        {
            assert!(texts.are_in(copy), "{copy}");
        }
        for other in ["token", "look", "okay", "ok2", "пароль 123", "xa b a"] {
            assert!(!texts.are_in(other), "{other}");
        }
        let in_json =
            |text: &str| texts.are_in_file(serde_json::json!({ "prompt": text }).to_string().as_bytes());
        assert!(in_json("Fine.\nok") && !in_json("Fine.\ntoken"));
        assert!(texts.are_in_file(b"Fine. ok\n") && !texts.are_in_file(b"Fine. token\n"));
        let in_reply = |text: &str| in_json(&serde_json::json!({ "body": text }).to_string());
        assert!(in_reply("Fine.\nok") && in_reply("\u{1}ok") && !in_reply("Fine.\ntoken"));
        // JSON that was cut off, and the length of a text before it.
        assert!(texts.are_in_file(b"{\"prompt\": \"Fine.\\nok"));
        assert!(!texts.are_in_file(b"{\"prompt\": \"Fine.\\ntoken"));
        assert!(texts.are_in_bytes(b"Aok"));
    }

    #[test]
    fn escapes_in_the_reply_of_a_model_hide_no_line() {
        let mut texts = ErasedTexts::default();
        texts.add("The word \"zanzibar\" opens the gate.");
        let reply = |text: &str| format!("```json\n{}\n```", serde_json::json!([{ "body": text }]));
        let is_in_file =
            |text: &str| texts.are_in_file(serde_json::json!({ "reply": text }).to_string().as_bytes());
        assert!(is_in_file(&reply("Note: the key.\nThe word \"zanzibar\" opens the gate.")));
        assert!(!is_in_file(&reply("The word \"zebra\" opens the gate.")));
    }

    poc_laws::laws! {
        /// The texts are alike, so that many of them are prefixes of others.
        #[test]
        fn the_search_by_starts_finds_what_a_search_for_each_text_finds(
            known in proptest::collection::vec(
                prop_oneof!["(a{14,18}[bé]?\\n?){0,3}", "(a{120,130}[bé]?){1,3}"],
                0..6,
            ),
            text in prop_oneof!["[bé]?(a{14,18}[bé ]?){0,3}", "[bé]?(a{120,130}[bé]?){1,4}"],
        ) {
            let mut texts = ErasedTexts::default();
            known.iter().for_each(|known| texts.add(known));
            let text = with_single_spaces(&text);
            let is_in = |part: &str| !part.is_empty() && text.contains(part);
            let is_as_words_in = |part: &str| {
                let is_word_char = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
                let is_whole = |(at, _): (usize, &str)| {
                    let (before, after) = (&text[..at], &text[at + part.len()..]);
                    let continues_before = is_word_char(before.chars().next_back());
                    !continues_before && !is_word_char(after.chars().next())
                };
                !part.is_empty() && text.match_indices(part).any(is_whole)
            };
            let expected = known.iter().any(|known| {
                let is_long = |text: &str| text.chars().count() >= MIN_LINE_CHARS;
                let whole = with_single_spaces(known);
                let is_whole_in = if is_long(&whole) { is_in(&whole) } else { is_as_words_in(&whole) };
                known.lines().filter(|line| is_long(line)).any(is_in) || is_whole_in
            });
            prop_assert_eq!(texts.are_in(&text), expected);
        }
    }
}
