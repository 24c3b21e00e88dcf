//! Geodesic walks: paths through the graph whose every hop goes in the direction of their target in the spectral
//! embedding, as far as an edge allows.
//!
//! At each hop, the walk moves to the neighbour whose direction is closest to that of the target: the one with the
//! highest cosine between (neighbour − here) and (target − here). This is greedy routing (Kleinberg 2007, "Geographic
//! routing using hyperbolic space"; by direction as in the compass routing of Kranakis, Singh and Urrutia 1999) in the
//! spectral embedding, whose distances come from commute times.

use poc_graph::{Ix, SpectralEmbedding, View};
use rustc_hash::FxHashMap;

/// Cosines that differ by at most this count as equal. Coordinates have seven digits and their differences fewer, so
/// rounding errors would otherwise decide between nodes with the same edges.
const TOLERANCE: f64 = 1e-5;

/// The path from one node to another, including both; `None` if the walk does not arrive within `max_hops`. The walk
/// visits only nodes that `accepts` allows, and none of them twice. If the target is a neighbour, it is the next hop.
/// Among equally good neighbours, the one with the smallest id is chosen.
pub fn walk(
    view: &View,
    embedding: &SpectralEmbedding,
    from: Ix,
    to: Ix,
    max_hops: usize,
    mut accepts: impl FnMut(Ix) -> bool,
) -> Option<Vec<Ix>> {
    let target = embedding.coordinates(to);
    let mut path = vec![from];
    let mut here = from;
    for _ in 0..max_hops {
        if view.are_adjacent(here, to) {
            path.push(to);
            return Some(path);
        }
        let coordinates = embedding.coordinates(here);
        let neighbors = view.merged_edges(here).map(|edge| edge.ix);
        let neighbors = neighbors.filter(|next| !path.contains(next) && accepts(*next));
        let cosines: Vec<(f64, Ix)> = neighbors
            .map(|next| (cosine_from(coordinates, embedding.coordinates(next), target), next))
            .collect();
        let greatest = cosines.iter().map(|(cosine, _)| *cosine).fold(f64::NEG_INFINITY, f64::max);
        let equally_good = cosines.into_iter().filter(|(cosine, _)| *cosine >= greatest - TOLERANCE);
        here = equally_good.map(|(_, next)| next).min_by_key(|&next| view.id(next))?;
        path.push(here);
    }
    None
}

/// The cosine of the angle at `here` between the directions to `a` and to `b`; 0 when either has length 0.
fn cosine_from(here: &[f32], a: &[f32], b: &[f32]) -> f64 {
    let (mut dot, mut first, mut second) = (0.0, 0.0, 0.0);
    for ((&here, &a), &b) in here.iter().zip(a).zip(b) {
        let (a, b) = (f64::from(a) - f64::from(here), f64::from(b) - f64::from(here));
        dot += a * b;
        first += a * a;
        second += b * b;
    }
    let lengths = (first * second).sqrt();
    if lengths > 0.0 { dot / lengths } else { 0.0 }
}

/// The walks between all pairs of a set of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeodesicWalks {
    /// The nodes on the walks that arrived, including their ends, with the number of such walks. The order is
    /// unspecified.
    pub on: Vec<(Ix, usize)>,
    /// The number of walks that arrived.
    pub arrived: usize,
    /// The number of walks tried: one in each direction for every pair of nodes in the same component.
    pub tried: usize,
}

/// Walks in both directions between any two of the nodes in `ends`, which must not repeat a node.
pub fn walks(
    view: &View,
    embedding: &SpectralEmbedding,
    ends: &[Ix],
    max_hops: usize,
    mut accepts: impl FnMut(Ix) -> bool,
) -> GeodesicWalks {
    let mut on: FxHashMap<Ix, usize> = FxHashMap::default();
    let mut walks = GeodesicWalks::default();
    for &from in ends {
        let component = embedding.component(from);
        for &to in ends.iter().filter(|to| **to != from) {
            if component.is_none() || embedding.component(to) != component {
                continue;
            }
            walks.tried += 1;
            if let Some(path) = walk(view, embedding, from, to, max_hops, &mut accepts) {
                walks.arrived += 1;
                path.into_iter().for_each(|ix| *on.entry(ix).or_default() += 1);
            }
        }
    }
    walks.on = on.into_iter().collect();
    walks
}

#[cfg(test)]
mod tests {
    use super::super::spectral::tests::{connected, tree};
    use super::*;
    use poc_graph::testing::view;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn found_walk(view: &View, from: Ix, to: Ix, max_hops: usize) -> Option<Vec<Ix>> {
        walk(view, &SpectralEmbedding::compute(view, 16), from, to, max_hops, |_| true)
    }

