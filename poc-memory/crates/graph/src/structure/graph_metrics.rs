//! Metrics of the whole graph: whether notes form a small world, cluster around a few hubs, or are
//! disconnected.
//!
//! All figures refer to the simple graph of live nodes ([`View::merged_edges`]).

mod paths;
mod power_law;

pub use power_law::PowerLaw;

use crate::Ix;
use crate::View;
use serde::{Deserialize, Serialize};

/// Metrics of the graph. A metric is `None` if it is undefined: without edges or with too few nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphMetrics {
    /// The number of connected components. A node without edges is a component.
    pub components: usize,
    /// The number of nodes in the largest component.
    pub largest: usize,
    /// The number of nodes without edges.
    pub isolated: usize,
    /// Mean local clustering coefficient of all nodes, 0–1.
    pub clustering: Option<f64>,
    /// Mean number of edges on the shortest path between two nodes of the largest component; estimated from a sample in
    /// large components.
    pub path_length: Option<f64>,
    /// Small-world coefficient σ of the largest component (Humphries and Gurney 2008): its clustering relative to a
    /// random graph of the same size, divided by its mean path length relative to that graph. Above 1 the component is
    /// a small world.
    pub small_world: Option<f64>,
    /// Gini coefficient of the degrees: 0 if all are equal, 1 if one hub has all edges.
    pub gini: Option<f64>,
    /// The power law fitted to the tail of the degree distribution.
    pub power_law: Option<PowerLaw>,
}

impl GraphMetrics {
    /// Computes the figures of a view. Path lengths are exact for components of up to [`paths::EXACT`] nodes; larger
    /// components are searched from an evenly spread sample of nodes.
    pub(super) fn compute(view: &View) -> GraphMetrics {
        let live: Vec<Ix> = (0..view.slots()).filter(|&ix| view.is_live(ix)).collect();
        let mut degrees: Vec<u32> = live.iter().map(|&ix| view.degree(ix)).collect();
        degrees.sort_unstable();
        let components = paths::components(view, &live);
        let largest =
            components.iter().max_by_key(|component| component.len()).map_or(&[][..], Vec::as_slice);
        let path_length = paths::mean_length(view, largest);
        GraphMetrics {
            components: components.len(),
            largest: largest.len(),
            isolated: degrees.iter().take_while(|&&degree| degree == 0).count(),
            clustering: mean_clustering(view, &live),
            path_length,
            small_world: path_length.and_then(|length| small_world(view, largest, length)),
            gini: gini(&degrees),
            power_law: PowerLaw::fit(&degrees),
        }
    }
}

fn mean_clustering(view: &View, nodes: &[Ix]) -> Option<f64> {
    let sum: f64 = nodes.iter().map(|&ix| view.clustering(ix)).sum();
    (!nodes.is_empty()).then(|| sum / nodes.len() as f64)
}

/// σ = (C / C_random) / (L / L_random) with C_random = k / n and L_random = ln n / ln k for n nodes
/// of mean degree k (Watts and Strogatz 1998). `None` if k is at most 1.
fn small_world(view: &View, nodes: &[Ix], path_length: f64) -> Option<f64> {
    let n = nodes.len() as f64;
    let k = nodes.iter().map(|&ix| f64::from(view.degree(ix))).sum::<f64>() / n;
    let random_length = n.ln() / k.ln();
    let sigma = (mean_clustering(view, nodes)? / (k / n)) / (path_length / random_length);
    (k > 1.0 && sigma.is_finite()).then_some(sigma)
}

