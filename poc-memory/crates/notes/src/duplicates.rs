//! Pairs of notes that may be duplicates, with their differing words.
//!
//! Comparing all pairs would take a time quadratic in the number of notes. Only pairs with a semantic edge and pairs
//! with the same title are compared: a new note gets semantic edges to the notes nearest in meaning.

use super::Memory;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, Node, NodeId, View, Visibility, cancellation};
use poc_rank::lookalike;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::hash_map::Entry;

/// The maximum number of differing words listed for each note.
const MAX_DIFFERENT_WORDS: usize = 20;

/// At most this many notes with the same title are compared. A more frequent title names a series, such as `Standup`.
const MAX_SAME_TITLE: usize = 16;

/// Two notes that may be duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct NearDuplicatePair {
    /// The note that was created first.
    pub older: NodeId,
    /// The other note.
    pub newer: NodeId,
    /// The share of common words among all words of both notes (Jaccard), 0 to 1.
    pub words: f64,
    /// Whether both notes have titles of their own (not derived from the body) that are equal, ignoring case.
    pub same_title: bool,
    /// Whether each note has numbers, dates or other identifiers that the other lacks. Such notes usually say the same
    /// of different things.
    pub different_identifiers: bool,
    /// Words that only the older note has, in its order, without repeats, at most 20.
    pub only_older: Vec<String>,
    /// Words that only the newer note has, in its order, without repeats, at most 20.
    pub only_newer: Vec<String>,
}

/// The pairs of visible notes in which at least the share `min` of the words is common: first those without different
/// identifiers, then those with them, each the most similar first, then by ids. A note and one that replaces it, contradicts it or was derived from it are not a pair, and neither are notes of
/// different days (`daily/2026-11-05`, `log/2026-11-05-08`).
///
/// # Errors
/// Those of the store.
pub fn find(
    memory: &Memory,
    view: &View,
    visibility: Visibility,
    min: f64,
) -> Result<Vec<NearDuplicatePair>> {
    let mut notes = Notes { memory, view, nodes: FxHashMap::default() };
    let visible: Vec<Ix> =
        (0..view.slots()).filter(|ix| view.is_visible(*ix, visibility) && !view.is_pointer(*ix)).collect();
    let is_visible: FxHashSet<Ix> = visible.iter().copied().collect();
    let mut candidates: FxHashSet<(Ix, Ix)> = FxHashSet::default();
    for &ix in &visible {
        let near = view.edges(ix).iter().filter(|edge| edge.kind() == EdgeKind::Semantic);
        let near = near.map(|edge| edge.target()).filter(|other| is_visible.contains(other));
        candidates.extend(near.filter(|other| *other != ix).map(|other| (ix.min(other), ix.max(other))));
    }
    let mut titles: FxHashMap<String, Vec<Ix>> = FxHashMap::default();
    for &ix in &visible {
        cancellation::check()?;
        if let Some(title) = notes.get(ix)?.and_then(|node| node.own_title().map(str::to_lowercase)) {
            titles.entry(title).or_default().push(ix);
        }
    }
    for same in titles.into_values().filter(|same| same.len() <= MAX_SAME_TITLE) {
        let pairs =
            same.iter().enumerate().flat_map(|(at, &a)| same.iter().skip(at + 1).map(move |&b| (a, b)));
        candidates.extend(pairs);
    }
    let mut vocabulary = Vocabulary::default();
    let mut words: FxHashMap<Ix, NoteWords> = FxHashMap::default();
    let mut pairs = Vec::new();
    for (a, b) in candidates {
        cancellation::check()?;
        if is_related(view, a, b) || view.are_of_different_days(a, b) {
            continue;
        }
        for ix in [a, b] {
            if let Entry::Vacant(entry) = words.entry(ix)
                && let Some(node) = notes.get(ix)?
            {
                entry.insert(vocabulary.words(&node.text()));
            }
        }
        let (Some(a_words), Some(b_words)) = (words.get(&a), words.get(&b)) else { continue };
        let share = a_words.share(b_words);
        // Most candidates are not similar, so only the similar ones are described.
        if share >= min
            && let (Some(a), Some(b)) = (notes.loaded(a), notes.loaded(b))
        {
            pairs.push(described((a, a_words), (b, b_words), share, &vocabulary));
        }
    }
    pairs.sort_by(|a, b| {
        a.different_identifiers
            .cmp(&b.different_identifiers)
            .then_with(|| b.words.total_cmp(&a.words))
            .then_with(|| (a.older, a.newer).cmp(&(b.older, b.newer)))
    });
    Ok(pairs)
}

/// The records of notes, each read once.
struct Notes<'a> {
    memory: &'a Memory,
    view: &'a View,
    nodes: FxHashMap<Ix, Option<Node>>,
}

impl Notes<'_> {
    fn get(&mut self, ix: Ix) -> Result<Option<&Node>> {
        if !self.nodes.contains_key(&ix) {
            let node = self.view.id(ix).map(|id| self.memory.store.node(id)).transpose()?.flatten();
            self.nodes.insert(ix, node);
        }
        Ok(self.loaded(ix))
    }

    /// A record that has been read.
    fn loaded(&self, ix: Ix) -> Option<&Node> {
        self.nodes.get(&ix).and_then(Option::as_ref)
    }
}