    /// 0 — 1 — 2 — 3, with 4 attached to 1. In a tree, every edge is at right angles to all others: seen from 1, the
    /// direction of 3 has a component along the edge to 2 (cosine √½) and none along the edge to 4.
    #[test]
    fn walks_on_a_branching_path_match_those_found_by_hand() {
        let view = view(6, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (1, 4, 1.0)]);
        let embedding = SpectralEmbedding::compute(&view, 16);
        let at = |ix| embedding.coordinates(ix);
        assert!((cosine_from(at(1), at(2), at(3)) - 0.5f64.sqrt()).abs() < 1e-6);
        assert!(cosine_from(at(1), at(4), at(3)).abs() < 1e-6);
        assert_eq!(found_walk(&view, 0, 3, 6), Some(vec![0, 1, 2, 3]));
        assert_eq!(found_walk(&view, 0, 3, 3), Some(vec![0, 1, 2, 3]));
        assert_eq!(found_walk(&view, 0, 3, 2), None);
        // Node 5 has no edges.
        assert_eq!(found_walk(&view, 0, 5, 6), None);
        let both = walks(&view, &embedding, &[0, 3, 5], 6, |_| true);
        assert_eq!((both.arrived, both.tried), (2, 2));
        assert_eq!(
            both.on.into_iter().collect::<BTreeMap<_, _>>(),
            BTreeMap::from([(0, 2), (1, 2), (2, 2), (3, 2)])
        );
        // Without node 2 there is no path, and the walk ends in a dead end.
        assert_eq!(walk(&view, &embedding, 0, 3, 6, |ix| ix != 2), None);
    }

    poc_laws::laws! {
        /// The result is a path from end to end of adjacent nodes without repeats. Between two adjacent
        /// nodes it is the edge.
        #[test]
        fn a_walk_is_a_simple_path(links in connected(), from in 0u32..10, to in 0u32..10, max_hops in 1usize..8) {
            prop_assume!(from != to);
            let view = view(10, &links);
            let found = found_walk(&view, from, to, max_hops);
            if view.are_adjacent(from, to) {
                prop_assert_eq!(found.clone(), Some(vec![from, to]));
            }
            if let Some(path) = found {
                prop_assert_eq!((path.first(), path.last()), (Some(&from), Some(&to)));
                prop_assert!(path.len() - 1 <= max_hops);
                prop_assert!(path.windows(2).all(|hop| view.are_adjacent(hop[0], hop[1])));
                let distinct: std::collections::BTreeSet<_> = path.iter().collect();
                prop_assert_eq!(distinct.len(), path.len());
            }
        }

        /// Between two nodes with the same edges, a walk takes the one with the smaller id first.
        #[test]
        fn twins_are_visited_by_ascending_id(links in connected(), twin in 0u64..10, from in 0u32..10, to in 0u32..10) {
            prop_assume!(from != to && u64::from(to) != twin && u64::from(from) != twin);
            let other = |node: u64| if node == twin { 10 } else { node };
            let copies = links.iter().filter(|(a, b, _)| *a == twin || *b == twin);
            let copies: Vec<_> = copies.map(|&(a, b, strength)| (other(a), other(b), strength)).collect();
            let view = view(11, &[links, copies].concat());
            if let Some(path) = found_walk(&view, from, to, 10) {
                let position = |node: Ix| path.iter().position(|&on| on == node);
                let first = position(twin as Ix);
                prop_assert!(position(10).is_none_or(|copy| first.is_some_and(|first| first < copy)));
            }
        }

        /// In a tree, only the edge towards the target has a component in its direction, so the walk
        /// follows the only path.
        #[test]
        fn in_a_tree_every_walk_arrives(links in tree(), from in 0u32..10, to in 0u32..10) {
            prop_assume!(from != to);
            let view = view(10, &links);
            prop_assert!(found_walk(&view, from, to, 9).is_some());
        }

        /// The order in which the ends are named does not matter.
        #[test]
        fn the_order_of_the_ends_does_not_matter(
            links in connected(),
            ends in Just((0u32..10).collect::<Vec<_>>()).prop_shuffle(), count in 0usize..5, max_hops in 1usize..8,
        ) {
            let view = view(10, &links);
            let embedding = SpectralEmbedding::compute(&view, 16);
            let ends = &ends[..count];
            let mut sorted = ends.to_vec();
            sorted.sort_unstable();
            let of = |ends: &[Ix]| {
                let mut walks = walks(&view, &embedding, ends, max_hops, |_| true);
                walks.on.sort_unstable();
                walks
            };
            let found = of(ends);
            prop_assert_eq!(&found, &of(&sorted));
            prop_assert_eq!(found.tried, count * count.saturating_sub(1));
            prop_assert!(found.on.iter().all(|(_, on)| *on <= found.arrived));
        }
    }
}
