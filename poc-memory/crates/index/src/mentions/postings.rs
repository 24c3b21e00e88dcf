//! The content of the mention index: the notes with their names and the words of their bodies.

use super::name_table::NameTable;
use super::packed::{self, PackedWord};
use super::vocabulary::{MAX_BODIES, MentionVocabulary, NameEvidence};
use super::words::{FoldedWords, Spelling};
use crate::packed_list::SharedBytes;
use crate::text::stop_words::is_stop_word;
use crate::text::tokens::is_name;
use poc_graph::time::calendar_names::is_day_or_month;
use poc_graph::{NodeId, cancellation};
use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::char::is_combining_mark;

/// The maximum number of notes with the same name. Names of more notes are ignored.
pub(super) const MAX_NOTES_PER_NAME: usize = 64;

/// A word that no note contains, so it matches no title.
const UNKNOWN: u32 = u32::MAX;

/// The content of the mention index. The slots of removed notes are reused.
#[derive(Clone, Default)]
pub(super) struct MentionPostings {
    vocabulary: MentionVocabulary,
    names: NameTable,
    notes: Vec<Option<IndexedNote>>,
    free: Vec<u32>,
    by_id: FxHashMap<NodeId, u32>,
}

/// A note with its words as numbers of the vocabulary.
pub(super) struct NumberedNote {
    pub(super) id: NodeId,
    /// The words of each name.
    pub(super) names: Vec<Vec<u32>>,
    pub(super) body: Vec<PackedWord>,
}

/// A note with its packed words: the number of names, the length of each name, the words of the names, and
/// the words of the body.
#[derive(Clone)]
pub(super) struct IndexedNote {
    pub(super) id: NodeId,
    pub(super) words: SharedBytes,
}

impl IndexedNote {
    /// The words of each name.
    fn names(&self) -> Vec<Vec<u32>> {
        self.parts().0
    }

    /// Calls `each` with the words of each name, without an allocation for each.
    fn each_name(&self, name: &mut Vec<u32>, mut each: impl FnMut(&[u32])) {
        let numbers = || packed::words(&self.words).map(|(number, _)| number);
        let count = numbers().next().unwrap_or(0) as usize;
        let mut words = numbers().skip(1 + count);
        for length in numbers().skip(1).take(count) {
            name.clear();
            name.extend(words.by_ref().take(length as usize));
            each(name);
        }
    }

    fn has_name(&self, name: &[u32]) -> bool {
        let mut has_name = false;
        self.each_name(&mut Vec::new(), |other| has_name |= other == name);
        has_name
    }

    fn body(&self) -> impl Iterator<Item = PackedWord> {
        self.parts().1
    }

    fn parts(&self) -> (Vec<Vec<u32>>, impl Iterator<Item = PackedWord> + use<'_>) {
        let mut words = packed::words(&self.words);
        let mut number = || words.next().map(|(number, _)| number);
        let count = number().unwrap_or(0);
        // Invalid counts must not allocate more than there are bytes.
        let lengths: Vec<u32> = (0..count).map_while(|_| number()).collect();
        let names = lengths.iter().map(|&length| (0..length).map_while(|_| number()).collect()).collect();
        (names, words)
    }
}

impl MentionPostings {
    /// Adds or replaces a note.
    pub(super) fn put(&mut self, id: NodeId, names: &[FoldedWords], body: &FoldedWords) {
        let number = |(number, _): PackedWord| number;
        let names: Vec<Vec<u32>> =
            names.iter().map(|name| self.numbered(name).into_iter().map(number).collect()).collect();
        let body: Vec<PackedWord> = self.numbered(body);
        self.put_numbered(id, &names, &body);
    }

    fn numbered(&mut self, words: &FoldedWords) -> Vec<PackedWord> {
        words.iter().map(|(word, spelling)| (self.vocabulary.get_or_insert(word), spelling)).collect()
    }

