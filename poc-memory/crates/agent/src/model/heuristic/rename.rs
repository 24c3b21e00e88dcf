//! Proposes readable keys for notes with generated keys.

use super::Nodes;
use crate::selection::Handle;
use poc_graph::Node;
use poc_index::TextIndex;
use poc_search::query::{is_generated, is_id};
use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// Keys with at least this many characters count as generated, as in the filter `generated-key`.
const LONG: usize = 60;
/// Minimum number of words of a new key.
const FEWEST: usize = 3;
/// Maximum number of words of a new key.
const MOST: usize = 5;
/// Maximum characters of a folder that a new key keeps.
const FOLDER: usize = 24;

/// A note and its new key.
pub(super) struct Rename<'a> {
    pub(super) node: &'a Handle,
    pub(super) key: String,
}

impl Rename<'_> {
    pub(super) fn reason(&self) -> String {
        "the key is generated; these are the rarest words of the note".to_owned()
    }
}

/// New keys for chosen notes: three to five of their rarest words, from the title first, after the folder and
/// date of the old key. All keys are unused.
pub(super) fn find<'a>(nodes: &Nodes<'a>, text: &TextIndex) -> Vec<Rename<'a>> {
    let view = &nodes.selection.view;
    let mut proposed: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for handle in nodes.selection.chosen() {
        if !handle.is_replaceable() || !is_generated(&handle.node.key, LONG) {
            continue;
        }
        let is_free = |key: &str| view.find_key(key).is_none() && !proposed.contains(key);
        if let Some(key) = key_of(&handle.node, text, is_free) {
            proposed.insert(key.clone());
            found.push(Rename { node: handle, key });
        }
    }
    found
}

/// A word of a note, its position, and the number of notes that contain it.
struct Word {
    spelled: String,
    place: usize,
    notes: usize,
}

fn key_of(node: &Node, text: &TextIndex, is_free: impl Fn(&str) -> bool) -> Option<String> {
    let front = front(&node.key);
    let mut words = words(&node.title, text, 0, &[]);
    if words.len() < FEWEST {
        let more = words_of_body(node, text, &words);
        words.extend(more);
    }
    words.sort_by_key(|word| (word.notes, word.place));
    if words.len() < FEWEST {
        return None;
    }
    // The rarest words first. If the key is taken, another word replaces the last one.
    let shortened = (FEWEST..=MOST.min(words.len())).rev().map(|count| words.iter().take(count).collect());
    let others = (MOST..words.len()).map(|last| {
        let first = words.iter().take(MOST - 1);
        first.chain(words.get(last)).collect()
    });
    shortened.chain(others).find_map(|mut chosen: Vec<&Word>| {
        chosen.sort_by_key(|word| word.place);
        let spelled: Vec<&str> = chosen.iter().map(|word| word.spelled.as_str()).collect();
        let key = format!("{front}{}", spelled.join("-"));
        (!is_generated(&key, LONG) && is_free(&key)).then_some(key)
    })
}

fn words_of_body(node: &Node, text: &TextIndex, known: &[Word]) -> Vec<Word> {
    let first = node.body.unicode_sentences().map(str::trim).find(|line| !line.is_empty());
    words(first.unwrap_or_default(), text, known.len(), known)
}

/// The distinct words of a line without stop words and ids.
fn words(line: &str, text: &TextIndex, from: usize, known: &[Word]) -> Vec<Word> {
    let terms: BTreeSet<String> = text.query_tokens(line).into_iter().collect();
    let mut words: Vec<Word> = Vec::new();
    for word in line.unicode_words() {
        let spelled: String = word.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '’')).collect();
        let is_plain = !spelled.is_empty() && spelled.chars().all(char::is_alphanumeric);
        let is_new = !known.iter().chain(&words).any(|word| word.spelled == spelled);
        let term = text.tokens(word).into_iter().next().filter(|term| terms.contains(term));
        if let (true, true, false, Some(term)) = (is_plain, is_new, is_id(&spelled), term) {
            words.push(Word { spelled, place: from + words.len(), notes: text.frequency(&term).max(1) });
        }
    }
    words
}

/// The part of a key that a new key keeps: a folder that is short and not generated, and a date.
pub(super) fn front(key: &str) -> String {
    let end = key.rfind(['/', '#']).map_or(0, |at| at + 1);
    let (folder, rest) = key.split_at_checked(end).unwrap_or(("", key));
    let folder = if is_generated(folder, FOLDER) { "" } else { folder };
    let date = rest.get(..10).filter(|date| poc_graph::time::Timestamp::parse(date).is_ok());
    date.map_or_else(|| folder.to_owned(), |date| format!("{folder}{date}-"))
}
