//! The live nodes with each keyword, updated incrementally with every change.
//!
//! The nodes of a keyword form a chain of small blocks. A write copies 16 blocks if they are shared, so small blocks
//! keep a new view cheap even if every node has the keyword. A node takes about five bytes, and a block takes eight
//! more.

use super::{Ix, View};
use crate::Column;
use crate::counting_sort::grouped;
use crate::lists::Lists;

/// Maximum number of nodes in a block.
const BLOCK_CAPACITY: usize = 32;
/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// The nodes of each keyword, in the order in which they got the keyword.
#[derive(Clone, Debug, Default)]
pub(super) struct KeywordNodes {
    /// The newest block of each keyword, by keyword number.
    newest: Column<u32>,
    blocks: Lists<Vec<Ix>>,
    /// The next older block of each block. For a free block, the next free one.
    older: Column<u32>,
    /// The first free block plus 1, or 0 if there is none.
    free: u32,
}

impl KeywordNodes {
    /// Builds the lists from the keywords of each node.
    pub(super) fn of<'a>(keywords: impl Iterator<Item = (Ix, &'a [u32])> + Clone) -> KeywordNodes {
        let listed = keywords.flat_map(|(ix, words)| words.iter().map(move |&word| (word, ix)));
        let count = listed.clone().map(|(word, _)| word as usize + 1).max().unwrap_or(0);
        let (starts, nodes) = grouped(count, listed);
        let mut lists = KeywordNodes::default();
        let mut ends = vec![0];
        for (start, end) in starts.iter().zip(starts.iter().skip(1)) {
            let first = lists.older.len() as u32;
            for end in (*start..*end).step_by(BLOCK_CAPACITY).map(|block| (block + BLOCK_CAPACITY).min(*end))
            {
                ends.push(end);
                let block = lists.older.len() as u32;
                lists.older.push(if block == first { NONE } else { block - 1 });
            }
            let last = lists.older.len() as u32;
            lists.newest.push(if last == first { NONE } else { last - 1 });
        }
        lists.blocks = Lists::from_rows(&ends, &nodes);
        lists
    }

    /// The nodes with a keyword, most recently added first.
    fn newest_first(&self, word: u32) -> impl Iterator<Item = Ix> {
        self.chain(word).flat_map(|block| self.block(block).iter().rev().copied())
    }

    fn add(&mut self, word: u32, ix: Ix) {
        let newest = self.newest_block(word);
        let nodes = self.block(newest);
        if newest != NONE && nodes.len() < BLOCK_CAPACITY {
            let end = nodes.len();
            self.blocks.insert(newest as usize, end, ix);
            return;
        }
        let block = match self.free.checked_sub(1) {
            Some(block) => {
                self.free = self.next_older(block).wrapping_add(1);
                block
            }
            None => self.blocks.len() as u32,
        };
        self.blocks.set(block as usize, &[ix]);
        self.older.set(block as usize, newest, NONE);
        self.newest.set(word as usize, block, NONE);
    }

    fn remove(&mut self, word: u32, ix: Ix) {
        let mut newer = NONE;
        let found = self.chain(word).find(|&block| {
            let found = self.block(block).contains(&ix);
            if !found {
                newer = block;
            }
            found
        });
        let Some(block) = found else { return };
        let nodes: Vec<Ix> = self.block(block).iter().copied().filter(|&other| other != ix).collect();
        let older = self.next_older(block);
        if nodes.is_empty() {
            match newer {
                NONE => self.newest.set(word as usize, older, NONE),
                _ => self.older.set(newer as usize, older, NONE),
            }
            self.release(block);
        } else if older != NONE && self.block(older).len() + nodes.len() <= BLOCK_CAPACITY / 2 {
            // Without merging, chains of almost empty blocks would build up where nodes are added and removed often.
            let joined = [self.block(older), &nodes].concat();
            self.blocks.set(block as usize, &joined);
            self.older.set(block as usize, self.next_older(older), NONE);
            self.release(older);
        } else {
            self.blocks.set(block as usize, &nodes);
        }
    }

    fn release(&mut self, block: u32) {
        self.blocks.set(block as usize, &[]);
        self.older.set(block as usize, self.free.wrapping_sub(1), NONE);
        self.free = block + 1;
    }

    /// The blocks of a keyword, newest first.
    fn chain(&self, word: u32) -> impl Iterator<Item = u32> {
        let first = self.newest_block(word);
        std::iter::successors(Some(first), |&block| Some(self.next_older(block)))
            .take_while(|&block| block != NONE)
    }

    fn newest_block(&self, word: u32) -> u32 {
        self.newest.get(word as usize).copied().unwrap_or(NONE)
    }

    fn next_older(&self, block: u32) -> u32 {
        self.older.get(block as usize).copied().unwrap_or(NONE)
    }

    fn block(&self, block: u32) -> &[Ix] {
        self.blocks.get(block as usize).unwrap_or_default()
    }
}