    /// Like [`MentionPostings::put`], for words that already have numbers.
    fn put_numbered(&mut self, id: NodeId, names: &[Vec<u32>], body: &[PackedWord]) {
        let words = packed_note(names, body.iter().copied());
        if let Some(slot) = self.by_id.get(&id)
            && self.note(*slot).is_some_and(|note| *note.words == words)
        {
            return;
        }
        self.remove(id);
        let slot = self.free.pop().unwrap_or(self.notes.len() as u32);
        for (number, evidence) in distinct(body) {
            self.vocabulary.add_body(number, evidence, slot);
        }
        names.iter().for_each(|name| self.names.add(name, slot));
        let note = Some(IndexedNote { id, words: SharedBytes::Own(words.into()) });
        match self.notes.get_mut(slot as usize) {
            Some(entry) => *entry = note,
            None => self.notes.push(note),
        }
        self.by_id.insert(id, slot);
    }

    /// Restores notes whose words have numbers of the vocabulary, which already lists the notes; `None` if an id is
    /// repeated. `size` is the number of notes.
    pub(super) fn restore(
        vocabulary: MentionVocabulary,
        notes: impl Iterator<Item = IndexedNote>,
        size: usize,
    ) -> Option<MentionPostings> {
        let mut postings = MentionPostings { vocabulary, ..MentionPostings::default() };
        postings.notes.reserve(size);
        postings.by_id.reserve(size);
        postings.names.reserve(size);
        let mut name = Vec::new();
        for (slot, note) in (0u32..).zip(notes) {
            note.each_name(&mut name, |name| postings.names.add(name, slot));
            if postings.by_id.insert(note.id, slot).is_some() {
                return None;
            }
            postings.notes.push(Some(note));
        }
        Some(postings)
    }

    /// Removes a note if it is in the index.
    pub(super) fn remove(&mut self, id: NodeId) {
        let Some(slot) = self.by_id.remove(&id) else { return };
        let Some(note) = self.notes.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free.push(slot);
        note.names().iter().for_each(|name| self.names.remove(name, slot));
        let body: Vec<PackedWord> = note.body().collect();
        for (number, evidence) in distinct(&body) {
            if self.vocabulary.remove_body(number, evidence, slot) {
                let contains = |(slot, note): (u32, &Option<IndexedNote>)| {
                    let mut words = note.as_ref()?.body();
                    words.any(|(other, _)| other == number).then_some(slot)
                };
                let slots = (0u32..).zip(&self.notes).filter_map(contains).collect();
                self.vocabulary.restore(number, slots);
            }
        }
    }

    /// The words of all notes with their slots, sorted by slot.
    pub(super) fn notes(&self) -> impl Iterator<Item = (u32, NumberedNote)> {
        let words = |note: &IndexedNote| NumberedNote {
            id: note.id,
            names: note.names(),
            body: note.body().collect(),
        };
        (0u32..).zip(&self.notes).filter_map(move |(slot, note)| Some((slot, words(note.as_ref()?))))
    }

