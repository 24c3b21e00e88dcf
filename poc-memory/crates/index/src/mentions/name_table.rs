//! A hash table of names by their words: finds all names that start at a word of a text.
//!
//! The table has hashes of names and not their words, so its answers are candidates: the caller compares their names.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The slots of the notes with a name, by the hash of its words.
#[derive(Clone, Default)]
pub(super) struct NameTable {
    owners: FxHashMap<u64, Owners>,
    /// The number of words of the longest name with these two first words, by their hash. It stays when a name is
    /// removed: it only limits how far a search goes.
    longest: FxHashMap<u64, u32>,
}

/// The slots of the notes whose name has a hash, ascending. Most names have one.
#[derive(Clone)]
enum Owners {
    One(u32),
    Many(Vec<u32>),
}

impl Owners {
    fn slots(&self) -> &[u32] {
        match self {
            Owners::One(slot) => std::slice::from_ref(slot),
            Owners::Many(slots) => slots,
        }
    }

    fn add(&mut self, slot: u32) {
        let mut slots = match self {
            Owners::One(other) => vec![*other],
            Owners::Many(slots) => std::mem::take(slots),
        };
        let at = slots.partition_point(|other| *other < slot);
        slots.insert(at, slot);
        *self = Owners::Many(slots);
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
        self.owners.reserve(names);
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
                self.owners.entry(hash).and_modify(|owners| owners.add(slot)).or_insert(Owners::One(slot));
            }
        }
    }

    /// Removes a name from a note.
    pub(super) fn remove(&mut self, words: &[u32], slot: u32) {
        let Some(hash) = hashes(words.iter().copied()).last() else { return };
        let Some(owners) = self.owners.get_mut(&hash) else { return };
        if let Owners::Many(slots) = owners {
            // One slot may be there twice, for two names with the same hash.
            if let Ok(at) = slots.binary_search(&slot) {
                slots.remove(at);
            }
        }
        if matches!(owners, Owners::One(other) if *other == slot) || owners.slots().is_empty() {
            self.owners.remove(&hash);
        }
    }

    /// The size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let many = |owners: &Owners| match owners {
            Owners::One(_) => 0,
            Owners::Many(slots) => slots.capacity() * 4,
        };
        let owners: usize = self.owners.values().map(many).sum();
        owners
            + self.owners.len() * (size_of::<(u64, Owners)>() + 1)
            + self.longest.len() * (size_of::<(u64, u32)>() + 1)
    }

    /// The slots of the notes that may have a name.
    pub(super) fn candidates(&self, words: &[u32]) -> &[u32] {
        let hash = hashes(words.iter().copied()).last();
        hash.and_then(|hash| self.owners.get(&hash)).map(Owners::slots).unwrap_or_default()
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
            if let Some(owners) = self.owners.get(&hash) {
                found(count as usize, owners.slots());
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

    proptest! {
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
            names.prefixes_of(text.iter().copied(), |count, owners| {
                found.extend(owners.iter().map(|slot| (text[..count].to_vec(), *slot)));
            });
            let expected = list.iter().filter(|(words, _)| text.starts_with(words)).cloned();
            prop_assert_eq!(found, expected.collect::<BTreeSet<_>>());
            for (words, slot) in &list {
                prop_assert!(names.candidates(words).contains(slot));
            }
            for (words, slot) in &list {
                names.remove(words, *slot);
            }
            prop_assert!(names.owners.is_empty());
        }
    }
}
