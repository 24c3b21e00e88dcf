//! A trie of titles by words: finds all titles that start at a word of a text in one traversal.

use rustc_hash::FxHashMap;

const ROOT: u32 = 0;

/// The trie of titles, with the slots of the notes that have them.
#[derive(Clone, Default)]
pub(super) struct NameTrie {
    /// The edges: from a trie node and a word to the next trie node.
    steps: FxHashMap<(u32, u32), u32>,
    /// The number of children of each trie node. Empty until the first title is added.
    child_counts: Vec<u32>,
    /// The slots of the notes whose title ends at a trie node.
    owners: FxHashMap<u32, Vec<u32>>,
    /// Unused trie nodes.
    free: Vec<u32>,
}

impl NameTrie {
    /// Adds a title to a note that does not have it yet.
    pub(super) fn add(&mut self, words: &[u32], slot: u32) {
        if self.child_counts.is_empty() {
            self.child_counts.push(0);
        }
        let mut node = ROOT;
        for &word in words {
            node = match self.steps.get(&(node, word)) {
                Some(next) => *next,
                None => self.add_child(node, word),
            };
        }
        let owners = self.owners.entry(node).or_default();
        let at = owners.partition_point(|other| *other < slot);
        owners.insert(at, slot);
    }

    /// Adds a child to a trie node.
    fn add_child(&mut self, node: u32, word: u32) -> u32 {
        let next = self.free.pop().unwrap_or_else(|| {
            self.child_counts.push(0);
            self.child_counts.len() as u32 - 1
        });
        self.steps.insert((node, word), next);
        if let Some(count) = self.child_counts.get_mut(node as usize) {
            *count += 1;
        }
        next
    }

    /// Removes a title from a note.
    pub(super) fn remove(&mut self, words: &[u32], slot: u32) {
        let mut path = vec![ROOT];
        for &word in words {
            let next = path.last().and_then(|node| self.steps.get(&(*node, word)));
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
        // Prunes the path upwards while a trie node has no children and no owners.
        for (step, &word) in path.windows(2).zip(words).rev() {
            let [before, node] = *step else { return };
            if self.child_counts.get(node as usize).is_some_and(|count| *count > 0)
                || self.owners.contains_key(&node)
            {
                return;
            }
            self.steps.remove(&(before, word));
            self.free.push(node);
            if let Some(count) = self.child_counts.get_mut(before as usize) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// The size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let owners: usize = self.owners.values().map(|owners| owners.capacity() * 4 + 28).sum();
        owners + self.steps.len() * 13 + (self.child_counts.len() + self.free.len()) * 4
    }

    /// The slots of the notes that have a title.
    pub(super) fn owners(&self, words: &[u32]) -> &[u32] {
        let end = words.iter().try_fold(ROOT, |node, word| self.steps.get(&(node, *word)).copied());
        end.and_then(|node| self.owners.get(&node)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Calls `found` for every title that is a prefix of the words, with its length in words and its owners.
    pub(super) fn prefixes_of(&self, words: impl Iterator<Item = u32>, mut found: impl FnMut(usize, &[u32])) {
        let mut node = ROOT;
        for (count, word) in (1..).zip(words) {
            let Some(&next) = self.steps.get(&(node, word)) else { return };
            node = next;
            if let Some(owners) = self.owners.get(&node) {
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
        /// After any additions and removals the trie agrees with a plain list of titles, and it is empty when all
        /// titles are removed.
        #[test]
        fn the_trie_agrees_with_a_list_of_titles(
            steps in proptest::collection::vec((proptest::collection::vec(0u32..3, 1..4), 0u32..3, any::<bool>()), 0..40),
            text in proptest::collection::vec(0u32..3, 0..6),
        ) {
            let mut titles = NameTrie::default();
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
