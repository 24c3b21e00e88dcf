use super::*;
use crate::graph::{Delta, EdgeKind, testing};
use std::sync::Arc;

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

#[test]
fn the_path_of_three_by_hand() {
    let embedding = Embedding::compute(&view(3, &[(0, 1, 1.0), (1, 2, 1.0)]), 16);
    let distance = |a, b| embedding.distance(a, b).unwrap();
    assert!((distance(0, 1) - 2.0).abs() < 1e-6, "{}", distance(0, 1));
    assert!((distance(0, 2) - 8f64.sqrt()).abs() < 1e-6, "{}", distance(0, 2));
    assert_eq!(embedding.members(0), [0, 1, 2]);
}

/// A ring of 400: commute time d·(400 − d)/400 · 800 summed over all pairs of eigenvectors.
#[test]
fn a_ring_over_the_dense_bound() {
    let edges: Vec<_> = (0..400).map(|a| (a, (a + 1) % 400, 1.0)).collect();
    let embedding = Embedding::compute(&view(400, &edges), 16);
    let values: Vec<f64> =
        (1..=8).flat_map(|j| [1.0 - (std::f64::consts::TAU * f64::from(j) / 400.0).cos(); 2]).collect();
    for (found, expected) in embedding.eigenvalues(0).iter().zip(&values) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
    assert_eq!(embedding.eigenvalues(0).len(), 16);
}
