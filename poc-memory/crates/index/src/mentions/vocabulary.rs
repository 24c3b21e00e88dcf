//! The vocabulary: the numbers of words, and the bodies that contain them.

use crate::packed_list::PackedList;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// The maximum number of bodies that contain the rarest word of a name. Names without such a rare word are ignored.
pub(super) const MAX_BODIES: usize = 2_048;

/// All words that bodies and names contain or contained, numbered in the order they were added.
#[derive(Clone, Default)]
pub(super) struct MentionVocabulary {
    numbers: HashTable<u32>,
    text: String,
    ends: Vec<u32>,
    bodies: Vec<WordBodies>,
}

/// The evidence in one body for whether a word is a name, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameEvidence {
    /// It occurs at least once as a name, in a position where the spelling is evidence.
    Name,
    /// It occurs at least once as a plain word, and never as a name.
    Plain,
    /// It occurs only in positions where the spelling is not evidence.
    Neutral,
}

/// The bodies that contain a word.
#[derive(Clone, Debug, Default)]
pub(super) struct WordBodies {
    pub(super) count: u32,
    /// The number of bodies with evidence that it is a name, and with evidence that it is a plain word.
    pub(super) names: u32,
    pub(super) plain: u32,
    /// Their slots, ascending. Empty if there were too many to store.
    pub(super) slots: PackedList<u32>,
}

impl WordBodies {
    /// Whether the slots are stored.
    pub(super) fn has_slots(&self) -> bool {
        self.slots.len() == self.count as usize
    }
}

