//! The strongest paths from a node to the nodes around it. The strength of a path is the product of the strengths of
//! its edges (the max–product semiring of Mohri 2002). If a walk follows an edge of strength s with probability s, the
//! strongest path is the most likely one.

use poc_graph::{Ix, View, cancellation};
use rustc_hash::FxHashMap;

/// Every node within `hops` edges of `center`, with the strength (0–1) of the strongest path of at most that many
/// edges, in unspecified order. The centre itself is not included. Nodes that `accepts` rejects are neither reached nor
/// passed through.
pub fn reach(view: &View, center: Ix, hops: usize, mut accepts: impl FnMut(Ix) -> bool) -> Vec<(Ix, f64)> {
    let mut best: FxHashMap<Ix, f64> = FxHashMap::from_iter([(center, 1.0)]);
    let mut frontier = vec![(center, 1.0)];
    for _ in 0..hops {
        // Arrivals are collected separately. If they continued within the same hop, paths could exceed `hops`.
        let mut arriving: FxHashMap<Ix, f64> = FxHashMap::default();
        for (ix, strength) in frontier.drain(..) {
            for edge in view.merged_edges(ix) {
                let passed = strength * edge.strength;
                let strongest = arriving.entry(edge.ix).or_insert(passed);
                *strongest = strongest.max(passed);
            }
        }
        for (ix, strength) in arriving {
            let known = best.get(&ix);
            if known.is_none_or(|&known| strength > known) && (known.is_some() || accepts(ix)) {
                best.insert(ix, strength);
                frontier.push((ix, strength));
            }
        }
        if frontier.is_empty() || cancellation::is_requested() {
            break;
        }
    }
    best.remove(&center);
    best.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::view;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn found(view: &View, center: Ix, hops: usize) -> BTreeMap<Ix, f64> {
        reach(view, center, hops, |_| true).into_iter().collect()
    }

    /// 0 —0.5— 1 —0.5— 2, a weak direct edge of 0.125 from 0 to 2, and 3 attached to 2.
    #[test]
    fn four_nodes_match_values_computed_by_hand() {
        let view = view(4, &[(0, 1, 0.5), (1, 2, 0.5), (0, 2, 0.125), (2, 3, 1.0)]);
        assert_eq!(found(&view, 0, 1), BTreeMap::from([(1, 0.5), (2, 0.125)]));
        // The path over 1 is stronger; 3 is within two edges only over the weak one.
        assert_eq!(found(&view, 0, 2), BTreeMap::from([(1, 0.5), (2, 0.25), (3, 0.125)]));
        assert_eq!(found(&view, 0, 3), BTreeMap::from([(1, 0.5), (2, 0.25), (3, 0.25)]));
        // Without 1 only the weak path remains.
        let around: BTreeMap<Ix, f64> = reach(&view, 0, 3, |ix| ix != 1).into_iter().collect();
        assert_eq!(around, BTreeMap::from([(2, 0.125), (3, 0.125)]));
    }

    poc_laws::laws! {
        /// The result equals a power of the matrix of strengths in the max–product semiring.
        #[test]
        fn the_strengths_are_a_power_of_the_matrix(
            links in proptest::collection::vec((0u64..7, 0u64..7, 0.0f64..=1.0), 0..18),
            center in 0usize..7, hops in 1usize..5,
        ) {
            let links: Vec<(u64, u64, f64)> = links.into_iter().filter(|(a, b, _)| a != b).collect();
            let view = view(7, &links);
            let mut strengths: Vec<Option<f64>> = vec![None; 7];
            strengths[center] = Some(1.0);
            for _ in 0..hops {
                let mut next = strengths.clone();
                for from in 0..7u32 {
                    let Some(strength) = strengths[from as usize] else { continue };
                    for edge in view.merged_edges(from) {
                        let slot = &mut next[edge.ix as usize];
                        *slot = Some(slot.unwrap_or(0.0).max(strength * edge.strength));
                    }
                }
                strengths = next;
            }
            strengths[center] = None;
            let expected: BTreeMap<Ix, f64> =
                strengths.iter().enumerate().filter_map(|(ix, strength)| Some((ix as Ix, (*strength)?))).collect();
            prop_assert_eq!(found(&view, center as Ix, hops), expected);
        }
    }
}