impl View {
    /// The live nodes with a keyword, most recently added first. After a view is decoded from its saved form, its nodes
    /// are ordered by id instead.
    pub fn nodes_with_keyword(&self, number: u32) -> impl Iterator<Item = Ix> {
        self.keyword_nodes.newest_first(number)
    }

    /// Updates the lists for the keywords that a node lost and gained.
    pub(super) fn list_keywords(&mut self, ix: Ix, before: &[u32], after: &[u32]) {
        for &word in before.iter().filter(|word| !after.contains(word)) {
            self.keyword_nodes.remove(word, ix);
        }
        for &word in after.iter().filter(|word| !before.contains(word)) {
            self.keyword_nodes.add(word, ix);
        }
    }

    /// The keywords under which a node is listed: none if the node is not live.
    pub(super) fn listed_keywords(&self, ix: Ix) -> &[u32] {
        if self.is_live(ix) { self.keywords(ix) } else { &[] }
    }

    /// Lists all nodes by their keywords.
    pub(super) fn list_all_keywords(&mut self) {
        let listed = (0..self.slots()).map(|ix| (ix, self.listed_keywords(ix)));
        self.keyword_nodes = KeywordNodes::of(listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Node, State, testing};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Checks every list, and that the blocks in use are at least a quarter full on average.
    fn check(nodes: &KeywordNodes, model: &[Vec<Ix>]) {
        for (word, expected) in (0..).zip(model) {
            let found: Vec<Ix> = nodes.newest_first(word).collect();
            assert!(found.iter().eq(expected.iter().rev()), "{word}: {found:?} {expected:?}");
            let blocks = nodes.chain(word).count();
            assert!(
                blocks <= 1 + expected.len() * 4 / BLOCK_CAPACITY,
                "{word}: {blocks} blocks for {}",
                expected.len()
            );
        }
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The lists equal a simple model, and earlier clones are not affected by later writes.
        #[test]
        fn the_nodes_equal_one_list_per_keyword(steps in proptest::collection::vec((0u32..3, 0u32..150, 0u8..8), 0..900)) {
            let mut nodes = KeywordNodes::default();
            let mut model: Vec<Vec<Ix>> = vec![Vec::new(); 3];
            let mut copies = Vec::new();
            for (at, (word, ix, action)) in steps.into_iter().enumerate() {
                if at % 100 == 0 {
                    copies.push((nodes.clone(), model.clone()));
                }
                let list = &mut model[word as usize];
                let known = list.contains(&ix);
                if action < 5 && !known {
                    nodes.add(word, ix);
                    list.push(ix);
                } else if action >= 4 {
                    nodes.remove(word, ix);
                    list.retain(|&other| other != ix);
                }
            }
            copies.push((nodes, model));
            copies.iter().for_each(|(nodes, model)| check(nodes, model));
        }

        /// Lists built at once equal those of a view to which the nodes were added one by one.
        #[test]
        fn the_lists_of_a_view_equal_a_scan(
            steps in proptest::collection::vec((0u64..12, 0u8..9, proptest::collection::vec(0u8..4, 0..4)), 0..60),
        ) {
            let mut view = View::new();
            for (seq, (number, action, mut words)) in (1..).zip(steps) {
                words.sort_unstable();
                words.dedup();
                let node = Node {
                    keywords: words.iter().map(|word| format!("w{word}")).collect(),
                    state: if action == 1 { State::Superseded } else { State::Active },
                    ..testing::node(number)
                };
                let delta = if action == 0 { Delta::NodeDeleted(node.id) } else { Delta::Node(Arc::new(node)) };
                view.apply(seq, &[delta]);
            }
            let again = View::decode(&view.encode().unwrap(), view.seq).unwrap();
            for view in [&view, &again] {
                for number in (0..5).filter_map(|word| view.keyword_number(&format!("w{word}"))) {
                    let mut found: Vec<Ix> = view.nodes_with_keyword(number).collect();
                    found.sort_unstable();
                    let has = |ix: &Ix| view.is_live(*ix) && view.keywords(*ix).contains(&number);
                    let expected: Vec<Ix> = (0..view.slots()).filter(has).collect();
                    prop_assert_eq!(found.len(), view.keyword_uses(number) as usize);
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
