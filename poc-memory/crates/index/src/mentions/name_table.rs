//! A hash table of names by their words: finds all names that start at a word of a text.
//!
//! The table has hashes of names and not their words, so its answers are candidates: the caller compares their names.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The slots of the notes with a name, by the hash of its words.
#[derive(Clone, Default)]
pub(super) struct NameTable {
    slots: FxHashMap<u64, NoteSlots>,
    /// The number of words of the longest name with these two first words, by their hash. It stays when a name is
    /// removed: it only limits how far a search goes.
    longest: FxHashMap<u64, u32>,
}

/// The slots of the notes whose name has a hash, ascending. Most names have one.
#[derive(Clone)]
enum NoteSlots {
    One(u32),
    Many(Vec<u32>),
}

impl NoteSlots {
    fn as_slice(&self) -> &[u32] {
        match self {
            NoteSlots::One(slot) => std::slice::from_ref(slot),
            NoteSlots::Many(slots) => slots,
        }
    }

    fn add(&mut self, slot: u32) {
        let mut slots = match self {
            NoteSlots::One(other) => vec![*other],
            NoteSlots::Many(slots) => std::mem::take(slots),
        };
        let at = slots.partition_point(|other| *other < slot);
        slots.insert(at, slot);
        *self = NoteSlots::Many(slots);
    }
}

/// The hashes of the first word, the first two words, and so on.
fn hashes(words: impl Iterator<Item = u32>) -> impl Iterator<Item = u64> {
    let mut hasher = FxHasher::default();
    words.map(move |word| {
        // Zeros would not change the state of this hasher.
        hasher.write_u64(u64::from(word) + 1);
        hasher.finish()
    })
}

impl NameTable {
    /// Makes room for names.
    pub(super) fn reserve(&mut self, names: usize) {
        self.slots.reserve(names);
        self.longest.reserve(names);
    }

    /// Adds a name to a note that does not have it yet.
    pub(super) fn add(&mut self, words: &[u32], slot: u32) {
        for (count, hash) in (1u32..).zip(hashes(words.iter().copied())) {
            if count == 2 {
                let longest = self.longest.entry(hash).or_default();
                *longest = (*longest).max(words.len() as u32);
            }
            if count as usize == words.len() {
                self.slots.entry(hash).and_modify(|slots| slots.add(slot)).or_insert(NoteSlots::One(slot));
            }
        }
    }

    /// Removes a name from a note.
    pub(super) fn remove(&mut self, words: &[u32], slot: u32) {
        let Some(hash) = hashes(words.iter().copied()).last() else { return };
        let Some(slots) = self.slots.get_mut(&hash) else { return };
        if let NoteSlots::Many(many) = slots {
            // One slot may be there twice, for two names with the same hash.
            if let Ok(at) = many.binary_search(&slot) {
                many.remove(at);
            }
        }
        if matches!(slots, NoteSlots::One(other) if *other == slot) || slots.as_slice().is_empty() {
            self.slots.remove(&hash);
        }
    }

    /// The size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let many = |slots: &NoteSlots| match slots {
            NoteSlots::One(_) => 0,
            NoteSlots::Many(slots) => slots.capacity() * 4,
        };
        let slots: usize = self.slots.values().map(many).sum();
        slots
            + self.slots.len() * (size_of::<(u64, NoteSlots)>() + 1)
            + self.longest.len() * (size_of::<(u64, u32)>() + 1)
    }

    /// The slots of the notes that may have a name.
    pub(super) fn candidates(&self, words: &[u32]) -> &[u32] {
        let hash = hashes(words.iter().copied()).last();
        hash.and_then(|hash| self.slots.get(&hash)).map(NoteSlots::as_slice).unwrap_or_default()
    }

    /// Calls `found` for every name that may be a prefix of the words, with its length in words and the slots of the
    /// notes that may have it.
    pub(super) fn prefixes_of(&self, words: impl Iterator<Item = u32>, mut found: impl FnMut(usize, &[u32])) {
        let mut longest = 2;
        for (count, hash) in (1u32..).zip(hashes(words)) {
            if count == 2 {
                let Some(&with_both) = self.longest.get(&hash) else { return };
                longest = with_both;
            }
            if let Some(slots) = self.slots.get(&hash) {
                found(count as usize, slots.as_slice());
            }
            if count >= longest {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    poc_laws::laws! {
        /// After any additions and removals the table agrees with a plain list of names, and it is empty when all
        /// names are removed.
        #[test]
        fn the_table_agrees_with_a_list_of_names(
            steps in proptest::collection::vec((proptest::collection::vec(0u32..3, 1..4), 0u32..3, any::<bool>()), 0..40),
            text in proptest::collection::vec(0u32..3, 0..6),
        ) {
            let mut names = NameTable::default();
            let mut list: BTreeSet<(Vec<u32>, u32)> = BTreeSet::new();
            for (words, slot, add) in steps {
                let name = (words, slot);
                if add && list.insert(name.clone()) {
                    names.add(&name.0, slot);
                } else if !add && list.remove(&name) {
                    names.remove(&name.0, slot);
                }
            }
            let mut found = BTreeSet::new();
            names.prefixes_of(text.iter().copied(), |count, slots| {
                found.extend(slots.iter().map(|slot| (text[..count].to_vec(), *slot)));
            });
            let expected = list.iter().filter(|(words, _)| text.starts_with(words)).cloned();
            prop_assert_eq!(found, expected.collect::<BTreeSet<_>>());
            for (words, slot) in &list {
                prop_assert!(names.candidates(words).contains(slot));
            }
            for (words, slot) in &list {
                names.remove(words, *slot);
            }
            prop_assert!(names.slots.is_empty());
        }
    }
}
