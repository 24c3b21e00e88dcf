//! Nearest neighbours in the spectral embedding, where the distance of two nodes is the square root of their commute
//! time ([`SpectralEmbedding`]; Qiu and Hancock 2007).
//!
//! The distance from a seed of weight w is divided by w, where the weight of the heaviest seed is scaled to 1. If the
//! node has an edge of strength s to the seed, the distance is also divided by s, so that a weak edge does not make a
//! node near. The distance of a node is the smallest of its distances from the seeds.

use super::top_k::{Ranked, TopK};
use poc_graph::{Ix, SpectralEmbedding, View};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The `k` nodes nearest to the seeds with their distances (0 or more), nearest first. Equal distances are ordered by
/// id. Only nodes that `accepts` accepts and that are in the component of a seed are returned. Weights must be above
/// 0; seeds without coordinates are ignored.
pub fn nearest(
    view: &View,
    embedding: &SpectralEmbedding,
    seeds: &[(Ix, f64)],
    k: usize,
    mut accepts: impl FnMut(Ix) -> bool,
) -> Vec<(Ix, f64)> {
    let heaviest = seeds.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let mut components: BTreeMap<u32, Vec<Seed<'_>>> = BTreeMap::new();
    let mut linked: FxHashMap<Ix, Vec<(Ix, f64)>> = FxHashMap::default();
    for &(ix, weight) in seeds.iter().filter(|(_, weight)| *weight > 0.0) {
        if let Some(component) = embedding.component(ix) {
            let seed = Seed { ix, weight: weight / heaviest, coordinates: embedding.coordinates(ix) };
            components.entry(component).or_default().push(seed);
            for edge in view.merged_edges(ix) {
                linked.entry(edge.ix).or_default().push((ix, edge.strength));
            }
        }
    }
    let mut top: TopK<Ranked<Ix>> = TopK::new(k);
    for (component, seeds) in components {
        for &ix in embedding.members(component) {
            // Most nodes are rejected after a few coordinates, because they are already too far away.
            let mut distance = top.floor().map_or(f64::INFINITY, |worst| -worst.score);
            let mut found = false;
            let coordinates = embedding.coordinates(ix);
            let edges = linked.get(&ix).map_or(&[][..], Vec::as_slice);
            for seed in &seeds {
                let Some(scaled) = seed.distance(coordinates, distance) else { continue };
                let edge = edges.iter().find(|(other, _)| *other == seed.ix);
                let scaled = edge.map_or(scaled, |(_, strength)| scaled / strength);
                if scaled <= distance {
                    (distance, found) = (scaled, scaled.is_finite());
                }
            }
            if let Some(id) = view.id(ix).filter(|_| found) {
                let ranked = Ranked { score: -distance, id, payload: ix };
                if top.may_accept(&ranked) && accepts(ix) {
                    top.offer(ranked);
                }
            }
        }
    }
    top.into_sorted().into_iter().map(|ranked| (ranked.payload, -ranked.score)).collect()
}

struct Seed<'a> {
    ix: Ix,
    // The weight of the seed, above 0 and at most 1.
    weight: f64,
    coordinates: &'a [f32],
}

impl Seed<'_> {
    /// The scaled distance of a point from the seed; `None` if it exceeds `max` or the point is empty.
    fn distance(&self, coordinates: &[f32], max: f64) -> Option<f64> {
        if coordinates.is_empty() {
            return None;
        }
        // The limit is slightly larger because the result is rounded.
        let limit = (max * self.weight).powi(2) * (1.0 + 1e-5);
        let mut square = 0.0;
        for (mine, theirs) in self.coordinates.chunks(4).zip(coordinates.chunks(4)) {
            let pairs = mine.iter().zip(theirs);
            square += pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>();
            if square > limit {
                return None;
            }
        }
        Some(rounded(square.sqrt() / self.weight))
    }
}

