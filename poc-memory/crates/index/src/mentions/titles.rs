//! Titles as a trie of words: which of them begin at a word of a text is found in one walk.

use rustc_hash::FxHashMap;

const ROOT: u32 = 0;

/// The titles, and the slots of the notes that have them.
#[derive(Clone, Default)]
pub(super) struct Titles {
    /// From a place by a word to the next.
    steps: FxHashMap<(u32, u32), u32>,
    /// How many steps lead on from each place; there is room for the root from the first step on.
    child_counts: Vec<u32>,
    /// Who has the title that ends at a place.
    owners: FxHashMap<u32, Vec<u32>>,
    /// Places that nobody leads to any more.
    free: Vec<u32>,
}

impl Titles {
    /// Gives a note a title that it does not have.
    pub(super) fn add(&mut self, words: &[u32], slot: u32) {
        if self.child_counts.is_empty() {
            self.child_counts.push(0);
        }
        let mut place = ROOT;
        for &word in words {
            place = match self.steps.get(&(place, word)) {
                Some(next) => *next,
                None => self.add_child(place, word),
            };
        }
        let owners = self.owners.entry(place).or_default();
        let at = owners.partition_point(|other| *other < slot);
        owners.insert(at, slot);
    }

    /// A new place behind another.
    fn add_child(&mut self, place: u32, word: u32) -> u32 {
        let next = self.free.pop().unwrap_or_else(|| {
            self.child_counts.push(0);
            self.child_counts.len() as u32 - 1
        });
        self.steps.insert((place, word), next);
        if let Some(count) = self.child_counts.get_mut(place as usize) {
            *count += 1;
        }
        next
    }

    /// Takes a note's title from it.
    pub(super) fn remove(&mut self, words: &[u32], slot: u32) {
        let mut path = vec![ROOT];
        for &word in words {
            let next = path.last().and_then(|place| self.steps.get(&(*place, word)));
            let Some(&next) = next else { return };
            path.push(next);
        }
        let Some(&last) = path.last() else { return };
        if let Some(owners) = self.owners.get_mut(&last) {
            owners.retain(|other| *other != slot);
            if owners.is_empty() {
                self.owners.remove(&last);
            }
        }
        // Back along the way, as long as nothing else leads on from there or ends there.
        for (step, &word) in path.windows(2).zip(words).rev() {
            let [before, place] = *step else { return };
            if self.child_counts.get(place as usize).is_some_and(|count| *count > 0)
                || self.owners.contains_key(&place)
            {
                return;
            }
            self.steps.remove(&(before, word));
            self.free.push(place);
            if let Some(count) = self.child_counts.get_mut(before as usize) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Bytes in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let owners: usize = self.owners.values().map(|owners| owners.capacity() * 4 + 28).sum();
        owners + self.steps.len() * 13 + (self.child_counts.len() + self.free.len()) * 4
    }

    /// The notes that have a title.
    pub(super) fn owners(&self, words: &[u32]) -> &[u32] {
        let end = words.iter().try_fold(ROOT, |place, word| self.steps.get(&(place, *word)).copied());
        end.and_then(|place| self.owners.get(&place)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Tells `found` of every title that the words begin with: how many words it has, and who has it.
    pub(super) fn prefixes_of(&self, words: impl Iterator<Item = u32>, mut found: impl FnMut(usize, &[u32])) {
        let mut place = ROOT;
        for (count, word) in (1..).zip(words) {
            let Some(&next) = self.steps.get(&(place, word)) else { return };
            place = next;
            if let Some(owners) = self.owners.get(&place) {
                found(count, owners);
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
        /// Whatever was added and removed: what begins a text is what a list of titles says, and nothing
        /// is left when all are gone.
        #[test]
        fn it_is_the_list_of_its_titles(
            steps in proptest::collection::vec((proptest::collection::vec(0u32..3, 1..4), 0u32..3, any::<bool>()), 0..40),
            text in proptest::collection::vec(0u32..3, 0..6),
        ) {
            let mut titles = Titles::default();
            let mut list: BTreeSet<(Vec<u32>, u32)> = BTreeSet::new();
            for (words, slot, add) in steps {
                let title = (words, slot);
                if add && list.insert(title.clone()) {
                    titles.add(&title.0, slot);
                } else if !add && list.remove(&title) {
                    titles.remove(&title.0, slot);
                }
            }
            let mut found = BTreeSet::new();
            titles.prefixes_of(text.iter().copied(), |count, owners| {
                found.extend(owners.iter().map(|slot| (text[..count].to_vec(), *slot)));
            });
            let expected = list.iter().filter(|(words, _)| text.starts_with(words)).cloned();
            prop_assert_eq!(found, expected.collect::<BTreeSet<_>>());
            for (words, slot) in &list {
                prop_assert!(titles.owners(words).contains(slot));
            }
            for (words, slot) in &list {
                titles.remove(words, *slot);
            }
            prop_assert!(titles.steps.is_empty() && titles.owners.is_empty());
        }
    }
}
