//! Extrapolation along the principal axis of a set of nodes in the spectral embedding.
//!
//! The axis goes through the weighted centroid of the nodes in the direction of their greatest variance: the first
//! principal component (Pearson 1901; Jolliffe 2002) of their weighted coordinates, oriented towards the first node.
//! The score of a node is its projection on the axis minus its distance from the axis, so the best nodes are far along
//! the axis and close to it.

use super::top_k::{Ranked, TopK};
use faer::{Mat, Side};
use poc_graph::{Ix, SpectralEmbedding, View};
use std::collections::BTreeMap;

/// Variances with at most this relative difference count as equal, because coordinates have single precision.
const TOLERANCE: f64 = 1e-6;

/// The principal axis of a set of nodes, in the space of one component.
#[derive(Clone, Debug)]
pub struct PrincipalAxis {
    /// The number of the component in the embedding.
    pub component: u32,
    center: Vec<f64>,
    // A unit vector; empty if the nodes have no direction.
    axis: Vec<f64>,
}

impl PrincipalAxis {
    /// The axis of nodes with their weights, which must be above 0. If the nodes are in several components, the
    /// component with the highest total weight is used, or the larger one if the weights are equal. `None` if no node
    /// has coordinates.
    pub fn through(embedding: &SpectralEmbedding, nodes: &[(Ix, f64)]) -> Option<PrincipalAxis> {
        let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
        for &(ix, weight) in nodes {
            if let Some(component) = embedding.component(ix) {
                *weights.entry(component).or_default() += weight;
            }
        }
        // Component 0 is the largest.
        let heaviest = |a: &(u32, f64), b: &(u32, f64)| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(&a.0));
        let (component, total) = weights.into_iter().max_by(heaviest)?;
        let mut points: Vec<(Vec<f64>, f64)> = nodes
            .iter()
            .filter(|(ix, _)| embedding.component(*ix) == Some(component))
            .map(|&(ix, weight)| {
                (embedding.coordinates(ix).iter().map(|&value| f64::from(value)).collect(), weight / total)
            })
            .collect();
        let dimensions = points.first()?.0.len();
        let mut center = vec![0.0; dimensions];
        for (point, weight) in &points {
            center.iter_mut().zip(point).for_each(|(center, value)| *center += weight * value);
        }
        for (point, _) in &mut points {
            point.iter_mut().zip(&center).for_each(|(value, center)| *value -= center);
        }
        let size = center.iter().map(|value| value * value).sum::<f64>();
        let axis = principal(&points, dimensions, size).unwrap_or_default();
        Some(PrincipalAxis { component, center, axis })
    }

    /// Whether the axis has a direction, which is the case unless all nodes have the same coordinates. Without a
    /// direction, the score is the negative distance from the centre.
    pub fn has_direction(&self) -> bool {
        !self.axis.is_empty()
    }

    /// The projection of a point on the axis minus its distance from the axis.
    pub fn score(&self, point: &[f32]) -> f64 {
        let from_center = || point.iter().zip(&self.center).map(|(&value, center)| f64::from(value) - center);
        let along: f64 = from_center().zip(&self.axis).map(|(value, axis)| value * axis).sum();
        let axis = self.axis.iter().copied().chain(std::iter::repeat(0.0));
        let square: f64 = from_center().zip(axis).map(|(value, axis)| (value - along * axis).powi(2)).sum();
        // Adding 0.0 turns the negative zero of an empty sum into 0.
        along - square.sqrt() + 0.0
    }

    /// The `k` nodes of the component with the highest scores among those that `accepts` allows, best first. Equal
    /// scores are ordered by id.
    pub fn further(
        &self,
        view: &View,
        embedding: &SpectralEmbedding,
        k: usize,
        mut accepts: impl FnMut(Ix) -> bool,
    ) -> Vec<(Ix, f64)> {
        let mut top = TopK::new(k);
        for &ix in embedding.members(self.component) {
            let score = self.score(embedding.coordinates(ix));
            if let Some(id) = view.id(ix) {
                let ranked = Ranked { score, id, payload: ix };
                if top.may_accept(&ranked) && accepts(ix) {
                    top.offer(ranked);
                }
            }
        }
        top.into_sorted().into_iter().map(|ranked| (ranked.payload, ranked.score)).collect()
    }
}