impl MentionVocabulary {
    /// The number of a known word.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.numbers.find(hash(word), |&number| self.word(number) == word).copied()
    }

    /// The number of a word, which is added if it is new.
    pub(super) fn get_or_insert(&mut self, word: &str) -> u32 {
        self.add_word(word, WordBodies::default()).unwrap_or_else(|number| number)
    }

    /// Adds a word with the bodies that contain it. Returns its number; as an error if the word exists.
    fn add_word(&mut self, word: &str, bodies: WordBodies) -> Result<u32, u32> {
        let MentionVocabulary { numbers, text, ends, .. } = self;
        let is_equal = |&number: &u32| word_in(text, ends, number) == word;
        match numbers.entry(hash(word), is_equal, |&number| hash(word_in(text, ends, number))) {
            Entry::Occupied(known) => Err(*known.get()),
            Entry::Vacant(free) => {
                let number = ends.len() as u32;
                free.insert(number);
                text.push_str(word);
                ends.push(text.len() as u32);
                self.bodies.push(bodies);
                Ok(number)
            }
        }
    }

    /// Restores words with the bodies that contain them; `None` if a word is repeated. `size` is the number of words.
    pub(super) fn restore_words<'a>(
        words: impl Iterator<Item = (&'a str, WordBodies)>,
        size: usize,
    ) -> Option<MentionVocabulary> {
        let mut vocabulary = MentionVocabulary {
            numbers: HashTable::with_capacity(size),
            ends: Vec::with_capacity(size),
            bodies: Vec::with_capacity(size),
            text: String::new(),
        };
        for (word, bodies) in words {
            vocabulary.add_word(word, bodies).ok()?;
        }
        Some(vocabulary)
    }

    /// The bodies that contain a word.
    pub(super) fn bodies_with(&self, number: u32) -> Option<&WordBodies> {
        self.bodies.get(number as usize)
    }

    /// The size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.bodies.iter().map(|bodies| bodies.slots.bytes()).sum();
        slots + self.bodies.len() * (size_of::<WordBodies>() + 4 + 5) + self.text.len()
    }

    /// The word with the given number.
    pub(super) fn word(&self, number: u32) -> &str {
        word_in(&self.text, &self.ends, number)
    }

    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of bodies that contain a word.
    pub(super) fn count(&self, number: u32) -> usize {
        self.bodies.get(number as usize).map_or(0, |bodies| bodies.count as usize)
    }

    /// Whether a word is a name: the bodies with evidence for it are at least three times as many as those with
    /// evidence against it. Some are allowed because people also write names in small letters.
    pub(super) fn is_name(&self, number: u32) -> bool {
        self.bodies
            .get(number as usize)
            .is_some_and(|bodies| bodies.names > 0 && bodies.names >= 3 * bodies.plain)
    }

    /// The slots of the bodies that contain all of the words, ascending. Words whose slots are not stored are ignored;
    /// the result is empty if the slots of no word are stored.
    pub(super) fn bodies(&self, numbers: &[u32]) -> Vec<u32> {
        let bodies = numbers.iter().filter_map(|number| self.bodies.get(*number as usize));
        let mut lists: Vec<&[u32]> =
            bodies.filter(|bodies| bodies.has_slots()).map(|bodies| bodies.slots.items()).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let Some((fewest, others)) = lists.split_first() else { return Vec::new() };
        let mut slots = fewest.to_vec();
        for mut other in others.iter().copied() {
            slots.retain(|slot| {
                other = gallop(other, *slot);
                other.first() == Some(slot)
            });
        }
        slots
    }

    /// Records that a body contains a word that it did not contain before.
    pub(super) fn add_body(&mut self, number: u32, evidence: NameEvidence, slot: u32) {
        let Some(bodies) = self.bodies.get_mut(number as usize) else { return };
        if bodies.has_slots() {
            bodies.slots.change(|slots| {
                // New notes usually have the highest slot.
                let is_last = slots.last().is_none_or(|last| *last < slot);
                let at = if is_last { slots.len() } else { slots.partition_point(|other| *other < slot) };
                slots.insert(at, slot);
            });
        }
        bodies.count += 1;
        bodies.names += u32::from(evidence == NameEvidence::Name);
        bodies.plain += u32::from(evidence == NameEvidence::Plain);
        // The limit is higher than `MAX_BODIES`, so that slots are not dropped and restored alternately.
        if bodies.count as usize > 2 * MAX_BODIES {
            bodies.slots = PackedList::default();
        }
    }

    /// Records that a body no longer contains a word; `evidence` must be that given to [`MentionVocabulary::add_body`].
    /// Returns `true` if the word is no longer common but its slots are not stored. The caller must then pass
    /// them to [`MentionVocabulary::restore`].
    pub(super) fn remove_body(&mut self, number: u32, evidence: NameEvidence, slot: u32) -> bool {
        let Some(bodies) = self.bodies.get_mut(number as usize) else { return false };
        if bodies.has_slots()
            && let Ok(at) = bodies.slots.items().binary_search(&slot)
        {
            bodies.slots.change(|slots| slots.remove(at));
        }
        bodies.count = bodies.count.saturating_sub(1);
        bodies.names = bodies.names.saturating_sub(u32::from(evidence == NameEvidence::Name));
        bodies.plain = bodies.plain.saturating_sub(u32::from(evidence == NameEvidence::Plain));
        bodies.count as usize <= MAX_BODIES && !bodies.has_slots()
    }

    /// Stores the slots of all bodies that contain a word, ascending.
    pub(super) fn restore(&mut self, number: u32, slots: Vec<u32>) {
        if let Some(bodies) = self.bodies.get_mut(number as usize) {
            (bodies.count, bodies.slots) = (slots.len() as u32, slots.into());
        }
    }
}

/// The part of a sorted list from a value on, by galloping search, which is fast if the value is near the start.
fn gallop(list: &[u32], value: u32) -> &[u32] {
    let mut bound = 1;
    while list.get(bound).is_some_and(|other| *other < value) {
        bound *= 2;
    }
    let (near, _) = list.split_at(bound.min(list.len()));
    list.get(near.partition_point(|other| *other < value)..).unwrap_or_default()
}

fn word_in<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let end = |number: Option<u32>| number.and_then(|number| ends.get(number as usize)).copied().unwrap_or(0);
    let (start, end) = (end(number.checked_sub(1)), end(Some(number)));
    text.get(start as usize..end as usize).unwrap_or_default()
}

fn hash(word: &str) -> u64 {
    FxBuildHasher.hash_one(word)
}