    /// The size in memory in bytes, without the spare capacity of hash tables.
    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.notes.iter().flatten().map(|note| note.words.len()).sum();
        let notes = self.notes.len() * size_of::<Option<IndexedNote>>()
            + self.by_id.len() * size_of::<(NodeId, u32)>();
        words + notes + self.vocabulary.bytes() + self.names.bytes()
    }

    /// The number of notes.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The vocabulary.
    pub(super) fn vocabulary(&self) -> &MentionVocabulary {
        &self.vocabulary
    }

    pub(super) fn mentioned_by(&self, id: NodeId) -> Vec<NodeId> {
        let Some(&slot) = self.by_id.get(&id) else { return Vec::new() };
        let body: Vec<PackedWord> = self.note(slot).map(|note| note.body().collect()).unwrap_or_default();
        let mut found = self.notes_named_in(&body);
        found.retain(|other| *other != id);
        found
    }

    pub(super) fn in_text(&self, text: &FoldedWords) -> Vec<NodeId> {
        let number = |word| self.vocabulary.find(word).unwrap_or(UNKNOWN);
        let words: Vec<PackedWord> = text.iter().map(|(word, spelling)| (number(word), spelling)).collect();
        self.notes_named_in(&words)
    }

    /// The notes whose name occurs in the text, sorted by id.
    fn notes_named_in(&self, text: &[PackedWord]) -> Vec<NodeId> {
        let mut found = Vec::new();
        for start in 0..text.len() {
            let from = text.get(start..).unwrap_or_default();
            if !from.first().is_some_and(|(_, spelling)| spelling.begins_name) {
                continue;
            }
            self.names.prefixes_of(from.iter().map(|(number, _)| *number), |count, candidates| {
                let name: Vec<u32> = from.iter().take(count).map(|(number, _)| *number).collect();
                if self.rarest(name.iter().copied()).is_some() {
                    found.extend(self.notes_with_name(&name, candidates).iter().map(|note| note.id));
                }
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(super) fn mentioning(&self, id: NodeId) -> Vec<NodeId> {
        let slot = self.by_id.get(&id);
        let names = slot.and_then(|slot| self.note(*slot)).map(IndexedNote::names).unwrap_or_default();
        let mut found: Vec<NodeId> = names.iter().flat_map(|name| self.notes_mentioning(name)).collect();
        found.retain(|other| *other != id);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The numbers of the known words of a text.
    pub(super) fn word_numbers(&self, text: &FoldedWords) -> FxHashSet<u32> {
        text.iter().filter_map(|(word, _)| self.vocabulary.find(word)).collect()
    }

    /// The other notes that share a name with a note, each once, with the number of bodies that contain the rarest
    /// of these names. Notes with the rarest names come first.
    pub(super) fn sharing_names(
        &self,
        id: NodeId,
        max: usize,
        excluded: &FxHashSet<u32>,
    ) -> Vec<(NodeId, usize)> {
        let Some(&own) = self.by_id.get(&id) else { return Vec::new() };
        let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
        seen.insert(own);
        for (count, name) in self.linking_names(own, max, excluded) {
            let others = self.vocabulary.bodies(&[name]).into_iter().filter(|slot| seen.insert(*slot));
            found.extend(others.filter_map(|slot| Some((self.note(slot)?.id, count))));
        }
        found
    }

    /// The names that two notes share, rarest first.
    pub(super) fn names_between(
        &self,
        [one, other]: [NodeId; 2],
        max: usize,
        excluded: &FxHashSet<u32>,
    ) -> Vec<&str> {
        let (Some(&one), Some(&other)) = (self.by_id.get(&one), self.by_id.get(&other)) else {
            return Vec::new();
        };
        let mut names = self.linking_names(one, max, excluded);
        names.retain(|(_, name)| self.vocabulary.bodies(&[*name]).binary_search(&other).is_ok());
        names.into_iter().map(|(_, name)| self.vocabulary.word(name)).collect()
    }

    /// The distinctive names in a body that occur in at most `max` bodies and are not `excluded`, with the number of
    /// bodies that contain each, rarest first.
    fn linking_names(&self, slot: u32, max: usize, excluded: &FxHashSet<u32>) -> Vec<(usize, u32)> {
        let words = self.note(slot).into_iter().flat_map(IndexedNote::body);
        let links = |&(count, number): &(usize, u32)| {
            (2..=max.min(MAX_BODIES)).contains(&count)
                && self.vocabulary.is_name(number)
                && is_distinctive(self.vocabulary.word(number))
                && !excluded.contains(&number)
        };
        let mut names: Vec<(usize, u32)> =
            words.map(|(number, _)| (self.vocabulary.count(number), number)).filter(links).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The notes whose body contains a name, in no particular order.
    fn notes_mentioning(&self, name: &[u32]) -> Vec<NodeId> {
        let is_specific = self.rarest(name.iter().copied()).is_some();
        if !is_specific || self.notes_with_name(name, self.names.candidates(name)).is_empty() {
            return Vec::new();
        }
        let mut body: Vec<PackedWord> = Vec::new();
        let mut found = Vec::new();
        for note in self.vocabulary.bodies(name).iter().filter_map(|slot| self.note(*slot)) {
            if cancellation::is_requested() {
                break;
            }
            body.clear();
            body.extend(note.body());
            let matches = |at: &[PackedWord]| {
                at.first().is_some_and(|(_, spelling)| spelling.begins_name)
                    && at.iter().map(|(number, _)| number).eq(name.iter())
            };
            if body.windows(name.len()).any(matches) {
                found.push(note.id);
            }
        }
        found
    }

    /// The candidates that have a name; none if they are too many.
    fn notes_with_name(&self, name: &[u32], candidates: &[u32]) -> Vec<&IndexedNote> {
        let notes = candidates.iter().filter_map(|slot| self.note(*slot));
        let notes_with_name: Vec<_> =
            notes.filter(|note| note.has_name(name)).take(MAX_NOTES_PER_NAME + 1).collect();
        if notes_with_name.len() > MAX_NOTES_PER_NAME { Vec::new() } else { notes_with_name }
    }

    /// The word of a name that the fewest bodies contain; `None` if even that word is too common.
    fn rarest(&self, title: impl Iterator<Item = u32>) -> Option<u32> {
        let rarest = title.min_by_key(|number| self.vocabulary.count(*number))?;
        (self.vocabulary.count(rarest) <= MAX_BODIES).then_some(rarest)
    }

    fn note(&self, slot: u32) -> Option<&IndexedNote> {
        self.notes.get(slot as usize)?.as_ref()
    }
}

/// The packed words of a note: see [`IndexedNote`].
pub(super) fn packed_note(names: &[Vec<u32>], body: impl Iterator<Item = PackedWord>) -> Vec<u8> {
    let mut words = Vec::new();
    let counts = std::iter::once(names.len()).chain(names.iter().map(Vec::len));
    let numbers = counts.map(|count| count as u32).chain(names.iter().flatten().copied());
    let no_spelling = Spelling { begins_name: false, is_evidence: false };
    numbers.for_each(|number| packed::push(&mut words, (number, no_spelling)));
    body.for_each(|word| packed::push(&mut words, word));
    words
}

/// Whether a name is distinctive enough to relate notes. `I'm`, `Al`, `7:30pm`, `well-known`, `Monday`, a date and
/// `SEV1` are not.
pub(super) fn is_distinctive(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_alphabetic() || is_combining_mark(c) || matches!(c, '\'' | '’'));
    let is_long = name.chars().filter(|c| c.is_alphanumeric()).nth(2).is_some();
    is_long && (is_word || is_name(name)) && !is_stop_word(name) && !is_day_or_month(name) && !is_label(name)
}

/// Whether a name is a date, a number of several parts, or a word with a number of at most two digits.
fn is_label(name: &str) -> bool {
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    let stem = name.get(..name.len() - digits).unwrap_or_default();
    let is_numbered = (1..=2).contains(&digits) && stem.chars().all(char::is_alphabetic);
    is_numbered || !name.contains(char::is_alphabetic)
}

/// The distinct words of a body, each with its strongest evidence for or against being a name.
fn distinct(body: &[PackedWord]) -> Vec<(u32, NameEvidence)> {
    let evidence = |&(number, spelling): &PackedWord| match spelling {
        Spelling { is_evidence: false, .. } => (number, NameEvidence::Neutral),
        Spelling { begins_name: true, .. } => (number, NameEvidence::Name),
        Spelling { begins_name: false, .. } => (number, NameEvidence::Plain),
    };
    let mut words: Vec<(u32, NameEvidence)> = body.iter().map(evidence).collect();
    // The strongest evidence sorts first, so it is the one kept.
    words.sort_unstable();
    words.dedup_by_key(|(number, _)| *number);
    words
}
