//! Words as numbers, and which bodies have them.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Bodies that may have the rarest word of a name.
pub(super) const COMMON: usize = 2_048;

/// Every word that a body or a title has or had, numbered in the order they came in.
#[derive(Clone, Default)]
pub(super) struct Vocabulary {
    numbers: HashTable<u32>,
    text: String,
    ends: Vec<u32>,
    bodies: Vec<WordBodies>,
}

/// What a body says about whether a word is a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameEvidence {
    /// Somewhere as a name, by a spelling that tells.
    Name,
    /// Never so, but somewhere as a plain word.
    Plain,
    /// Only where its spelling does not tell.
    Neutral,
}

/// The bodies that have a word.
#[derive(Clone, Debug, Default)]
struct WordBodies {
    count: u32,
    /// How many of them have it as a name, and as a plain word.
    names: u32,
    plain: u32,
    /// Their slots, in order; empty when they were too many to be kept.
    slots: Vec<u32>,
}

impl WordBodies {
    fn has_slots(&self) -> bool {
        self.slots.len() == self.count as usize
    }
}

impl Vocabulary {
    /// The number of a word, if it has one.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.numbers.find(hash(word), |&number| self.word(number) == word).copied()
    }

    /// The number of a word, a new one when it has none.
    pub(super) fn get_or_insert(&mut self, word: &str) -> u32 {
        if let Some(number) = self.find(word) {
            return number;
        }
        let number = self.ends.len() as u32;
        self.text.push_str(word);
        self.ends.push(self.text.len() as u32);
        self.bodies.push(WordBodies::default());
        let Vocabulary { numbers, text, ends, .. } = self;
        numbers.insert_unique(hash(word), number, |&number| hash(word_in(text, ends, number)));
        number
    }

    /// Bytes in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.bodies.iter().map(|bodies| bodies.slots.capacity() * 4).sum();
        slots + self.bodies.len() * (size_of::<WordBodies>() + 4 + 5) + self.text.len()
    }

    /// The word with a number.
    pub(super) fn word(&self, number: u32) -> &str {
        word_in(&self.text, &self.ends, number)
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bodies have a word.
    pub(super) fn count(&self, number: u32) -> usize {
        self.bodies.get(number as usize).map_or(0, |bodies| bodies.count as usize)
    }

    /// Whether a word is a name: at least three times as many bodies have it as one as have it as a plain
    /// word, so that a name is not lost that somebody wrote small.
    pub(super) fn is_name(&self, number: u32) -> bool {
        self.bodies.get(number as usize).is_some_and(|of| of.names > 0 && of.names >= 3 * of.plain)
    }

    /// The slots of the bodies that have all of some words, those apart that are too common to be kept; in
    /// order. None when all of them are.
    pub(super) fn bodies(&self, numbers: &[u32]) -> Vec<u32> {
        let bodies = numbers.iter().filter_map(|number| self.bodies.get(*number as usize));
        let mut lists: Vec<&[u32]> =
            bodies.filter(|bodies| bodies.has_slots()).map(|bodies| bodies.slots.as_slice()).collect();
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

    /// Notes that a body has a word that it did not have, and how.
    pub(super) fn add_body(&mut self, number: u32, evidence: NameEvidence, slot: u32) {
        let Some(bodies) = self.bodies.get_mut(number as usize) else { return };
        if bodies.has_slots() {
            let at = bodies.slots.partition_point(|other| *other < slot);
            bodies.slots.insert(at, slot);
        }
        bodies.count += 1;
        bodies.names += u32::from(evidence == NameEvidence::Name);
        bodies.plain += u32::from(evidence == NameEvidence::Plain);
        // Well above, so that a word near the border is not dropped and looked up in turns.
        if bodies.count as usize > 2 * COMMON {
            bodies.slots = Vec::new();
        }
    }

    /// Notes that a body has a word no more, which it had as [`Vocabulary::add_body`] was told. Whether the word is
    /// not common any more and the bodies that have it are not known: then [`Vocabulary::restore`] is to be told them.
    pub(super) fn remove_body(&mut self, number: u32, evidence: NameEvidence, slot: u32) -> bool {
        let Some(bodies) = self.bodies.get_mut(number as usize) else { return false };
        if bodies.has_slots()
            && let Ok(at) = bodies.slots.binary_search(&slot)
        {
            bodies.slots.remove(at);
        }
        bodies.count = bodies.count.saturating_sub(1);
        bodies.names = bodies.names.saturating_sub(u32::from(evidence == NameEvidence::Name));
        bodies.plain = bodies.plain.saturating_sub(u32::from(evidence == NameEvidence::Plain));
        bodies.count as usize <= COMMON && !bodies.has_slots()
    }

    /// The bodies that have a word, in order.
    pub(super) fn restore(&mut self, number: u32, slots: Vec<u32>) {
        if let Some(bodies) = self.bodies.get_mut(number as usize) {
            *bodies = WordBodies { count: slots.len() as u32, slots, ..*bodies };
        }
    }
}

/// The rest of a list in order, from a value on: a galloping search, quick where it comes soon.
fn gallop(list: &[u32], value: u32) -> &[u32] {
    let mut reach = 1;
    while list.get(reach).is_some_and(|other| *other < value) {
        reach *= 2;
    }
    let (near, _) = list.split_at(reach.min(list.len()));
    list.get(near.partition_point(|other| *other < value)..).unwrap_or_default()
}

fn word_in<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let end = |place: Option<u32>| place.and_then(|place| ends.get(place as usize)).copied().unwrap_or(0);
    let (start, end) = (end(number.checked_sub(1)), end(Some(number)));
    text.get(start as usize..end as usize).unwrap_or_default()
}

fn hash(word: &str) -> u64 {
    FxBuildHasher.hash_one(word)
}
