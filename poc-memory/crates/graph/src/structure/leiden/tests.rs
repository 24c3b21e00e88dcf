//! Tests of the Leiden algorithm: on known graphs, and of its guarantees on random graphs.

use super::csr_graph::CsrGraph;
use super::refinement::refine;
use super::*;
use crate::rng::SeededRng;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Edges = Vec<(u32, u32, f64)>;

fn graph(nodes: u32, edges: &[(u32, u32, f64)]) -> CsrGraph {
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes as usize];
    for &(a, b, weight) in edges {
        rows[a as usize].push((b, weight));
        rows[b as usize].push((a, weight));
    }
    CsrGraph::new(rows.iter().map(|row| row.iter().copied()))
}

fn alone(nodes: u32) -> Vec<u32> {
    (0..nodes).collect()
}

/// Modularity by its definition: over all pairs of nodes in one community, A_ij − k_i k_j / 2m, divided by 2m.
fn by_pairs(nodes: u32, edges: &[(u32, u32, f64)], labels: &[u32]) -> f64 {
    let total: f64 = edges.iter().map(|(_, _, weight)| 2.0 * weight).sum();
    let degree = |node: u32| -> f64 {
        edges.iter().filter(|(a, b, _)| *a == node || *b == node).map(|(_, _, weight)| weight).sum()
    };
    let degrees: Vec<f64> = (0..nodes).map(degree).collect();
    let same = |a: u32, b: u32| labels[a as usize] == labels[b as usize];
    let inside: f64 = edges.iter().filter(|(a, b, _)| same(*a, *b)).map(|(_, _, weight)| 2.0 * weight).sum();
    let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|&(a, b)| same(a, b));
    let chance: f64 = pairs.map(|(a, b)| degrees[a as usize] * degrees[b as usize] / total).sum();
    if total > 0.0 { (inside - chance) / total } else { 0.0 }
}

fn is_connected(members: &[u32], edges: &[(u32, u32, f64)]) -> bool {
    let mut reached = vec![members[0]];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        for &(a, b, _) in edges {
            let other = if a == at { b } else { a };
            if (a == at || b == at) && members.contains(&other) && !reached.contains(&other) {
                reached.push(other);
            }
        }
    }
    reached.len() == members.len()
}

fn groups(labels: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    (0..).zip(labels).for_each(|(node, &label)| groups.entry(label).or_default().push(node));
    groups
}

