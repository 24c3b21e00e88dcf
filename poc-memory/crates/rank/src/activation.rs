//! Spreading activation (Collins and Loftus 1975; activation from several sources adds up as in Anderson 1983).
//!
//! All sources emit at once. In each hop, a node sums the activation that arrives over all its edges. The sum is added
//! to the node's activation and passed on to its neighbours, multiplied by `edge_decay` and the strength of the edge. A
//! sum below `min_activation` is dropped.
//!
//! The cost is proportional to the number of edges of the nodes reached, and does not depend on the size of the graph.

use super::sparse_accumulator::SparseAccumulator;
use poc_graph::{Ix, View, cancellation};

/// The range and the strength of spreading activation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadOptions {
    /// Maximum number of hops from the sources.
    pub max_hops: usize,
    /// The share of activation, 0–1, that an edge of strength 1 passes on.
    pub edge_decay: f64,
    /// Sums below this are dropped.
    pub min_activation: f64,
}

/// The activation of every node reached, in unspecified order. A source's own initial activation is included. Nodes
/// that `accepts` rejects are neither reached nor emit.
pub fn spread(
    view: &View,
    sources: &[(Ix, f64)],
    options: SpreadOptions,
    accepts: impl FnMut(Ix) -> bool,
) -> Vec<(Ix, f64)> {
    Spreading::new(view, options, accepts).from(sources).to_vec()
}

/// Reusable buffers for spreading activation several times over one view.
pub(super) struct Spreading<'a, L> {
    view: &'a View,
    options: SpreadOptions,
    accepts: L,
    total: SparseAccumulator,
    arriving: SparseAccumulator,
    // By node, all zero between hops; empty until a hop needs it.
    dense: Vec<f64>,
    frontier: Vec<(Ix, f64)>,
    arrivals: usize,
}

/// A hop uses the dense array over all nodes if the graph has fewer nodes per followed edge than this. Clearing the
/// array then costs less than looking nodes up in a list.
const MIN_NODES_PER_EDGE: usize = 4;

impl<'a, L: FnMut(Ix) -> bool> Spreading<'a, L> {
    pub(super) fn new(view: &'a View, options: SpreadOptions, accepts: L) -> Self {
        let sums = || SparseAccumulator::new(view.slots());
        Spreading {
            view,
            options,
            accepts,
            total: sums(),
            arriving: sums(),
            dense: Vec::new(),
            frontier: Vec::new(),
            arrivals: 0,
        }
    }

    /// Like [`spread`], from these sources.
    pub(super) fn from(&mut self, sources: &[(Ix, f64)]) -> &[(Ix, f64)] {
        self.total.clear();
        self.frontier.clear();
        self.arrivals = 0;
        for &(ix, activation) in sources {
            self.reach(ix, activation);
        }
        for _ in 0..self.options.max_hops {
            let edges: usize = self.frontier.iter().map(|&(ix, _)| self.view.degree(ix) as usize).sum();
            self.arrivals += edges;
            if edges * MIN_NODES_PER_EDGE > self.view.slots() as usize {
                self.dense_hop();
            } else {
                self.sparse_hop();
            }
            if self.frontier.is_empty() || cancellation::is_requested() {
                break;
            }
        }
        self.total.all()
    }

    /// Spreads the activation of the frontier by one hop. Nodes that may not be reached receive activation too and are
    /// removed afterwards: checking each node once is cheaper than checking it for each edge.
    fn sparse_hop(&mut self) {
        for &(ix, activation) in &self.frontier {
            for edge in self.view.all_merged_edges(ix) {
                let passed = activation * self.options.edge_decay * edge.strength;
                if passed > 0.0 {
                    self.arriving.add(edge.ix, passed);
                }
            }
        }
        self.frontier.clear();
        let mut arrived = std::mem::take(&mut self.arriving);
        for &(ix, sum) in arrived.all() {
            if sum >= self.options.min_activation {
                self.reach(ix, sum);
            }
        }
        arrived.clear();
        self.arriving = arrived;
    }

    fn dense_hop(&mut self) {
        let mut sums = std::mem::take(&mut self.dense);
        sums.resize(self.view.slots() as usize, 0.0);
        for &(ix, activation) in &self.frontier {
            let passed = activation * self.options.edge_decay;
            for edge in self.view.all_merged_edges(ix) {
                if let Some(sum) = sums.get_mut(edge.ix as usize) {
                    *sum += passed * edge.strength;
                }
            }
        }
        self.frontier.clear();
        for (ix, sum) in (0..).zip(&mut sums) {
            if *sum >= self.options.min_activation {
                self.reach(ix, *sum);
            }
            *sum = 0.0;
        }
        self.dense = sums;
    }

    /// The number of edges that activation was passed along in the last call of [`Spreading::from`].
    pub(super) fn arrivals(&self) -> usize {
        self.arrivals
    }

