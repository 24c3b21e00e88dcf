//! Spreading activation (Collins and Loftus 1975; the summing of sources after Anderson 1983).
//!
//! All sources emit at once. Per hop, what arrives at a node from all sides is summed; the sum
//! counts towards the node's activation and goes on to its neighbours, each time multiplied by
//! `edge_decay` and the strength of the tie. A sum under `min_activation` is dropped: it neither
//! counts nor goes on.

use crate::graph::{Ix, View};

/// How far and how strongly activation spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Hops from the sources.
    pub max_hops: usize,
    /// Share that a tie of strength 1 passes on, 0–1.
    pub edge_decay: f64,
    /// Least activation that arrives.
    pub min_activation: f64,
}

/// The activation of every node reached, the sources with what they started from, in no useful
/// order; each node once. Only nodes that `lets` accepts are reached or emit.
pub fn spread(
    view: &View,
    sources: &[(Ix, f64)],
    rules: Spread,
    mut lets: impl FnMut(Ix) -> bool,
) -> Vec<(Ix, f64)> {
    let slots = view.slots() as usize;
    let mut total = vec![0.0f64; slots];
    let mut arriving = vec![0.0f64; slots];
    let mut reached: Vec<Ix> = Vec::new();
    let mut front: Vec<(Ix, f64)> = Vec::with_capacity(sources.len());
    for &(ix, activation) in sources {
        if activation > 0.0 && lets(ix) {
            count(&mut total, &mut reached, ix, activation);
            front.push((ix, activation));
        }
    }
    let mut touched: Vec<Ix> = Vec::new();
    for _ in 0..rules.max_hops {
        for &(ix, activation) in &front {
            for tie in view.ties(ix) {
                let passed = activation * rules.edge_decay * tie.strength;
                if passed > 0.0 {
                    count(&mut arriving, &mut touched, tie.ix, passed);
                }
            }
        }
        front.clear();
        for ix in touched.drain(..) {
            let Some(slot) = arriving.get_mut(ix as usize) else { continue };
            let sum = std::mem::take(slot);
            if sum >= rules.min_activation && lets(ix) {
                count(&mut total, &mut reached, ix, sum);
                front.push((ix, sum));
            }
        }
        if front.is_empty() {
            break;
        }
    }
    reached.into_iter().map(|ix| (ix, total.get(ix as usize).copied().unwrap_or(0.0))).collect()
}

/// Adds to a node's sum and notes the node when it is the first time. Amounts are above 0.
fn count(sums: &mut [f64], noted: &mut Vec<Ix>, ix: Ix, amount: f64) {
    if let Some(sum) = sums.get_mut(ix as usize) {
        if *sum == 0.0 {
            noted.push(ix);
        }
        *sum += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Delta, EdgeKind, testing};
    use proptest::prelude::*;
    use std::sync::Arc;

    const RULES: Spread = Spread { max_hops: 3, edge_decay: 0.5, min_activation: 0.01 };

    fn view(nodes: u64, edges: &[(u64, u64, f64)]) -> View {
        let mut view = View::new();
        let mut deltas: Vec<Delta> =
            (0..nodes).map(|number| Delta::Node(Arc::new(testing::node(number)))).collect();
        deltas.extend(
            edges.iter().map(|&(a, b, strength)| Delta::Edge(testing::edge(a, b, EdgeKind::Link, strength))),
        );
        view.apply(1, &deltas);
        view
    }

    fn activations(
        nodes: usize,
        edges: &[(u64, u64, f64)],
        sources: &[(Ix, f64)],
        rules: Spread,
    ) -> Vec<f64> {
        let mut all = vec![0.0; nodes];
        for (ix, activation) in spread(&view(nodes as u64, edges), sources, rules, |_| true) {
            assert_eq!(all[ix as usize], 0.0, "each node once");
            all[ix as usize] = activation;
        }
        all
    }

    /// 0 —1.0— 1 —0.5— 2, and 3 with a tie of 0.02 to 0.
    #[test]
    fn by_hand_on_four_nodes() {
        let edges = [(0, 1, 1.0), (1, 2, 0.5), (0, 3, 0.015)];
        let found = activations(4, &edges, &[(0, 1.0)], RULES);
        // Hop 1: 0 sends 0.5 to 1, and 0.0075 to 3, which is under the cut.
        // Hop 2: 1 sends 0.25 back to 0 and 0.125 on to 2.
        // Hop 3: 0 sends 0.125 to 1, 2 sends 0.03125 to 1; together 0.15625.
        let expected = [1.25, 0.65625, 0.125, 0.0];
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-7, "node {at}: {found} instead of {expected}");
        }
    }

    #[test]
    fn weak_sources_add_up_where_they_meet() {
        // Each of four sources sends 0.004 to node 4: nothing alone, above the cut together.
        let edges: Vec<(u64, u64, f64)> = (0..4).map(|source| (source, 4, 0.008)).collect();
        let rules = Spread { max_hops: 1, ..RULES };
        assert_eq!(activations(5, &edges, &[(0, 1.0)], rules)[4], 0.0);
        let sources: Vec<(Ix, f64)> = (0..4).map(|ix| (ix, 1.0)).collect();
        assert!((activations(5, &edges, &sources, rules)[4] - 0.016).abs() < 1e-7);
    }

    proptest! {
        /// A stronger tie never lowers the activation of any node.
        #[test]
        fn monotone_in_the_strength_of_ties(
            edges in proptest::collection::btree_map((0u64..8, 0u64..8), 0.0f64..1.0, 1..20),
            pick in any::<proptest::sample::Index>(), more in 0.0f64..1.0,
        ) {
            let edges: Vec<(u64, u64, f64)> =
                edges.into_iter().filter(|((a, b), _)| a < b).map(|((a, b), s)| (a, b, s)).collect();
            prop_assume!(!edges.is_empty());
            let mut stronger = edges.clone();
            let tie = pick.get(&edges);
            let at = edges.iter().position(|other| other == tie).unwrap();
            stronger[at].2 += (1.0 - tie.2) * more;
            let sources = [(0, 1.0), (3, 0.4)];
            let before = activations(8, &edges, &sources, RULES);
            let after = activations(8, &stronger, &sources, RULES);
            for (before, after) in before.iter().zip(after) {
                prop_assert!(after >= before - 1e-9);
            }
        }
    }
}
