//! Compares embeddings with spectra known in closed form and with the dense solution.

use super::*;
use crate::testing::view;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

type Edges = Vec<(u64, u64, f64)>;

fn embed(nodes: u64, edges: &[(u64, u64, f64)]) -> SpectralEmbedding {
    SpectralEmbedding::compute(&view(nodes, edges), 16)
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-6 * expected.max(1e-3), "{found} instead of {expected}");
    }
}

fn path(nodes: u64) -> Edges {
    (1..nodes).map(|b| (b - 1, b, 1.0)).collect()
}

fn ring(nodes: u64) -> Edges {
    (0..nodes).map(|a| (a, (a + 1) % nodes, 1.0)).collect()
}

fn star(leaves: u64) -> Edges {
    (1..=leaves).map(|leaf| (0, leaf, 0.7)).collect()
}

fn clique(nodes: u64) -> Edges {
    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b, 0.5))).collect()
}

/// The effective resistance between two nodes when every edge conducts as much as it is strong: the
/// potential that drives one unit of current, from Kirchhoff's laws by Gaussian elimination.
fn resistance(nodes: u64, edges: &[(u64, u64, f64)], from: usize, to: usize) -> f64 {
    let size = nodes as usize;
    let mut rows = vec![vec![0.0; size + 1]; size];
    for &(a, b, strength) in edges {
        let (a, b, strength) = (a as usize, b as usize, f64::from(strength as f32));
        for (a, b) in [(a, b), (b, a)] {
            rows[a][a] += strength;
            rows[a][b] -= strength;
        }
    }
    (rows[from][size], rows[to][size]) = (1.0, -1.0);
    // The potential of `to` is 0; nodes without a path to it stay at 0, too.
    rows[to] = (0..=size).map(|column| f64::from(u8::from(column == to))).collect();
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.unwrap());
        if rows[column][column].abs() < 1e-12 {
            continue;
        }
        let above = rows[column].clone();
        for row in (0..size).filter(|&row| row != column) {
            let times = rows[row][column] / above[column];
            rows[row].iter_mut().zip(&above).for_each(|(entry, above)| *entry -= times * above);
        }
    }
    rows[from][size] / rows[from][from]
}

#[test]
fn the_embedding_of_a_path_matches_values_computed_by_hand() {
    let embedding = embed(3, &path(3));
    assert!((embedding.distance(0, 1).unwrap() - 2.0).abs() < 1e-6);
    assert!((embedding.distance(0, 2).unwrap() - 8f64.sqrt()).abs() < 1e-6);
    assert_eq!(embedding.members(0), [0, 1, 2]);
    assert_eq!(embedding.distance(0, 3), None);
}

#[test]
fn small_components_have_their_known_spectra() {
    // Chung 1997, "Spectral graph theory", examples 1.2 to 1.5.
    assert_close(embed(9, &star(8)).eigenvalues(0), &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
    assert_close(embed(6, &clique(6)).eigenvalues(0), &[1.2; 5]);
    let of_path =
        |nodes: u32| (1..nodes).map(move |j| 1.0 - (PI * f64::from(j) / f64::from(nodes - 1)).cos());
    assert_close(embed(20, &path(20)).eigenvalues(0), &of_path(20).collect::<Vec<_>>());
    assert_close(embed(100, &path(100)).eigenvalues(0), &of_path(100).take(16).collect::<Vec<_>>());
}

/// The same for components that are too large for the dense solution.
#[test]
fn large_components_have_their_known_spectra() {
    let of_path: Vec<f64> = (1..=16).map(|j| 1.0 - (PI * f64::from(j) / 399.0).cos()).collect();
    assert_close(embed(400, &path(400)).eigenvalues(0), &of_path);
    // Each eigenvalue of a ring occurs twice.
    let of_ring: Vec<f64> = (1..=8).flat_map(|j| [1.0 - (TAU * f64::from(j) / 400.0).cos(); 2]).collect();
    assert_close(embed(400, &ring(400)).eigenvalues(0), &of_ring);
    // The first eigenvalue alone fills all dimensions.
    assert_close(embed(401, &star(400)).eigenvalues(0), &[1.0; 16]);
}

/// Eigenvalues of a ring occur in pairs. An odd number of dimensions would keep only half of the last pair, so neither
/// half is kept.
#[test]
fn every_eigenvalue_keeps_all_of_its_vectors_or_none() {
    let view = view(100, &ring(100));
    assert_eq!(SpectralEmbedding::compute(&view, 15).eigenvalues(0).len(), 14);
    assert_eq!(SpectralEmbedding::compute(&view, 16).eigenvalues(0).len(), 16);
    // The only eigenvalue of a small star keeps all of its eigenvectors, even beyond the number of dimensions.
    assert_eq!(embed(81, &star(80)).eigenvalues(0).len(), 79);
}

/// Groups of 20 in a ring, each member linked to seven of its group, the groups by two edges.
fn groups() -> Edges {
    let group = |group: u64| {
        let node = move |member: u64| 20 * group + member;
        let inside =
            (0..20).flat_map(move |a| (1..=7).map(move |step| (node(a), node((a * step + step) % 20))));
        let outside = [(node(0), 20 * ((group + 1) % 30) + 5), (node(7), 20 * ((group * 7 + 3) % 30) + 11)];
        inside.chain(outside)
    };
    let pairs: BTreeMap<(u64, u64), f64> = (0..30)
        .flat_map(group)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| ((a.min(b), a.max(b)), 0.3 + ((a * 31 + b * 17) % 70) as f64 / 100.0))
        .collect();
    pairs.into_iter().map(|((a, b), strength)| (a, b, strength)).collect()
}

