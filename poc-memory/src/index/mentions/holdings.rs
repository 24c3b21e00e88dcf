//! The notes with their titles and the words of their bodies, and what follows from them.

use super::packed::{self, Word};
use super::titles::Titles;
use super::vocabulary::Vocabulary;
use super::words::Folded;
use super::{COMMON, SHARED};
use crate::graph::NodeId;
use rustc_hash::FxHashMap;

/// A word that no note has: no title leads over it.
const UNKNOWN: u32 = u32::MAX;

/// What the index holds. Slots of removed notes are used again.
#[derive(Clone, Default)]
pub(super) struct Holdings {
    vocabulary: Vocabulary,
    titles: Titles,
    notes: Vec<Option<Note>>,
    free: Vec<u32>,
    by_id: FxHashMap<NodeId, u32>,
}

/// A note: the words of its title, how many they are in front, and of its body.
#[derive(Clone)]
struct Note {
    id: NodeId,
    words: Box<[u8]>,
}

impl Note {
    fn title(&self) -> Vec<u32> {
        let mut words = packed::words(&self.words);
        let count = words.next().map_or(0, |(count, _)| count as usize);
        words.take(count).map(|(number, _)| number).collect()
    }

    fn body(&self) -> impl Iterator<Item = Word> {
        let mut words = packed::words(&self.words);
        let count = words.next().map_or(0, |(count, _)| count as usize);
        words.skip(count)
    }
}

impl Holdings {
    /// Puts a note in place of what it was.
    pub(super) fn put(&mut self, id: NodeId, title: &Folded, body: &Folded) {
        let title: Vec<Word> = self.numbered(title);
        let body: Vec<Word> = self.numbered(body);
        self.put_words(id, &title, &body);
    }

    fn numbered(&mut self, words: &Folded) -> Vec<Word> {
        words.iter().map(|(word, capital)| (self.vocabulary.number(word), capital)).collect()
    }

    fn put_words(&mut self, id: NodeId, title: &[Word], body: &[Word]) {
        let mut words = Vec::new();
        packed::push(&mut words, (title.len() as u32, false));
        title.iter().chain(body).for_each(|word| packed::push(&mut words, *word));
        let words = words.into_boxed_slice();
        if let Some(slot) = self.by_id.get(&id)
            && self.note(*slot).is_some_and(|note| note.words == words)
        {
            return;
        }
        self.remove(id);
        let slot = self.free.pop().unwrap_or(self.notes.len() as u32);
        for number in distinct(body) {
            self.vocabulary.hold(number, slot);
        }
        if !title.is_empty() {
            let title: Vec<u32> = title.iter().map(|(number, _)| *number).collect();
            self.titles.add(&title, slot);
        }
        let note = Some(Note { id, words });
        match self.notes.get_mut(slot as usize) {
            Some(place) => *place = note,
            None => self.notes.push(note),
        }
        self.by_id.insert(id, slot);
    }

    /// Removes a note; nothing happens when it is not there.
    pub(super) fn remove(&mut self, id: NodeId) {
        let Some(slot) = self.by_id.remove(&id) else { return };
        let Some(note) = self.notes.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free.push(slot);
        let title = note.title();
        if !title.is_empty() {
            self.titles.remove(&title, slot);
        }
        let body: Vec<Word> = note.body().collect();
        for number in distinct(&body) {
            if self.vocabulary.release(number, slot) {
                let with = |(slot, note): (u32, &Option<Note>)| {
                    let mut words = note.as_ref()?.body();
                    words.any(|(other, _)| other == number).then_some(slot)
                };
                let slots = (0u32..).zip(&self.notes).filter_map(with).collect();
                self.vocabulary.restore(number, slots);
            }
        }
    }

    /// Every note with its title and its body, by slot.
    pub(super) fn notes(&self) -> impl Iterator<Item = (NodeId, Vec<u32>, Vec<Word>)> {
        self.notes.iter().flatten().map(|note| (note.id, note.title(), note.body().collect()))
    }

    /// Bytes in memory, the room that hash tables keep free apart.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.notes.iter().flatten().map(|note| note.words.len()).sum();
        let notes =
            self.notes.len() * size_of::<Option<Note>>() + self.by_id.len() * size_of::<(NodeId, u32)>();
        words + notes + self.vocabulary.bytes() + self.titles.bytes()
    }

    /// The words by their numbers.
    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// As [`Holdings::put`] for a note that is not there; the words have numbers already.
    pub(super) fn load(&mut self, id: NodeId, title: &[u32], body: &[Word]) {
        let title: Vec<Word> = title.iter().map(|number| (*number, false)).collect();
        self.put_words(id, &title, body);
    }

    /// Gives a word the next number.
    pub(super) fn learn(&mut self, word: &str) -> u32 {
        self.vocabulary.number(word)
    }

    pub(super) fn from(&self, id: NodeId) -> Vec<NodeId> {
        let Some(&slot) = self.by_id.get(&id) else { return Vec::new() };
        let body: Vec<Word> = self.note(slot).map(|note| note.body().collect()).unwrap_or_default();
        let mut found = self.named(&body);
        found.retain(|other| *other != id);
        found
    }

    pub(super) fn in_text(&self, text: &Folded) -> Vec<NodeId> {
        let number = |word| self.vocabulary.find(word).unwrap_or(UNKNOWN);
        let words: Vec<Word> = text.iter().map(|(word, capital)| (number(word), capital)).collect();
        self.named(&words)
    }

    /// The notes whose title stands in a text, by id.
    fn named(&self, text: &[Word]) -> Vec<NodeId> {
        let mut found = Vec::new();
        for start in 0..text.len() {
            let from = text.get(start..).unwrap_or_default();
            if !from.first().is_some_and(|(_, capital)| *capital) {
                continue;
            }
            self.titles.begin(from.iter().map(|(number, _)| *number), |count, owners| {
                let title = from.iter().take(count).map(|(number, _)| *number);
                if owners.len() <= SHARED && self.rarest(title).is_some() {
                    found.extend(owners.iter().filter_map(|slot| Some(self.note(*slot)?.id)));
                }
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(super) fn to(&self, id: NodeId) -> Vec<NodeId> {
        let slot = self.by_id.get(&id);
        let title = slot.and_then(|slot| self.note(*slot)).map(Note::title).unwrap_or_default();
        let rarest = self.rarest(title.iter().copied());
        let Some(rarest) = rarest.filter(|_| self.titles.owners(&title).len() <= SHARED) else {
            return Vec::new();
        };
        let mut body: Vec<Word> = Vec::new();
        let mut found = Vec::new();
        for note in self.vocabulary.bodies(rarest).iter().filter_map(|slot| self.note(*slot)) {
            body.clear();
            body.extend(note.body());
            let names = |at: &[Word]| {
                at.first().is_some_and(|(_, capital)| *capital)
                    && at.iter().map(|(number, _)| number).eq(title.iter())
            };
            if note.id != id && body.windows(title.len()).any(names) {
                found.push(note.id);
            }
        }
        found.sort_unstable();
        found
    }

    /// The word of a title that the fewest bodies have; `None` when those are too many.
    fn rarest(&self, title: impl Iterator<Item = u32>) -> Option<u32> {
        let rarest = title.min_by_key(|number| self.vocabulary.count(*number))?;
        (self.vocabulary.count(rarest) <= COMMON).then_some(rarest)
    }

    fn note(&self, slot: u32) -> Option<&Note> {
        self.notes.get(slot as usize)?.as_ref()
    }
}

/// The numbers of words, each once.
fn distinct(words: &[Word]) -> Vec<u32> {
    let mut numbers: Vec<u32> = words.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
