//! A filter for nodes with one of some keywords.

use super::scan::{Filter, compact};
use super::set::ScoredNode;
use poc_graph::{Ix, State, View};

/// Keeps the nodes that have at least one of some keywords.
///
/// At first, it looks at the keywords of each node. When it has tested about as many nodes as the lists of the keywords
/// contain, it reads these lists once. After that, a test of a live node reads one bit. Long lists are therefore not
/// read for a small set, and a scan costs at most about twice as much as the cheaper of the two ways.
pub(super) struct KeywordFilter<'a> {
    view: &'a View,
    /// The numbers of the keywords.
    keywords: Vec<u32>,
    /// How many more nodes are tested before the lists are read.
    remaining: usize,
    /// A bit for each slot of the view: whether the node is live and has one of the keywords. `None` until the lists
    /// are read.
    listed: Option<Vec<u64>>,
}

impl<'a> KeywordFilter<'a> {
    /// Creates a filter for the keywords with these numbers.
    pub(super) fn new(view: &'a View, keywords: Vec<u32>) -> KeywordFilter<'a> {
        let uses: usize = keywords.iter().map(|&keyword| view.keyword_uses(keyword) as usize).sum();
        let words = view.slots() as usize / 64;
        KeywordFilter { view, keywords, remaining: uses + words, listed: None }
    }

    /// Reads the lists of the keywords.
    fn read_lists(&self) -> Vec<u64> {
        let mut listed = vec![0; (self.view.slots() as usize).div_ceil(64)];
        for &keyword in &self.keywords {
            for ix in self.view.nodes_with_keyword(keyword) {
                if let Some(word) = listed.get_mut(ix as usize / 64) {
                    *word |= 1u64 << (ix % 64);
                }
            }
        }
        listed
    }
}

impl Filter for KeywordFilter<'_> {
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool) {
        if self.listed.is_none() {
            match self.remaining.checked_sub(items.len()) {
                Some(remaining) => self.remaining = remaining,
                None => self.listed = Some(self.read_lists()),
            }
        }
        let (view, keywords) = (self.view, self.keywords.as_slice());
        let has_one = |ix: Ix| match keywords {
            [keyword] => view.keywords(ix).contains(keyword),
            _ => view.keywords(ix).iter().any(|keyword| keywords.contains(keyword)),
        };
        match &self.listed {
            None => compact(items, |item| has_one(item.ix) == wanted),
            Some(listed) => {
                let is_listed = |ix: Ix| {
                    let word = listed.get(ix as usize / 64).copied().unwrap_or(0);
                    (word >> (ix % 64)) & 1 == 1
                };
                let mut states = view.states();
                let mut is_live = |ix: Ix| states.of(ix, None).is_some_and(State::is_live);
                // Nodes that are not live are in no list.
                let mut passes = |ix: Ix| is_listed(ix) || (!is_live(ix) && has_one(ix));
                compact(items, |item| passes(item.ix) == wanted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::{Delta, Node, testing};
    use proptest::prelude::*;
    use std::sync::Arc;

    poc_laws::laws! {
        /// The filter keeps the same nodes as a test of the keywords of each node, before and after it reads the lists.
        #[test]
        fn the_filter_equals_a_test_of_each_node(
            nodes in proptest::collection::vec(
                (proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3), any::<bool>()), 1..200,
            ),
            names in proptest::sample::subsequence(vec!["a", "b", "unused"], 0..=3),
            block in 1usize..80,
            wanted in any::<bool>(),
        ) {
            let mut view = View::new();
            for (number, (keywords, is_live)) in (0u64..).zip(&nodes) {
                let keywords = keywords.iter().map(|&name| name.to_owned()).collect();
                let state = if *is_live { State::Active } else { State::Superseded };
                let node = Node { keywords, state, ..testing::node(number) };
                view.apply(number + 1, &[Delta::Node(Arc::new(node))]);
            }
            let keywords: Vec<u32> = names.iter().filter_map(|name| view.keyword_number(name)).collect();
            let has_one = |ix: Ix| view.keywords(ix).iter().any(|keyword| keywords.contains(keyword));
            let mut filter = KeywordFilter::new(&view, keywords.clone());
            let all: Vec<ScoredNode> = (0..view.slots()).map(|ix| ScoredNode { ix, score: 1.0 }).collect();
            for items in all.chunks(block) {
                let mut kept = items.to_vec();
                filter.retain(&mut kept, wanted);
                let expected: Vec<ScoredNode> =
                    items.iter().filter(|item| has_one(item.ix) == wanted).copied().collect();
                prop_assert_eq!(kept, expected);
            }
        }
    }
}