/// The eigenpairs that the search finds in a connected graph, and all eigenpairs by the dense solution.
fn found_and_dense(nodes: u64, edges: &[(u64, u64, f64)]) -> (Walk, Vec<Eigenpair>, Vec<Eigenpair>) {
    let view = view(nodes, edges);
    let members: Vec<Ix> = (0..nodes as Ix).collect();
    let walk = Walk::new(Adjacency::of(&view, 0.0).subgraph(&members, &mut Vec::new()));
    let random = |turn| (0..nodes as Ix).map(|ix| signed(view.id(ix), turn)).collect();
    let found = spectrum::smallest(&walk, &random, 16);
    assert!(found.converged);
    let dense_pairs = dense::all(&walk);
    (walk, found.pairs, dense_pairs)
}

/// The search finds the eigenvalues of the dense solution with the same multiplicities. Every pair satisfies its
/// equation, and the vectors are orthogonal.
fn check_search(nodes: u64, edges: &[(u64, u64, f64)]) -> (Vec<Eigenpair>, Vec<Eigenpair>) {
    let (walk, found, dense_pairs) = found_and_dense(nodes, edges);
    assert!(!found.is_empty());
    for (at, pair) in found.iter().enumerate() {
        assert!(
            (pair.value - dense_pairs[at].value).abs() < 1e-9,
            "{} instead of {}",
            pair.value,
            dense_pairs[at].value
        );
        let mut image = vec![0.0; nodes as usize];
        filter::multiply(&walk, &pair.vector, &mut image);
        let off = image.iter().zip(&pair.vector).map(|(n, v)| (v - n - pair.value * v).powi(2));
        assert!(off.sum::<f64>().sqrt() < 1e-6);
        for other in &found[..at] {
            assert!(filter::dot(&pair.vector, &other.vector).abs() < 1e-5, "eigenvalue {}", pair.value);
        }
    }
    (found, dense_pairs)
}

#[test]
fn the_search_agrees_with_the_dense_solution() {
    let (found, dense_pairs) = check_search(600, &groups());
    assert_eq!(found.len(), 16);
    // For a simple eigenvalue, both find the same vector, except for its sign.
    for (found, dense_pairs) in found.iter().zip(&dense_pairs) {
        assert!((filter::dot(&found.vector, &dense_pairs.vector).abs() - 1.0).abs() < 1e-6);
    }
}

/// Graphs with multiple eigenvalues, and graphs whose eigenvalues lie close together.
#[test]
fn the_search_finds_multiple_eigenvalues() {
    check_search(65, &ring(65));
    check_search(66, &path(66));
    check_search(65, &star(64));
    check_search(65, &clique(65));
    let torus = |side: u64| -> Edges {
        let number = move |row: u64, column: u64| (row % side) * side + column % side;
        let edges_of = move |row: u64, column: u64| {
            let here = number(row, column);
            [(here, number(row + 1, column), 1.0), (here, number(row, column + 1), 1.0)]
        };
        (0..side * side).flat_map(|node| edges_of(node / side, node % side)).collect()
    };
    check_search(100, &torus(10));
    let sides: Edges = (0..33).flat_map(|a| (33..66).map(move |b| (a, b, 1.0))).collect();
    check_search(66, &sides);
    let cube = |a: u64| (0..7).map(move |bit| (a, a ^ (1 << bit), 1.0)).filter(|(a, b, _)| a < b);
    check_search(128, &(0..128).flat_map(cube).collect::<Edges>());
    // Equal cliques around a hub: the multiplicity of one eigenvalue exceeds the number of dimensions, and the
    // component is too large for the dense solution.
    let around = |group: u64| {
        let first = 1 + 8 * group;
        let inside = clique(8).into_iter().map(move |(a, b, strength)| (first + a, first + b, strength));
        inside.chain([(0, first, 0.5)])
    };
    let (found, _) = check_search(329, &(0..41).flat_map(around).collect::<Edges>());
    assert_eq!(found.len(), 16);
}