/// The friendships of a karate club (Zachary 1977). Its best communities have a modularity of 0.4198 (Brandes and
/// others 2008).
const KARATE: [(u32, &[u32]); 26] = [
    (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
    (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
    (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
    (3, &[7, 12, 13]),
    (4, &[6, 10]),
    (5, &[6, 10, 16]),
    (6, &[16]),
    (8, &[30, 32, 33]),
    (9, &[33]),
    (13, &[33]),
    (14, &[32, 33]),
    (15, &[32, 33]),
    (18, &[32, 33]),
    (19, &[33]),
    (20, &[32, 33]),
    (22, &[32, 33]),
    (23, &[25, 27, 29, 32, 33]),
    (24, &[25, 27, 31]),
    (25, &[31]),
    (26, &[29, 33]),
    (27, &[33]),
    (28, &[31, 33]),
    (29, &[32, 33]),
    (30, &[32, 33]),
    (31, &[32, 33]),
    (32, &[33]),
];

#[test]
fn the_karate_club_has_its_best_communities() {
    let edges: Edges = KARATE.iter().flat_map(|(a, others)| others.iter().map(|b| (*a, *b, 1.0))).collect();
    assert_eq!(edges.len(), 78);
    let graph = graph(34, &edges);
    let found: Vec<f64> = (0..20).map(|seed| graph.modularity(&leiden(&graph, &alone(34), seed))).collect();
    assert!(found.iter().all(|modularity| (0.415..0.41979).contains(modularity)), "{found:?}");
    assert!(found.iter().any(|modularity| *modularity > 0.4197), "{found:?}");
}

/// A random edge at a node, in sixteen groups of 32 nodes each. With `inside`, the edge stays in the group of the node.
fn edge(node: u32, inside: bool, random: &SeededRng) -> Option<(u32, u32)> {
    let own = node / 32 * 32 + random.below(0u32, 32);
    let other = if inside { own } else { random.below(0u32, 512) };
    (other != node).then(|| (node.min(other), node.max(other)))
}

fn as_graph(edges: &BTreeSet<(u32, u32)>) -> CsrGraph {
    graph(512, &edges.iter().map(|&(a, b)| (a, b, 1.0)).collect::<Vec<_>>())
}

/// Three of five edges at a node stay in its group and two lead to any node. Label propagation finds one community
/// here.
#[test]
fn groups_are_found_where_many_edges_leave_them() {
    let random = SeededRng::new(3);
    let edges = (0..512).flat_map(|node| (0..5).map(move |turn| (node, turn)));
    let edges: BTreeSet<(u32, u32)> =
        edges.filter_map(|(node, turn)| edge(node, turn % 2 == 0, &random)).collect();
    let graph = as_graph(&edges);
    let planted: Vec<u32> = (0..512).map(|node| node / 32).collect();
    for seed in 0..5 {
        let found = leiden(&graph, &alone(512), seed);
        assert!((8..32).contains(&groups(&found).len()), "{} communities", groups(&found).len());
        let (ours, planted) = (graph.modularity(&found), graph.modularity(&planted));
        assert!(ours > 0.97 * planted, "{ours} is less than that of the planted groups, {planted}");
    }
}

/// Modularity stays close to that of a fresh computation when communities are continued repeatedly while a twentieth of
/// the edges is replaced each time.
#[test]
fn continued_communities_stay_as_good_as_new_ones() {
    let random = SeededRng::new(5);
    let mut edges: BTreeSet<(u32, u32)> =
        (0..2560).filter_map(|turn| edge(turn % 512, turn % 5 > 1, &random)).collect();
    let mut found = leiden(&as_graph(&edges), &alone(512), 1);
    for turn in 0..30 {
        for _ in 0..edges.len() / 20 {
            let removed = edges.iter().nth(random.below(0, edges.len())).copied();
            removed.map(|edge| edges.remove(&edge));
            edges.extend(edge(random.below(0, 512), random.below(0, 5) > 1, &random));
        }
        let graph = as_graph(&edges);
        found = leiden(&graph, &found, 1);
        let (continued, anew) = (graph.modularity(&found), graph.modularity(&leiden(&graph, &alone(512), 1)));
        assert!(continued > 0.97 * anew, "{continued} after {turn} rounds, and {anew} from single nodes");
    }
}

#[test]
fn without_edges_nothing_changes() {
    assert_eq!(leiden(&graph(0, &[]), &[], 1), [0; 0]);
    assert_eq!(leiden(&graph(3, &[]), &[2, 1, 2], 1), [2, 1, 2]);
}

/// A graph of up to 14 nodes with weights from 0.3 to 1.
fn edges() -> impl Strategy<Value = Edges> {
    let edges = proptest::collection::btree_map((0u32..14, 0u32..14), 0.3f64..1.0, 0..50);
    edges.prop_map(|edges| {
        edges.into_iter().filter(|((a, b), _)| a < b).map(|((a, b), weight)| (a, b, weight)).collect()
    })
}

fn labels() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(0u32..14, 14)
}

poc_laws::laws! {
    /// Whatever the start, modularity does not decrease, the nodes with edges of every community are connected, and
    /// no two communities would gain by merging.
    #[test]
    fn communities_are_connected_separated_and_no_worse_than_the_start(
        edges in edges(), start in labels(), seed in any::<u64>(),
    ) {
        let graph = graph(14, &edges);
        for start in [start, alone(14)] {
            let found = leiden(&graph, &start, seed);
            prop_assert!(graph.modularity(&found) >= graph.modularity(&start) - 1e-9);
            if edges.is_empty() {
                continue;
            }
            let groups = groups(&found);
            for members in groups.values() {
                let members: Vec<u32> =
                    members.iter().copied().filter(|&node| graph.degree(node) > 0.0).collect();
                prop_assert!(members.is_empty() || is_connected(&members, &edges), "{members:?}");
            }
            for &one in groups.keys() {
                for (&other, _) in groups.range(one + 1..) {
                    let merged: Vec<u32> =
                        found.iter().map(|&label| if label == other { one } else { label }).collect();
                    prop_assert!(graph.modularity(&merged) <= graph.modularity(&found) + 1e-8);
                }
            }
            prop_assert_eq!(&found, &leiden(&graph, &start, seed));
        }
    }

    /// The parts of a refinement lie within communities, are connected, and have at least the modularity of nodes
    /// that are all alone.
    #[test]
    fn parts_are_connected_subsets_of_communities(edges in edges(), communities in labels(), seed in any::<u64>()) {
        let graph = graph(14, &edges);
        let parts = refine(&graph, &communities, &SeededRng::new(seed));
        for members in groups(&parts).values() {
            let community = communities[members[0] as usize];
            prop_assert!(members.iter().all(|&node| communities[node as usize] == community));
            prop_assert!(is_connected(members, &edges), "{members:?}");
        }
        prop_assert!(graph.modularity(&parts) >= graph.modularity(&alone(14)) - 1e-9);
    }

    /// Modularity equals its definition, also in the graph of merged parts.
    #[test]
    fn modularity_equals_its_definition(edges in edges(), labels in labels(), parts in labels()) {
        let graph = graph(14, &edges);
        let expected = by_pairs(14, &edges, &labels);
        prop_assert!((graph.modularity(&labels) - expected).abs() < 1e-12);
        let mut parts: Vec<u32> = labels.iter().zip(parts).map(|(label, part)| label * 14 + part).collect();
        let known: Vec<u32> = groups(&parts).into_keys().collect();
        parts.iter_mut().for_each(|part| *part = known.binary_search(part).unwrap() as u32);
        let merged = graph.merged(&parts, known.len());
        let mut of_parts = vec![0; known.len()];
        (0..14).for_each(|node| of_parts[parts[node] as usize] = labels[node]);
        let count = of_parts.len() as u32;
        let of_parts: Vec<u32> = of_parts.into_iter().map(|label| label % count.max(1)).collect();
        let of_nodes: Vec<u32> = parts.iter().map(|&part| of_parts[part as usize]).collect();
        prop_assert!((merged.modularity(&of_parts) - graph.modularity(&of_nodes)).abs() < 1e-12);
    }
}
