//! Proposes readable keys for notes with generated keys.
//!
//! A key is proposed only if the note has a subject that its words name. Speech has no such subject, so the turns of a
//! session, the chunks of a message and signed remarks keep their keys. A title that somebody chose names the subject.
//! If the first line serves as the title, only words that the text repeats, keywords, names and identifiers count. The
//! part of a key before the generated part stays.

use super::Nodes;
use super::filler_words::is_filler;
use crate::selection::Handle;
use poc_graph::time::Timestamp;
use poc_graph::{ChunkRef, Node, NodeType};
use poc_index::{MentionIndex, TextIndex};
use poc_rank::lookalike::is_identifier;
use poc_search::query::{is_generated, is_id};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Minimum number of characters of a key that counts as generated, as in the filter `generated-key`.
const GENERATED_KEY_CHARS: usize = 60;
/// Minimum characters of the last part of a long key: a key that is long because of its folders cannot be shortened.
const LONG_NAME: usize = 40;
/// Minimum number of words of a new key.
const MIN_WORDS: usize = 3;
/// Minimum number of new words when a date, a number or other words of the key are kept.
const MIN_MORE_WORDS: usize = 2;
/// Maximum number of words of a new key. If there are several numbers, only the first counts.
const MAX_WORDS: usize = 5;
/// Maximum number of numbers in the title; a note with more has no short name.
const MAX_NUMBERS: usize = 3;
/// A word in at least this share of the notes is too common to distinguish them.
const COMMON_SHARE: f64 = 0.2;
/// Minimum number of notes with a common word, so that no word is common in a small memory.
const COMMON_NOTES: usize = 8;

/// A note and its new key.
pub(super) struct Rename<'a> {
    pub(super) node: &'a Handle,
    pub(super) key: String,
}

impl Rename<'_> {
    /// The action of a reply that gives the note its new key.
    pub(super) fn supersession(&self) -> Value {
        json!({"reason": "the key is generated; these words name what the note is about",
               "node": self.node.name, "by": "", "key": self.key, "title": "", "body": ""})
    }
}

/// New keys for selected notes. All of them are unused and different from each other.
pub(super) fn find<'a>(nodes: &Nodes<'a>, text: &TextIndex) -> Vec<Rename<'a>> {
    let view = &nodes.selection.view;
    let mut proposed: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for handle in nodes.selection.selected() {
        let in_session = view.sequence_neighbors(handle.ix).next().is_some();
        if !handle.is_replaceable() || in_session || is_speech(&handle.node) {
            continue;
        }
        let common = ((view.live_count() as f64 * COMMON_SHARE) as usize).max(COMMON_NOTES);
        let Some(key) = key_of(&handle.node, text, common) else { continue };
        if view.find_key(&key).is_none() && proposed.insert(key.clone()) {
            found.push(Rename { node: handle, key });
        }
    }
    found
}

/// Whether a note is speech: a chunk of a message, or an episodic note with an author.
fn is_speech(node: &Node) -> bool {
    let is_chunk = ChunkRef::from_source(node.source.as_deref()).is_some();
    is_chunk || node.author.is_some() && NodeType::is_episodic_kind(&node.node_type.0)
}

fn key_of(node: &Node, text: &TextIndex, common: usize) -> Option<String> {
    let front = front(&node.key)?;
    let mut words = subject(node, text, common);
    let known: BTreeSet<String> = parts(&front.to_lowercase()).map(str::to_owned).collect();
    words.retain(|word| !word.spelled.split('-').all(|part| known.contains(part)));
    // Numbers tell notes apart, so all of them stay.
    let needed = words.iter().filter(|word| word.is_needed).count();
    if needed > MAX_NUMBERS {
        return None;
    }
    let mut room = MAX_WORDS - needed.min(1);
    words.retain(|word| {
        let stays = word.is_needed || room > 0;
        room -= usize::from(stays && !word.is_needed);
        stays
    });
    let fewest = if needed > 0 || !known.is_empty() { MIN_MORE_WORDS } else { MIN_WORDS };
    if words.len() < fewest {
        return None;
    }
    let spelled: Vec<&str> = words.iter().map(|word| word.spelled.as_str()).collect();
    let key = format!("{front}{}", spelled.join("-"));
    (!is_generated(&key, GENERATED_KEY_CHARS)).then_some(key)
}

/// A word of the subject of a note.
struct SubjectWord {
    spelled: String,
    is_needed: bool,
}