    /// Whether a node may be reached is checked only the first time.
    fn reach(&mut self, ix: Ix, activation: f64) {
        if activation <= 0.0 {
            return;
        }
        if !self.total.add_to_known(ix, activation) {
            if !self.view.is_live(ix) || !(self.accepts)(ix) {
                return;
            }
            self.total.add(ix, activation);
        }
        self.frontier.push((ix, activation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::{self, view};
    use poc_graph::{Delta, Node, State};
    use proptest::prelude::*;
    use std::sync::Arc;

    const OPTIONS: SpreadOptions = SpreadOptions { max_hops: 3, edge_decay: 0.5, min_activation: 0.01 };

    fn activations(
        nodes: usize,
        edges: &[(u64, u64, f64)],
        sources: &[(Ix, f64)],
        options: SpreadOptions,
    ) -> Vec<f64> {
        let mut all = vec![0.0; nodes];
        for (ix, activation) in spread(&view(nodes as u64, edges), sources, options, |_| true) {
            assert_eq!(all[ix as usize], 0.0, "each node once");
            all[ix as usize] = activation;
        }
        all
    }

    /// 0 —1.0— 1 —0.5— 2, and 3 with an edge of 0.015 to 0.
    #[test]
    fn four_nodes_match_values_computed_by_hand() {
        let edges = [(0, 1, 1.0), (1, 2, 0.5), (0, 3, 0.015)];
        let found = activations(4, &edges, &[(0, 1.0)], OPTIONS);
        // Hop 1: 0 sends 0.5 to 1, and 0.0075 to 3, which is below the minimum.
        // Hop 2: 1 sends 0.25 back to 0 and 0.125 on to 2.
        // Hop 3: 0 sends 0.125 to 1, 2 sends 0.03125 to 1; together 0.15625.
        let expected = [1.25, 0.65625, 0.125, 0.0];
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-7, "node {at}: {found} instead of {expected}");
        }
    }

    #[test]
    fn activation_from_several_weak_sources_is_summed_before_the_minimum_applies() {
        // Each of four sources sends 0.004 to node 4: each is below the minimum, but their sum is not.
        let edges: Vec<(u64, u64, f64)> = (0..4).map(|source| (source, 4, 0.008)).collect();
        let options = SpreadOptions { max_hops: 1, ..OPTIONS };
        assert_eq!(activations(5, &edges, &[(0, 1.0)], options)[4], 0.0);
        let sources: Vec<(Ix, f64)> = (0..4).map(|ix| (ix, 1.0)).collect();
        assert!((activations(5, &edges, &sources, options)[4] - 0.016).abs() < 1e-7);
    }

    poc_laws::laws! {
        /// The result equals a direct implementation of the definition, both when few nodes are summed in an array and
        /// when they are summed in a list. Rejected nodes are not reached.
        #[test]
        fn scores_equal_their_definition(
            edges in proptest::collection::btree_map((0u64..8, 0u64..8), 0.0f64..1.0, 1..20),
            sources in proptest::collection::btree_map(0u32..8, 0.1f64..3.0, 1..4),
            unused in 0u64..8, nodes in proptest::sample::select(vec![8u64, 2000]),
        ) {
            let edges: Vec<(u64, u64, f64)> =
                edges.into_iter().filter(|((a, b), _)| a < b).map(|((a, b), s)| (a, b, s)).collect();
            let sources: Vec<(Ix, f64)> = sources.into_iter().collect();
            let mut view = view(nodes, &edges);
            let node = Node { state: State::Superseded, ..testing::node(unused) };
            view.apply(2, &[Delta::Node(Arc::new(node))]);
            let mut frontier = [0.0; 8];
            sources.iter().filter(|(ix, _)| u64::from(*ix) != unused).for_each(|(ix, a)| frontier[*ix as usize] = *a);
            let mut total = frontier;
            for _ in 0..OPTIONS.max_hops {
                let mut next = [0.0; 8];
                for &(a, b, strength) in &edges {
                    let strength = f64::from(strength as f32);
                    next[b as usize] += frontier[a as usize] * OPTIONS.edge_decay * strength;
                    next[a as usize] += frontier[b as usize] * OPTIONS.edge_decay * strength;
                }
                next[unused as usize] = 0.0;
                frontier = next.map(|sum| if sum >= OPTIONS.min_activation { sum } else { 0.0 });
                total.iter_mut().zip(frontier).for_each(|(total, sum)| *total += sum);
            }
            let mut found = [0.0; 8];
            for (ix, activation) in spread(&view, &sources, OPTIONS, |_| true) {
                prop_assert!(found[ix as usize] == 0.0 && activation > 0.0);
                found[ix as usize] = activation;
            }
            for (found, expected) in found.iter().zip(total) {
                prop_assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
            }
        }

        /// A stronger edge never lowers the activation of any node.
        #[test]
        fn activation_is_monotone_in_edge_strength(
            edges in proptest::collection::btree_map((0u64..8, 0u64..8), 0.0f64..1.0, 1..20),
            pick in any::<proptest::sample::Index>(), more in 0.0f64..1.0,
        ) {
            let edges: Vec<(u64, u64, f64)> =
                edges.into_iter().filter(|((a, b), _)| a < b).map(|((a, b), s)| (a, b, s)).collect();
            prop_assume!(!edges.is_empty());
            let mut stronger = edges.clone();
            let edge = pick.get(&edges);
            let at = edges.iter().position(|other| other == edge).unwrap();
            stronger[at].2 += (1.0 - edge.2) * more;
            let sources = [(0, 1.0), (3, 0.4)];
            let before = activations(8, &edges, &sources, OPTIONS);
            let after = activations(8, &stronger, &sources, OPTIONS);
            for (before, after) in before.iter().zip(after) {
                prop_assert!(after >= before - 1e-9);
            }
        }
    }
}
