//! Confluence: what several sources reach together.
//!
//! Activation spreads from each source on its own ([`super::activation`]; a sum under
//! `min_activation` is dropped, source by source). A node that activation from at least
//! `min_sources` of them arrives at gets the sum of what arrives from each; a source counts as
//! reached from itself. This is the intersection search of Quillian (1968), graded as Collins and
//! Loftus (1975) grade it: evidence from different starting points adds up where their paths meet.

use super::activation::{SpreadOptions, Spreading};
use super::sparse_accumulator::SparseAccumulator;
use poc_graph::{Ix, View};

/// Arrivals after which no further source starts: a few seconds.
pub const MOST_ARRIVALS: usize = 100_000_000;

/// The summed activation of every node reached from at least `min_sources` of the sources, in no
/// useful order; each node once. Only nodes that `lets` accepts are reached or emit. `sources` holds
/// no node twice; the second figure says how many of them started before [`MOST_ARRIVALS`].
pub fn confluence(
    view: &View,
    sources: &[(Ix, f64)],
    options: SpreadOptions,
    min_sources: usize,
    lets: impl FnMut(Ix) -> bool,
) -> (Vec<(Ix, f64)>, usize) {
    let mut spreading = Spreading::new(view, options, lets);
    let mut total = SparseAccumulator::new(view.slots());
    let mut reaching = SparseAccumulator::new(view.slots());
    let (mut arrivals, mut started) = (0, 0);
    for &source in sources {
        if arrivals > MOST_ARRIVALS {
            break;
        }
        started += 1;
        for &(ix, activation) in spreading.from(&[source]) {
            total.add(ix, activation);
            reaching.add(ix, 1.0);
        }
        arrivals += spreading.arrivals();
    }
    // Both hold the same nodes in the same order.
    let both = total.all().iter().zip(reaching.all());
    let found = both.filter(|(_, (_, from))| *from >= min_sources as f64).map(|(&found, _)| found);
    (found.collect(), started)
}

#[cfg(test)]
mod tests {
    use super::super::activation::spread;
    use super::*;
    use poc_graph::testing::view;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const OPTIONS: SpreadOptions = SpreadOptions { max_hops: 3, edge_decay: 0.5, min_activation: 0.01 };

    fn found(view: &View, sources: &[(Ix, f64)], options: SpreadOptions, min_sources: usize) -> BTreeMap<Ix, f64> {
        confluence(view, sources, options, min_sources, |_| true).0.into_iter().collect()
    }

    /// 0 —1.0— 1 —0.5— 2 with sources at both ends, two hops.
    #[test]
    fn by_hand_on_a_path() {
        let view = view(4, &[(0, 1, 1.0), (1, 2, 0.5), (2, 3, 0.1)]);
        let options = SpreadOptions { max_hops: 2, ..OPTIONS };
        // From 0: 1 gets 0.5, which comes back as 0.25 and goes on as 0.125 to 2.
        // From 2: 1 gets 0.25 and 3 gets 0.05; back at 2 that is 0.0625 + 0.0025, and 0 gets 0.125.
        let expected = BTreeMap::from([(0, 1.25 + 0.125), (1, 0.5 + 0.25), (2, 0.125 + 1.0 + 0.065)]);
        let together = found(&view, &[(0, 1.0), (2, 1.0)], options, 2);
        assert_eq!(together.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (ix, expected) in expected {
            assert!((together[&ix] - expected).abs() < 1e-7, "node {ix}: {}", together[&ix]);
        }
        // 3 is reached from 2 alone.
        assert!((found(&view, &[(0, 1.0), (2, 1.0)], options, 1)[&3] - 0.05).abs() < 1e-7);
        assert!(found(&view, &[(0, 1.0), (2, 1.0)], options, 3).is_empty());
    }

    fn links() -> impl Strategy<Value = Vec<(u64, u64, f64)>> {
        let link = (0u64..9, 0u64..9, 0.0f64..1.0);
        proptest::collection::vec(link, 0..25)
            .prop_map(|links| links.into_iter().filter(|(a, b, _)| a != b).collect())
    }

    fn sources() -> impl Strategy<Value = Vec<(Ix, f64)>> {
        proptest::collection::btree_map(0u32..9, 0.0f64..1.0, 0..5).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        /// Of one source it is the spread.
        #[test]
        fn of_one_source_it_is_the_spread(links in links(), source in 0u32..9, score in 0.0f64..2.0) {
            let view = view(9, &links);
            let plain: BTreeMap<Ix, f64> = spread(&view, &[(source, score)], OPTIONS, |_| true).into_iter().collect();
            prop_assert_eq!(found(&view, &[(source, score)], OPTIONS, 1), plain);
        }

        /// Nothing dropped and nothing asked, it is the spread of all: activation is linear.
        #[test]
        fn without_a_cut_the_sources_superpose(links in links(), sources in sources()) {
            let view = view(9, &links);
            let options = SpreadOptions { min_activation: 0.0, ..OPTIONS };
            let plain: BTreeMap<Ix, f64> = spread(&view, &sources, options, |_| true).into_iter().collect();
            let summed = found(&view, &sources, options, 1);
            prop_assert_eq!(summed.keys().collect::<Vec<_>>(), plain.keys().collect::<Vec<_>>());
            for (ix, activation) in plain {
                prop_assert!((summed[&ix] - activation).abs() < 1e-9);
            }
        }

        /// Asking for more sources only takes nodes away, and never more than there are sources.
        #[test]
        fn more_sources_keep_fewer_nodes(links in links(), sources in sources(), least in 1usize..5) {
            let view = view(9, &links);
            let all = found(&view, &sources, OPTIONS, least);
            let fewer = found(&view, &sources, OPTIONS, least + 1);
            prop_assert!(fewer.iter().all(|(ix, sum)| all.get(ix) == Some(sum)));
            prop_assert!(found(&view, &sources, OPTIONS, sources.len() + 1).is_empty());
        }
    }
}