/// The words that name the subject, in the order of the title.
fn subject(node: &Node, text: &TextIndex, common: usize) -> Vec<SubjectWord> {
    let is_chosen = node.own_title().is_some();
    // A bracket begins a segment, where a capital says nothing, but the words of a `[[link]]` name a note.
    let names = MentionIndex::capitalized_names(&node.title.replace(['[', ']'], " "));
    let content: BTreeSet<String> = text.query_tokens(&node.title).into_iter().collect();
    let mut words: Vec<SubjectWord> = Vec::new();
    for token in node.title.split_whitespace() {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric());
        let spelled = spelled(token);
        let is_needed = token.chars().any(char::is_numeric);
        let is_empty = !spelled.chars().any(char::is_alphanumeric) || is_filler(&spelled);
        if is_empty || is_id(token) || words.iter().any(|word| word.spelled == spelled) {
            continue;
        }
        let mut terms = text.tokens(token).into_iter().filter(|term| content.contains(term));
        let is_common = terms.all(|term| text.frequency(&term) >= common);
        let names_it = || {
            is_identifier(token)
                || node.keywords.iter().any(|word| word.split_whitespace().any(|part| part == spelled))
                || names.iter().any(|name| *name == token.to_lowercase())
                || occurrences(node, &spelled) > 1
        };
        if is_needed || !is_common && (is_chosen || names_it()) {
            words.push(SubjectWord { spelled, is_needed });
        }
    }
    words
}

/// A word as part of a key: in lower case, without apostrophes, with `-` for other punctuation inside.
fn spelled(token: &str) -> String {
    let letters = token.chars().filter(|c| !matches!(c, '\'' | '’')).flat_map(char::to_lowercase);
    letters.map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' }).collect()
}

/// How often the text of a note contains a word.
fn occurrences(node: &Node, word: &str) -> usize {
    let tokens = node.body.split_whitespace();
    tokens.filter(|token| spelled(token.trim_matches(|c: char| !c.is_alphanumeric())) == word).count()
}

/// The part of a key that a new key keeps: folders, a date, a number such as `inc-412`, and words in front of an id.
/// `None` if no part of the key is generated, or if words follow the generated part.
pub(super) fn front(key: &str) -> Option<String> {
    let name_at = key.rfind(['/', '#', ':']).map_or(0, |at| at + 1);
    let mut kept = name_at + date_len(key.get(name_at..)?);
    kept += number_len(key.get(kept..)?);
    let name = key.get(kept..)?;
    let is_long = key.chars().count() >= GENERATED_KEY_CHARS && name.chars().count() >= LONG_NAME;
    if let Some(id) = parts(name).find(|part| is_id(part)) {
        if is_date_and_time(id) {
            return None;
        }
        let id_at = name.find(id)?;
        let (before, after) = (name.get(..id_at)?, name.get(id_at + id.len()..)?);
        let is_word = |part: &str| part.len() > 4 || !part.chars().all(|c| c.is_ascii_hexdigit());
        if parts(after).any(|part| !is_id(part) && is_word(part)) {
            return None;
        }
        // A prefix such as `recipe-` describes the note and is kept; `note-` does not.
        if !before.is_empty() && !is_generated(before.trim_end_matches(is_separator), GENERATED_KEY_CHARS) {
            kept += before.len();
        }
    } else if !is_long && !is_generated(name, GENERATED_KEY_CHARS) {
        return None;
    }
    // A date or number without a separator after it is the whole name.
    let front = key.get(..kept)?;
    let is_closed = front.is_empty() || front.ends_with(|c| is_separator(c) || matches!(c, '/' | '#' | ':'));
    is_closed.then(|| front.to_owned())
}

/// Whether an id begins with a date in the form `20260412`: such an id is kept, because it says when.
fn is_date_and_time(id: &str) -> bool {
    let digits = |from: usize, to: usize| id.get(from..to).and_then(|text| text.parse::<u32>().ok());
    id.len() >= 8
        && id.chars().all(|c| c.is_ascii_digit())
        && digits(0, 4).is_some_and(|year| (1900..2100).contains(&year))
        && digits(4, 6).is_some_and(|month| (1..=12).contains(&month))
        && digits(6, 8).is_some_and(|day| (1..=31).contains(&day))
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | ' ')
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c| is_separator(c) || matches!(c, '/' | '#' | ':')).filter(|part| !part.is_empty())
}

/// The length of a date and the separator at the start of a name.
fn date_len(name: &str) -> usize {
    let is_date = |date: &str| Timestamp::parse(date).is_ok();
    match name.get(..10).filter(|date| is_date(date)) {
        Some(date) => date.len() + separator_len(name.get(10..)),
        None => 0,
    }
}

/// The length of a number with its prefix, such as `inc-412-`, at the start of a name.
fn number_len(name: &str) -> usize {
    let letters = name.chars().take_while(char::is_ascii_alphabetic).count();
    let rest = name.get(letters..).unwrap_or_default();
    let hyphen = usize::from(rest.starts_with(['-', '_']));
    let digits = rest.chars().skip(hyphen).take_while(char::is_ascii_digit).count();
    let length = letters + hyphen + digits;
    let is_number = (1..=8).contains(&letters) && (1..=7).contains(&digits);
    let separator = separator_len(name.get(length..));
    let is_placeholder = is_generated(name.get(..length).unwrap_or_default(), GENERATED_KEY_CHARS);
    if is_number && separator > 0 && !is_placeholder { length + separator } else { 0 }
}

fn separator_len(rest: Option<&str>) -> usize {
    usize::from(rest.is_some_and(|rest| rest.starts_with(is_separator)))
}