/// The direction of the greatest variance around 0, for points with weights that sum to 1. Among directions of equal
/// variance, and for the sign, the one towards the first point that is not at right angles to all of them is chosen.
/// `None` if all points are equal. `size`, the squared distance of their centre from the origin, is the scale for that
/// comparison.
fn principal(points: &[(Vec<f64>, f64)], dimensions: usize, size: f64) -> Option<Vec<f64>> {
    let value = |point: &[f64], at: usize| point.get(at).copied().unwrap_or(0.0);
    let covariance = Mat::from_fn(dimensions, dimensions, |row, column| {
        points.iter().map(|(point, weight)| weight * value(point, row) * value(point, column)).sum::<f64>()
    });
    let found = covariance.self_adjoint_eigen(Side::Lower).ok()?;
    let variances: Vec<f64> = found.S().column_vector().iter().copied().collect();
    let greatest = variances.iter().copied().fold(0.0, f64::max);
    if greatest <= size * TOLERANCE * TOLERANCE {
        return None;
    }
    let directions: Vec<Vec<f64>> = found
        .U()
        .col_iter()
        .zip(variances)
        .filter(|(_, variance)| *variance >= greatest * (1.0 - TOLERANCE))
        .map(|(direction, _)| direction.iter().copied().collect())
        .collect();
    points.iter().find_map(|(point, _)| {
        let mut axis = vec![0.0; dimensions];
        for direction in &directions {
            let along: f64 = point.iter().zip(direction).map(|(a, b)| a * b).sum();
            axis.iter_mut().zip(direction).for_each(|(axis, value)| *axis += along * value);
        }
        let length = axis.iter().map(|value| value * value).sum::<f64>().sqrt();
        (length > TOLERANCE * greatest.sqrt()).then(|| axis.iter().map(|value| value / length).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::spectral::tests::connected;
    use super::*;
    use poc_graph::testing::view;
    use proptest::prelude::*;

    fn scores(view: &View, nodes: &[(Ix, f64)]) -> BTreeMap<Ix, f64> {
        let embedding = SpectralEmbedding::compute(view, 16);
        let line = PrincipalAxis::through(&embedding, nodes).unwrap();
        line.further(view, &embedding, 99, |_| true).into_iter().collect()
    }

    /// 0 — 1 — 2 — 3. In a tree, every edge is at right angles to all others and here has the length √6 (the root of
    /// the volume). The axis through 2 and 1, towards 2, is the edge between them. Seen from its middle, 3 is √6 · ½
    /// along the axis and √6 away from it; 0 is as far away in the opposite direction.
    #[test]
    fn a_path_matches_values_computed_by_hand() {
        let view = view(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]);
        let root = 6f64.sqrt();
        let expected = [(0, -1.5), (1, -0.5), (2, 0.5), (3, -0.5)];
        let found = scores(&view, &[(2, 1.0), (1, 1.0)]);
        for (ix, expected) in expected {
            assert!((found[&ix] - expected * root).abs() < 1e-5, "{ix}: {}", found[&ix]);
        }
        let embedding = SpectralEmbedding::compute(&view, 16);
        let line = PrincipalAxis::through(&embedding, &[(2, 1.0), (1, 1.0)]).unwrap();
        let others = line.further(&view, &embedding, 1, |ix| ix != 1 && ix != 2);
        assert_eq!(others.first().map(|found| found.0), Some(3));
    }

    #[test]
    fn without_a_direction_the_nearest_node_is_best() {
        let view = view(5, &[(0, 1, 1.0), (1, 2, 1.0)]);
        let embedding = SpectralEmbedding::compute(&view, 16);
        let line = PrincipalAxis::through(&embedding, &[(0, 0.3)]).unwrap();
        assert!(!line.has_direction());
        let found = line.further(&view, &embedding, 9, |_| true);
        assert_eq!(found.iter().map(|(ix, _)| *ix).collect::<Vec<_>>(), [0, 1, 2]);
        assert!((found[1].1 + embedding.distance(0, 1).unwrap()).abs() < 1e-9);
        // Nodes without edges have no coordinates.
        assert!(PrincipalAxis::through(&embedding, &[(3, 1.0), (4, 1.0)]).is_none());
        assert!(PrincipalAxis::through(&embedding, &[]).is_none());
    }

    #[test]
    fn the_heaviest_component_counts() {
        let view = view(5, &[(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0)]);
        let embedding = SpectralEmbedding::compute(&view, 16);
        let component = |nodes: &[(Ix, f64)]| PrincipalAxis::through(&embedding, nodes).unwrap().component;
        let (large, small) = (embedding.component(0).unwrap(), embedding.component(3).unwrap());
        assert_eq!(component(&[(3, 1.0), (0, 0.6), (1, 0.5)]), large);
        assert_eq!(component(&[(3, 1.2), (0, 0.6), (1, 0.5)]), small);
        assert_eq!(component(&[(3, 1.0), (0, 0.5), (1, 0.5)]), large);
    }

    /// The tips of a star vary equally in all directions; the axis points towards the first.
    #[test]
    fn among_equal_directions_the_axis_points_to_the_first_node() {
        let view = view(4, &[(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]);
        for first in 1..4 {
            let mut nodes = vec![(first, 1.0)];
            nodes.extend((1..4).filter(|ix| *ix != first).map(|ix| (ix, 1.0)));
            let found = scores(&view, &nodes);
            assert!((1..4).all(|ix| ix == first || found[&first] > found[&ix] + 1.0), "{first}: {found:?}");
        }
    }

    fn nodes() -> impl Strategy<Value = Vec<(Ix, f64)>> {
        let nodes = Just((0u32..10).collect::<Vec<_>>()).prop_shuffle();
        (nodes, proptest::collection::vec(0.1f64..1.0, 1..5))
            .prop_map(|(nodes, weights)| nodes.into_iter().zip(weights).collect())
    }

    poc_laws::laws! {
        /// Relabelling the nodes does not change the scores. For two nodes, the first is further along the axis than
        /// the second.
        #[test]
        fn relabelling_changes_nothing(
            links in connected(), nodes in nodes(), names in Just((0u64..10).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let name = |ix: u64| names[ix as usize];
            let renamed: Vec<_> = links.iter().map(|&(a, b, s)| (name(a), name(b), s)).collect();
            let moved: Vec<_> = nodes.iter().map(|&(ix, w)| (name(u64::from(ix)) as Ix, w)).collect();
            let (before, after) = (scores(&view(10, &links), &nodes), scores(&view(10, &renamed), &moved));
            for (ix, score) in &before {
                let other = after[&(name(u64::from(*ix)) as Ix)];
                prop_assert!((score - other).abs() < 1e-3, "{}: {} {}", ix, score, other);
            }
            if let [(first, _), (second, _)] = nodes.as_slice() {
                prop_assert!(before[first] > before[second]);
            }
        }

        /// For two nodes, the axis points from the second to the first. Swapping them changes the sign of the
        /// projections.
        #[test]
        fn the_axis_of_two_nodes_goes_through_both(links in connected(), a in 0u32..10, b in 0u32..10, w in 0.1f64..1.0) {
            prop_assume!(a != b);
            let view = view(10, &links);
            let embedding = SpectralEmbedding::compute(&view, 16);
            let point = |ix| embedding.coordinates(ix);
            let (there, back) = (
                PrincipalAxis::through(&embedding, &[(a, 1.0), (b, w)]).unwrap(),
                PrincipalAxis::through(&embedding, &[(b, w), (a, 1.0)]).unwrap(),
            );
            for ix in 0..10 {
                let from_center: Vec<f64> = point(ix).iter().zip(point(a)).zip(point(b))
                    .map(|((&x, &a), &b)| f64::from(x) - (f64::from(a) + w * f64::from(b)) / (1.0 + w)).collect();
                let axis: Vec<f64> =
                    point(a).iter().zip(point(b)).map(|(&a, &b)| f64::from(a) - f64::from(b)).collect();
                let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
                let along = from_center.iter().zip(&axis).map(|(x, y)| x * y / length).sum::<f64>();
                let square = from_center.iter().map(|x| x * x).sum::<f64>();
                let beside = (square - along * along).max(0.0).sqrt();
                prop_assert!((there.score(point(ix)) - (along - beside)).abs() < 1e-3);
                prop_assert!((back.score(point(ix)) - (-along - beside)).abs() < 1e-3);
                prop_assert!(there.score(point(ix)) <= square.sqrt() + 1e-9);
            }
        }
    }
}
