//! Confluence: finds nodes that activation from several sources reaches.
//!
//! Activation spreads from each source separately ([`super::activation`]; `min_activation` applies per source). A node
//! reached from at least `min_sources` sources scores the sum of the activations from all of them. A source counts as
//! reached from itself. This is the intersection search of Quillian (1968) with the graded activation of Collins and
//! Loftus (1975): evidence from different starting points adds up where their paths meet.

use super::activation::{SpreadOptions, Spreading};
use super::sparse_accumulator::SparseAccumulator;
use poc_graph::{Ix, View, cancellation};

/// Number of arrivals of activation after which no further source is started. It bounds the time to a few seconds.
pub const MAX_ARRIVALS: usize = 100_000_000;

/// The summed activation of every node reached from at least `min_sources` of the sources, in unspecified order. Nodes
/// that `accepts` rejects are neither reached nor emit. `sources` must not repeat a node. The second value is the
/// number of sources that were started before [`MAX_ARRIVALS`].
pub fn confluence(
    view: &View,
    sources: &[(Ix, f64)],
    options: SpreadOptions,
    min_sources: usize,
    accepts: impl FnMut(Ix) -> bool,
) -> (Vec<(Ix, f64)>, usize) {
    let mut spreading = Spreading::new(view, options, accepts);
    let mut total = SparseAccumulator::new(view.slots());
    let mut reaching = SparseAccumulator::new(view.slots());
    let (mut arrivals, mut started) = (0, 0);
    for &source in sources {
        if arrivals > MAX_ARRIVALS || cancellation::is_requested() {
            break;
        }
        started += 1;
        for &(ix, activation) in spreading.from(&[source]) {
            total.add(ix, activation);
            reaching.add(ix, 1.0);
        }
        arrivals += spreading.arrivals();
    }
    // Both contain the same nodes in the same order.
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

    fn found(
        view: &View,
        sources: &[(Ix, f64)],
        options: SpreadOptions,
        min_sources: usize,
    ) -> BTreeMap<Ix, f64> {
        confluence(view, sources, options, min_sources, |_| true).0.into_iter().collect()
    }

    /// 0 —1.0— 1 —0.5— 2 with sources at both ends, two hops.
    #[test]
    fn a_path_matches_values_computed_by_hand() {
        let view = view(4, &[(0, 1, 1.0), (1, 2, 0.5), (2, 3, 0.1)]);
        let options = SpreadOptions { max_hops: 2, ..OPTIONS };
        // From 0: 1 gets 0.5, which comes back as 0.25 and continues as 0.125 to 2.
        // From 2: 1 gets 0.25 and 3 gets 0.05; back at 2 that is 0.0625 + 0.0025, and 0 gets 0.125.
        let expected = BTreeMap::from([(0, 1.25 + 0.125), (1, 0.5 + 0.25), (2, 0.125 + 1.0 + 0.065)]);
        let together = found(&view, &[(0, 1.0), (2, 1.0)], options, 2);
        assert_eq!(together.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (ix, expected) in expected {
            assert!((together[&ix] - expected).abs() < 1e-7, "node {ix}: {}", together[&ix]);
        }
        // Node 3 is reached only from 2.
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

    poc_laws::laws! {
        /// With a single source, confluence is plain spreading activation.
        #[test]
        fn with_one_source_it_equals_spreading_activation(links in links(), source in 0u32..9, score in 0.0f64..2.0) {
            let view = view(9, &links);
            let plain: BTreeMap<Ix, f64> = spread(&view, &[(source, score)], OPTIONS, |_| true).into_iter().collect();
            prop_assert_eq!(found(&view, &[(source, score)], OPTIONS, 1), plain);
        }

        /// Without a minimum, it equals spreading from all sources at once: activation is linear.
        #[test]
        fn without_a_minimum_activation_is_linear(links in links(), sources in sources()) {
            let view = view(9, &links);
            let options = SpreadOptions { min_activation: 0.0, ..OPTIONS };
            let plain: BTreeMap<Ix, f64> = spread(&view, &sources, options, |_| true).into_iter().collect();
            let summed = found(&view, &sources, options, 1);
            prop_assert_eq!(summed.keys().collect::<Vec<_>>(), plain.keys().collect::<Vec<_>>());
            for (ix, activation) in plain {
                prop_assert!((summed[&ix] - activation).abs() < 1e-9);
            }
        }

        /// Requiring more sources only removes nodes, and more than there are removes all.
        #[test]
        fn requiring_more_sources_keeps_fewer_nodes(links in links(), sources in sources(), min in 1usize..5) {
            let view = view(9, &links);
            let all = found(&view, &sources, OPTIONS, min);
            let fewer = found(&view, &sources, OPTIONS, min + 1);
            prop_assert!(fewer.iter().all(|(ix, sum)| all.get(ix) == Some(sum)));
            prop_assert!(found(&view, &sources, OPTIONS, sources.len() + 1).is_empty());
        }
    }
}
