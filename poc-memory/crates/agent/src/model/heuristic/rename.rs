//! A key that a person can say, for a note whose key nobody has chosen.

use super::Nodes;
use crate::selection::Handle;
use poc_graph::Node;
use poc_index::TextIndex;
use poc_search::query::{is_generated, is_id};
use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// Characters from which on a key is too long, as the filter `generated-key` has it.
const LONG: usize = 60;
/// Words of a new key.
const FEWEST: usize = 3;
const MOST: usize = 5;
/// Characters a folder in front of a key may have: longer ones are no help.
const FOLDER: usize = 24;

/// A note and its new key.
pub(super) struct Rename<'a> {
    pub(super) node: &'a Handle,
    pub(super) key: String,
}

impl Rename<'_> {
    pub(super) fn reason(&self) -> String {
        "the key says little; these are the rarest words of the note".to_owned()
    }
}

/// New keys for chosen notes: three to five of their rarest words, title before text, behind the date
/// or the folder that stood there. No key is one that the memory has.
pub(super) fn find<'a>(nodes: &Nodes<'a>, text: &TextIndex) -> Vec<Rename<'a>> {
    let view = &nodes.selection.view;
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for handle in nodes.selection.chosen() {
        if !handle.is_replaceable() || !is_generated(&handle.node.key, LONG) {
            continue;
        }
        let is_free = |key: &str| view.find_key(key).is_none() && !given.contains(key);
        if let Some(key) = key_of(&handle.node, text, is_free) {
            given.insert(key.clone());
            found.push(Rename { node: handle, key });
        }
    }
    found
}

/// A word of a note, where it stands, and how many notes have it.
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
    // The rarest first; another word stands in for the last where a key is taken.
    let tries = (FEWEST..=MOST.min(words.len())).rev().map(|count| words.iter().take(count).collect());
    let others = (MOST..words.len()).map(|last| {
        let first = words.iter().take(MOST - 1);
        first.chain(words.get(last)).collect()
    });
    tries.chain(others).find_map(|mut chosen: Vec<&Word>| {
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

/// The words of a line that tell something, each once: no ids, and none that every text has.
fn words(line: &str, text: &TextIndex, from: usize, known: &[Word]) -> Vec<Word> {
    let telling: BTreeSet<String> = text.query_tokens(line).into_iter().collect();
    let mut words: Vec<Word> = Vec::new();
    for word in line.unicode_words() {
        let spelled: String = word.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '’')).collect();
        let is_plain = !spelled.is_empty() && spelled.chars().all(char::is_alphanumeric);
        let is_new = !known.iter().chain(&words).any(|word| word.spelled == spelled);
        let term = text.tokens(word).into_iter().next().filter(|term| telling.contains(term));
        if let (true, true, false, Some(term)) = (is_plain, is_new, is_id(&spelled), term) {
            words.push(Word { spelled, place: from + words.len(), notes: text.frequency(&term).max(1) });
        }
    }
    words
}

/// What stays in front of a key: its folder, where that is short and was chosen, and a date.
pub(super) fn front(key: &str) -> String {
    let end = key.rfind(['/', '#']).map_or(0, |at| at + 1);
    let (folder, rest) = key.split_at_checked(end).unwrap_or(("", key));
    let folder = if is_generated(folder, FOLDER) { "" } else { folder };
    let date = rest.get(..10).filter(|date| poc_graph::time::Timestamp::parse(date).is_ok());
    date.map_or_else(|| folder.to_owned(), |date| format!("{folder}{date}-"))
}