/// The same graph gives the same coordinates, to the last bit.
#[test]
fn the_search_is_reproducible() {
    let coordinates = || -> Vec<f32> {
        let embedding = embed(100, &path(100));
        (0..100).flat_map(|ix| embedding.coordinates(ix)).copied().collect()
    };
    let (one, two) = (coordinates(), coordinates());
    assert!(one == two && one.len() == 100 * 16);
}

#[test]
fn every_component_has_its_own_space() {
    let mut edges: Edges = path(4).into_iter().map(|(a, b, s)| (a + 3, b + 3, s)).collect();
    edges.push((0, 2, 0.4));
    let embedding = embed(8, &edges);
    assert_eq!(embedding.component_count(), 2);
    assert_eq!((embedding.members(0), embedding.members(1)), (&[3, 4, 5, 6][..], &[0, 2][..]));
    assert_eq!((embedding.component(1), embedding.coordinates(1)), (None, &[][..]));
    assert_eq!((embedding.distance(0, 3), embedding.distance(1, 1)), (None, None));
    // Volume 0.8, resistance 1 / 0.4.
    assert!((embedding.distance(0, 2).unwrap() - 2f64.sqrt()).abs() < 1e-6);
    assert_eq!(embed(0, &[]).component_count(), 0);
    assert_eq!(embed(2, &[]).component_count(), 0);
}

/// The edges of a connected graph: each node is linked to an earlier one, and some further edges are added.
fn connected() -> impl Strategy<Value = (u64, Edges)> {
    (2u64..12).prop_flat_map(|nodes| {
        let tree = proptest::collection::vec((0.0f64..1.0, 0.05f64..1.0), nodes as usize - 1);
        let more = proptest::collection::vec((0..nodes, 0..nodes, 0.05f64..1.0), 0..15);
        (tree, more).prop_map(move |(tree, more)| {
            let mut edges: BTreeMap<(u64, u64), f64> = BTreeMap::new();
            for (b, (at, strength)) in (1..nodes).zip(tree) {
                edges.insert(((at * b as f64) as u64, b), strength);
            }
            edges.extend(more.into_iter().filter(|(a, b, _)| a < b).map(|(a, b, s)| ((a, b), s)));
            (nodes, edges.into_iter().map(|((a, b), s)| (a, b, s)).collect())
        })
    })
}

poc_laws::laws! {
    /// The square of a distance is the commute time: volume times effective resistance.
    #[test]
    fn a_distance_is_the_root_of_the_commute_time((nodes, edges) in connected(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let (a, b) = (a.index(nodes as usize), b.index(nodes as usize));
        let volume: f64 = edges.iter().map(|(_, _, strength)| 2.0 * f64::from(*strength as f32)).sum();
        let expected = if a == b { 0.0 } else { volume * resistance(nodes, &edges, a, b) };
        let found = embed(nodes, &edges).distance(a as Ix, b as Ix).unwrap().powi(2);
        prop_assert!((found - expected).abs() <= 1e-4 * (1.0 + expected), "{found} instead of {expected}");
    }

    /// Distances depend neither on the order in which nodes were added nor on their ids.
    #[test]
    fn distances_follow_the_nodes((nodes, edges) in connected(), turn in 1u64..12) {
        let number = |node: u64| (node + turn) % nodes;
        let renumbered: Edges = edges.iter().map(|&(a, b, strength)| (number(a), number(b), strength)).collect();
        let (one, two) = (embed(nodes, &edges), embed(nodes, &renumbered));
        for a in 0..nodes {
            let found = two.distance(number(0) as Ix, number(a) as Ix).unwrap();
            let expected = one.distance(0, a as Ix).unwrap();
            prop_assert!((found - expected).abs() <= 1e-4 * (1.0 + expected), "{found} instead of {expected}");
        }
    }
}

/// The same for components that are too large for the dense solution, with the nodes in another order.
#[test]
fn large_components_do_not_depend_on_the_order() {
    let edges = groups();
    let renumbered: Edges =
        edges.iter().map(|&(a, b, s)| ((a * 7 + 3) % 600, (b * 7 + 3) % 600, s)).collect();
    let (one, two) = (embed(600, &edges), embed(600, &renumbered));
    for a in (1..600).step_by(37) {
        let expected = one.distance(0, a).unwrap();
        let found = two.distance(3, (a * 7 + 3) % 600).unwrap();
        assert!((found - expected).abs() < 1e-3 * expected, "{found} instead of {expected}");
    }
}