/// Whether one note is known to replace, to contradict or to be derived from the other.
fn is_related(view: &View, a: Ix, b: Ix) -> bool {
    view.other_edges(a).iter().any(|edge| edge.target() == b)
}

/// Describes a pair. Each note comes with its words.
fn described(
    a: (&Node, &NoteWords),
    b: (&Node, &NoteWords),
    share: f64,
    vocabulary: &Vocabulary,
) -> NearDuplicatePair {
    let is_older = (a.0.created, a.0.id) <= (b.0.created, b.0.id);
    let ((older, one), (newer, other)) = if is_older { (a, b) } else { (b, a) };
    let same_title = match (older.own_title(), newer.own_title()) {
        (Some(a), Some(b)) => a.to_lowercase() == b.to_lowercase(),
        _ => false,
    };
    let only = |own: &NoteWords, others: &NoteWords| {
        let own = own.in_order.iter().filter(|word| others.sorted.binary_search(word).is_err());
        own.take(MAX_DIFFERENT_WORDS).map(|word| vocabulary.text(*word)).collect()
    };
    NearDuplicatePair {
        older: older.id,
        newer: newer.id,
        words: share,
        same_title,
        different_identifiers: one.has_other_identifiers(other) && other.has_other_identifiers(one),
        only_older: only(one, other),
        only_newer: only(other, one),
    }
}

/// The different words of all compared notes. A note has many pairs, so its words are read once and compared by their
/// numbers.
#[derive(Default)]
struct Vocabulary {
    words: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

/// The numbers of the words of a note, without repeats.
struct NoteWords {
    in_order: Vec<usize>,
    sorted: Vec<usize>,
    /// Those of its identifiers, sorted. Their case counts.
    identifiers: Vec<usize>,
}

impl Vocabulary {
    /// The words of a text in lower case.
    fn words(&mut self, text: &str) -> NoteWords {
        let tokens = text.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
        let words = tokens.filter(|token| !token.is_empty()).map(lowercase);
        let mut seen = FxHashSet::default();
        let in_order: Vec<usize> =
            words.map(|word| self.number(&word)).filter(|number| seen.insert(*number)).collect();
        let mut sorted = in_order.clone();
        sorted.sort_unstable();
        let mut identifiers: Vec<usize> =
            lookalike::identifiers(text).into_iter().map(|name| self.number(name)).collect();
        identifiers.sort_unstable();
        NoteWords { in_order, sorted, identifiers }
    }

    fn number(&mut self, word: &str) -> usize {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len();
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    fn text(&self, number: usize) -> String {
        self.words.get(number).cloned().unwrap_or_default()
    }
}

/// A word in lower case. Most words are, and need no copy.
fn lowercase(word: &str) -> Cow<'_, str> {
    let is_lowercase = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lowercase { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

impl NoteWords {
    /// Whether this note has an identifier that the other lacks.
    fn has_other_identifiers(&self, other: &NoteWords) -> bool {
        self.identifiers.iter().any(|name| other.identifiers.binary_search(name).is_err())
    }

    /// The share of common words among all words of both notes (Jaccard), 0 to 1; 0 if there are none.
    fn share(&self, other: &NoteWords) -> f64 {
        let mut others = other.sorted.iter().peekable();
        let mut both = 0;
        for word in &self.sorted {
            while others.next_if(|other| *other < word).is_some() {}
            both += usize::from(others.next_if(|other| *other == word).is_some());
        }
        let either = self.sorted.len() + other.sorted.len() - both;
        if either == 0 { 0.0 } else { both as f64 / either as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_compared_in_lower_case_and_without_punctuation() {
        let mut vocabulary = Vocabulary::default();
        let one = vocabulary.words("The port, the `Broker` and THE key.");
        let other = vocabulary.words("the broker: a key");
        let texts = |words: &NoteWords| {
            words.in_order.iter().map(|word| vocabulary.text(*word)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            (texts(&one), texts(&other)),
            ("the port broker and key".into(), "the broker a key".into())
        );
        assert_eq!(one.share(&other), 3.0 / 6.0);
        assert_eq!(vocabulary.words("…").share(&vocabulary.words("")), 0.0);
    }

    #[test]
    fn identifiers_differ_if_both_notes_have_their_own() {
        let mut vocabulary = Vocabulary::default();
        let mut own = |one: &str, other: &str| {
            let (one, other) = (vocabulary.words(one), vocabulary.words(other));
            (one.has_other_identifiers(&other), other.has_other_identifiers(&one))
        };
        assert_eq!(own("Backup of 2026-02-06 ok", "Backup of 2026-02-07 ok"), (true, true));
        assert_eq!(own("The port is 8080.", "The port"), (true, false));
        assert_eq!(own("The broker has port 8080", "Port 8080 is the broker's"), (false, false));
    }

    poc_laws::laws! {
        #[test]
        fn the_share_of_common_words_equals_that_of_the_sets(one in "[a-h ]{0,40}", other in "[a-h ]{0,40}") {
            let mut vocabulary = Vocabulary::default();
            let share = vocabulary.words(&one).share(&vocabulary.words(&other));
            let set = |text: &str| text.split_whitespace().map(str::to_owned).collect::<FxHashSet<String>>();
            let (one, other) = (set(&one), set(&other));
            let either = one.union(&other).count();
            let expected = if either == 0 { 0.0 } else { one.intersection(&other).count() as f64 / either as f64 };
            prop_assert_eq!(share, expected);
        }
    }
}