/// The Gini coefficient of ascending values x₁ … xₙ: Σ (2i − n − 1) xᵢ / (n Σ xᵢ).
fn gini(ascending: &[u32]) -> Option<f64> {
    let n = ascending.len() as f64;
    let sum: f64 = ascending.iter().map(|&value| f64::from(value)).sum();
    let ranked =
        (1..).zip(ascending).map(|(rank, &value)| (2.0 * f64::from(rank) - n - 1.0) * f64::from(value));
    (sum > 0.0).then(|| ranked.sum::<f64>() / (n * sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::view;
    use proptest::prelude::*;

    /// Computes the coefficient as the mean absolute difference divided by twice the mean.
    fn gini_by_pairs(values: &[u32]) -> f64 {
        let pairs = values.iter().flat_map(|a| values.iter().map(move |b| f64::from(a.abs_diff(*b))));
        let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
        pairs.sum::<f64>() / (2.0 * values.len() as f64 * sum)
    }

    fn lattice(nodes: u64, reach: u64) -> Vec<(u64, u64, f64)> {
        (0..nodes).flat_map(|a| (1..=reach).map(move |step| (a, (a + step) % nodes, 0.5))).collect()
    }

    #[test]
    fn an_empty_graph_has_no_figures() {
        let empty = GraphMetrics::compute(&View::new());
        assert_eq!(empty, GraphMetrics::default());
        let alone = GraphMetrics::compute(&view(3, &[]));
        assert_eq!((alone.components, alone.largest, alone.isolated), (3, 1, 3));
        assert_eq!((alone.clustering, alone.path_length, alone.small_world), (Some(0.0), None, None));
        assert_eq!((alone.gini, alone.power_law), (None, None));
    }

    /// The triangle 0 1 2 with the tail 2 — 3, and an isolated node.
    #[test]
    fn figures_match_values_computed_by_hand() {
        let found = GraphMetrics::compute(&view(5, &[(0, 1, 0.5), (1, 2, 0.5), (0, 2, 0.5), (2, 3, 0.1)]));
        assert_eq!((found.components, found.largest, found.isolated), (2, 4, 1));
        // Local coefficients: 1, 1, 1/3, 0, 0.
        assert!((found.clustering.unwrap() - (2.0 + 1.0 / 3.0) / 5.0).abs() < 1e-12);
        // 4 pairs are 1 edge apart, the other 2 pairs are 2 edges apart.
        assert!((found.path_length.unwrap() - 8.0 / 6.0).abs() < 1e-12);
        // n = 4, k = 2: C = 7/12, C_random = 1/2, L = 4/3, L_random = 2.
        assert!((found.small_world.unwrap() - (7.0 / 6.0) / (2.0 / 3.0)).abs() < 1e-12);
        // Degrees 0, 1, 2, 2, 3.
        assert!((found.gini.unwrap() - gini_by_pairs(&[0, 1, 2, 2, 3])).abs() < 1e-12);
    }

    /// A ring lattice where each node is adjacent to the two on either side: C = 1/2 exactly, and the mean
    /// path grows with the ring (Watts and Strogatz 1998).
    #[test]
    fn a_ring_lattice_has_the_known_figures() {
        let found = GraphMetrics::compute(&view(100, &lattice(100, 2)));
        assert_eq!((found.components, found.gini), (1, Some(0.0)));
        assert!((found.clustering.unwrap() - 0.5).abs() < 1e-12);
        // From any node 4 others are 1 edge away, 4 are 2 away, …, 4 are 24 away, 3 are 25 away.
        let length = (4.0 * (24.0 * 25.0 / 2.0) + 3.0 * 25.0) / 99.0;
        assert!((found.path_length.unwrap() - length).abs() < 1e-12);
        let sigma = (0.5 / 0.04) / (length / (100f64.ln() / 4f64.ln()));
        assert!((found.small_world.unwrap() - sigma).abs() < 1e-12);
    }

    poc_laws::laws! {
        #[test]
        fn the_coefficient_is_half_the_relative_mean_difference(
            mut values in proptest::collection::vec(0u32..50, 1..30)
        ) {
            values.sort_unstable();
            match gini(&values) {
                Some(found) => prop_assert!((found - gini_by_pairs(&values)).abs() < 1e-9),
                None => prop_assert!(values.iter().all(|&value| value == 0)),
            }
        }
    }
}