/// Rounds a distance to six digits, the precision of the coordinates. Nodes that are equally far by symmetry are then
/// ordered by id and not by rounding errors.
fn rounded(distance: f64) -> f64 {
    const DROPPED_BITS: u32 = 32;
    f64::from_bits((distance.to_bits() + (1 << (DROPPED_BITS - 1))) >> DROPPED_BITS << DROPPED_BITS)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use poc_graph::testing::view;
    use proptest::prelude::*;

    fn all(view: &View, seeds: &[(Ix, f64)], k: usize) -> Vec<(Ix, f64)> {
        let embedding = SpectralEmbedding::compute(view, 16);
        nearest(view, &embedding, seeds, k, |ix| !seeds.iter().any(|(seed, _)| *seed == ix))
    }

    fn close(found: &[(Ix, f64)], expected: &[(Ix, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-5, "{found:?} {expected:?}");
        }
    }

    /// 0 —1— 1 —½— 2. The volume is 3. The resistance is 1 between 0 and 1, 2 between 1 and 2, and 3 between 0 and 2. A
    /// distance is the root of volume × resistance.
    #[test]
    fn a_path_matches_values_computed_by_hand() {
        let view = view(3, &[(0, 1, 1.0), (1, 2, 0.5)]);
        let (one, two, three) = (3f64.sqrt(), 6f64.sqrt(), 9f64.sqrt());
        close(&all(&view, &[(0, 0.2)], 9), &[(1, one), (2, three)]);
        // The edge of strength ½ doubles the distance.
        close(&all(&view, &[(1, 7.0)], 9), &[(0, one), (2, two * 2.0)]);
        close(&all(&view, &[(1, 1.0)], 1), &[(0, one)]);
        // Seen from both; the edge of strength ½ doubles the distance from 2.
        close(&all(&view, &[(0, 0.5), (2, 1.0)], 9), &[(1, one / 0.5)]);
        close(&all(&view, &[(0, 1.0), (2, 0.5)], 9), &[(1, one)]);
    }

    #[test]
    fn other_components_and_seeds_without_edges_have_no_neighbors() {
        let view = view(5, &[(0, 1, 1.0), (2, 3, 1.0)]);
        close(&all(&view, &[(0, 1.0)], 9), &[(1, 2f64.sqrt())]);
        assert_eq!(all(&view, &[(4, 1.0)], 9), []);
        assert_eq!(all(&view, &[], 9), []);
        assert_eq!(all(&view, &[(0, 1.0)], 0), []);
        // Two components at once: equally far, by id.
        close(&all(&view, &[(2, 1.0), (0, 1.0), (4, 1.0)], 9), &[(1, 2f64.sqrt()), (3, 2f64.sqrt())]);
    }

    /// The links of a tree of ten nodes.
    pub(crate) fn tree() -> impl Strategy<Value = Vec<(u64, u64, f64)>> {
        let parents: Vec<_> = (1u64..10).map(|node| (0..node, 0.1f64..1.0)).collect();
        parents.prop_map(|parents| {
            let numbered = parents.into_iter().zip(1u64..);
            numbered.map(|((parent, strength), node)| (parent, node, strength)).collect()
        })
    }

    /// The links of a connected graph of ten nodes: a tree and some more.
    pub(crate) fn connected() -> impl Strategy<Value = Vec<(u64, u64, f64)>> {
        let more = proptest::collection::vec((0u64..10, 0u64..10, 0.1f64..1.0), 0..8);
        (tree(), more).prop_map(|(tree, more)| {
            tree.into_iter().chain(more.into_iter().filter(|(a, b, _)| a != b)).collect()
        })
    }

    fn seeds() -> impl Strategy<Value = Vec<(Ix, f64)>> {
        let seeds = proptest::collection::btree_map(0u32..10, 0.1f64..1.0, 1..4);
        seeds.prop_map(|seeds| seeds.into_iter().collect())
    }

    poc_laws::laws! {
        /// The neighbours equal those of a brute-force search, for any `k`.
        #[test]
        fn neighbors_equal_their_definition(links in connected(), seeds in seeds(), k in 1usize..11) {
            let view = view(10, &links);
            let embedding = SpectralEmbedding::compute(&view, 16);
            let heaviest = seeds.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
            let mut expected: Vec<(Ix, f64)> = (0..10)
                .filter(|ix| !seeds.iter().any(|(seed, _)| seed == ix))
                .map(|ix| {
                    let seen = seeds.iter().map(|&(seed, weight)| {
                        let edge = view.merged_edges(seed).find(|edge| edge.ix == ix);
                        let scale = edge.map_or(1.0, |edge| 1.0 / edge.strength);
                        embedding.distance(seed, ix).unwrap() * scale / (weight / heaviest)
                    });
                    (ix, seen.fold(f64::INFINITY, f64::min))
                })
                .collect();
            expected.sort_by(|a, b| a.1.total_cmp(&b.1));
            expected.truncate(k);
            let found = all(&view, &seeds, k);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                // Nodes that are equally far up to rounding may swap.
                prop_assert!((found.1 - expected.1).abs() < 1e-6 * expected.1.max(1.0));
            }
        }

        /// Relabelling the nodes does not change the distances.
        #[test]
        fn relabelling_changes_nothing(
            links in connected(), seeds in seeds(), names in Just((0u64..10).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let name = |ix: u64| names[ix as usize];
            let renamed: Vec<_> = links.iter().map(|&(a, b, s)| (name(a), name(b), s)).collect();
            let moved: Vec<_> = seeds.iter().map(|&(ix, w)| (name(u64::from(ix)) as Ix, w)).collect();
            let distances = |found: Vec<(Ix, f64)>| found.into_iter().collect::<BTreeMap<Ix, f64>>();
            let before = distances(all(&view(10, &links), &seeds, 10));
            let after = distances(all(&view(10, &renamed), &moved, 10));
            prop_assert_eq!(before.len(), after.len());
            for (ix, distance) in before {
                let other = after[&(name(u64::from(ix)) as Ix)];
                prop_assert!((distance - other).abs() < 1e-4 * distance, "{} {}", distance, other);
            }
        }
    }
}
