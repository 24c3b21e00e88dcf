//! Graph drawing: coordinates of nodes in two and three dimensions.
//!
//! Each connected component starts from its spectral embedding, which places strongly connected nodes
//! close together (Hall 1970, Koren 2005). The start positions are spread evenly along every axis, and a
//! force simulation then refines them. Components are placed side by side. The layout depends only on
//! the nodes, their ids and the edges among them, so a small change of the graph moves most nodes little.
//!
//! The work is bounded: each step computes about n · (k + 200) forces for n nodes of degree k.

mod forces;
mod orientation;
mod shells;

use super::adjacency::Adjacency;
use super::id_hash::signed;
use super::spectral_embedding;
use crate::Ix;
use crate::NodeId;
use crate::View;
use std::cmp::Reverse;

/// Start coordinates that differ by less than this share of the axis are ordered pseudo-randomly by id. Their exact
/// order changes with every edge and would make the layout unstable.
const BLUR: f64 = 1e-3;

/// Positions of nodes, in the order in which the nodes were given. The unit of length is the distance of two adjacent
/// nodes without other forces. The centre of the largest component is the origin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Positions in two dimensions.
    pub plane: Vec<[f64; 2]>,
    /// Positions in three dimensions.
    pub space: Vec<[f64; 3]>,
}

impl View {
    /// Lays out the subgraph of these nodes, which must be distinct. The result depends neither on the rest of the
    /// graph nor on the order of the nodes.
    pub fn layout(&self, nodes: &[Ix]) -> Layout {
        let (components, given_positions) = self.components_of(nodes);
        Layout {
            plane: pack_components(&components, &given_positions),
            space: pack_components(&components, &given_positions),
        }
    }

    /// Like [`View::layout`], but only in two dimensions, which takes less than half the time. `space` is empty.
    pub fn plane_layout(&self, nodes: &[Ix]) -> Layout {
        let (components, given_positions) = self.components_of(nodes);
        Layout { plane: pack_components(&components, &given_positions), space: Vec::new() }
    }

    /// The components of the subgraph of these nodes, and the position of each given node in the order by id.
    fn components_of(&self, nodes: &[Ix]) -> (Vec<Component>, Vec<usize>) {
        let mut order: Vec<(Option<NodeId>, usize)> =
            nodes.iter().enumerate().map(|(index, &ix)| (self.id(ix), index)).collect();
        order.sort_unstable();
        let ordered: Vec<Ix> = order.iter().filter_map(|&(_, index)| nodes.get(index).copied()).collect();
        let edges = Adjacency::among(self, &ordered);
        let ids: Vec<Option<NodeId>> = order.iter().map(|&(id, _)| id).collect();
        (components(&edges, &ids), order.iter().map(|&(_, given)| given).collect())
    }
}

/// A connected component.
struct Component {
    /// Positions of the nodes in the order by id.
    members: Vec<Ix>,
    ids: Vec<Option<NodeId>>,
    /// Edges among the members, by position in `members`.
    edges: Adjacency,
    /// The leading coordinates of the spectral embedding.
    coordinates: Vec<[f64; 3]>,
}

/// The components of a graph, largest first; components of the same size are ordered by their smallest id.
fn components(edges: &Adjacency, ids: &[Option<NodeId>]) -> Vec<Component> {
    let mut groups: Vec<Vec<Ix>> = Vec::new();
    edges.for_each_part(|_| true, |_, _| true, |part| groups.push(part.to_vec()));
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_by_key(|group| (Reverse(group.len()), group.first().copied()));
    let mut positions = Vec::new();
    let component = |members: Vec<Ix>| {
        let own: Vec<Option<NodeId>> =
            members.iter().map(|&ix| ids.get(ix as usize).copied().flatten()).collect();
        let edges = edges.subgraph(&members, &mut positions);
        let random = |turn: u64| -> Vec<f64> { own.iter().map(|&id| signed(id, turn)).collect() };
        let mut numbers = Vec::new();
        let dimensions = match members.len() {
            1 => 0,
            _ => spectral_embedding::write_coordinates(edges.clone(), &random, 3, &mut numbers)
                .eigenvalues
                .len(),
        };
        let row = |node: usize| numbers.get(node * dimensions..(node + 1) * dimensions).unwrap_or_default();
        let first =
            |node: usize| std::array::from_fn(|axis| row(node).get(axis).map_or(0.0, |&x| f64::from(x)));
        let coordinates = (0..members.len()).map(first).collect();
        Component { members, ids: own, edges, coordinates }
    };
    groups.into_iter().map(component).collect()
}

/// The positions of all nodes; `given_positions` maps the order by id to the order given.
fn pack_components<const D: usize>(components: &[Component], given_positions: &[usize]) -> Vec<[f64; D]> {
    let layouts: Vec<(Vec<[f64; D]>, f64)> = components.iter().map(lay_out_component).collect();
    let radii: Vec<f64> = layouts.iter().map(|(_, radius)| *radius).collect();
    let mut positions = vec![[0.0; D]; given_positions.len()];
    for ((component, (own, _)), center) in components.iter().zip(&layouts).zip(shells::centers::<D>(&radii)) {
        for (&member, position) in component.members.iter().zip(own) {
            let slot = given_positions.get(member as usize).and_then(|&given| positions.get_mut(given));
            if let Some(slot) = slot {
                *slot = std::array::from_fn(|axis| at(position, axis) + at(&center, axis));
            }
        }
    }
    positions
}

/// Lays out one component around the origin; returns the positions and the radius.
fn lay_out_component<const D: usize>(component: &Component) -> (Vec<[f64; D]>, f64) {
    let count = component.members.len();
    let mut positions = vec![[0.0; D]; count];
    if count > 1 {
        let mut start: Vec<[f64; D]> = component.coordinates.iter().map(first_of).collect();
        orientation::orient(&mut start, &component.ids);
        for axis in 0..D {
            spread(component, &start, axis, &mut positions);
        }
        let jitter = |node: usize, turn: u64| signed(component.ids.get(node).copied().flatten(), turn);
        forces::relax(&component.edges, &mut positions, &jitter);
    }
    let middle: [f64; D] = std::array::from_fn(|axis| {
        positions.iter().map(|position| at(position, axis)).sum::<f64>() / count as f64
    });
    let mut farthest: f64 = 0.0;
    for position in &mut positions {
        *position = std::array::from_fn(|axis| at(position, axis) - at(&middle, axis));
        farthest = farthest.max(position.iter().map(|x| x * x).sum::<f64>().sqrt());
    }
    (positions, farthest + forces::SPACING / 2.0)
}

/// Sets one axis: spaces the nodes evenly in the order of their start coordinates, so that the layout
/// fills a square or a cube. Nodes with almost equal coordinates are ordered pseudo-randomly.
fn spread<const D: usize>(
    component: &Component,
    start: &[[f64; D]],
    axis: usize,
    positions: &mut [[f64; D]],
) {
    let coordinates = || start.iter().map(|position| at(position, axis));
    let range = coordinates().fold(f64::MIN, f64::max) - coordinates().fold(f64::MAX, f64::min);
    let blurred = coordinates()
        .zip(&component.ids)
        .map(|(x, &id)| x + (range * BLUR).max(f64::MIN_POSITIVE) * signed(id, axis as u64));
    let mut order: Vec<(f64, usize)> = blurred.zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = positions.len() as f64;
    let extent = forces::SPACING * count.powf(1.0 / D as f64);
    for (rank, (_, node)) in order.into_iter().enumerate() {
        if let Some(slot) = positions.get_mut(node).and_then(|position| position.get_mut(axis)) {
            *slot = ((rank as f64 + 0.5) / count - 0.5) * extent;
        }
    }
}

fn first_of<const D: usize>(coordinates: &[f64; 3]) -> [f64; D] {
    std::array::from_fn(|axis| coordinates.get(axis).copied().unwrap_or(0.0))
}

fn at<const D: usize>(position: &[f64; D], axis: usize) -> f64 {
    position.get(axis).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn distance<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn nearest<const D: usize>(positions: &[[f64; D]]) -> f64 {
        let pairs = positions
            .iter()
            .enumerate()
            .flat_map(|(at, a)| positions.iter().skip(at + 1).map(move |b| (a, b)));
        pairs.map(|(a, b)| distance(a, b)).fold(f64::INFINITY, f64::min)
    }

    /// Three cliques of ten nodes, and one edge between each two of them.
    fn groups() -> Vec<(u64, u64, f64)> {
        let within = (0..30).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|(a, b)| a / 10 == b / 10);
        let mut edges: Vec<(u64, u64, f64)> = within.map(|(a, b)| (a, b, 0.9)).collect();
        edges.extend([(0, 10, 0.4), (11, 20, 0.4), (21, 1, 0.4)]);
        edges
    }

    #[test]
    fn graphs_of_zero_and_one_node_have_a_layout() {
        let view = testing::view(1, &[]);
        assert_eq!(view.layout(&[]), Layout::default());
        assert_eq!(view.layout(&[0]), Layout { plane: vec![[0.0; 2]], space: vec![[0.0; 3]] });
    }

    #[test]
    fn two_adjacent_nodes_are_about_one_apart() {
        let layout = testing::view(2, &[(0, 1, 1.0)]).layout(&[0, 1]);
        let (plane, space) = (nearest(&layout.plane), nearest(&layout.space));
        assert!((plane - 1.0).abs() < 0.2 && (space - 1.0).abs() < 0.2, "{plane} {space}");
    }

    #[test]
    fn groups_are_drawn_apart() {
        let view = testing::view(30, &groups());
        let layout = view.layout(&(0..30).collect::<Vec<Ix>>());
        let mean = |same: bool| {
            let pairs = (0..30usize).flat_map(|a| (0..a).map(move |b| (a, b)));
            let far: Vec<f64> = pairs
                .filter(|(a, b)| (a / 10 == b / 10) == same)
                .map(|(a, b)| distance(&layout.plane[a], &layout.plane[b]))
                .collect();
            far.iter().sum::<f64>() / far.len() as f64
        };
        assert!(mean(false) > 2.0 * mean(true), "{} {}", mean(false), mean(true));
        assert!(nearest(&layout.plane) > 0.1, "{}", nearest(&layout.plane));
    }

    #[test]
    fn one_more_node_moves_the_others_little() {
        let mut edges = groups();
        let before = testing::view(30, &edges).layout(&(0..30).collect::<Vec<Ix>>());
        edges.push((30, 5, 0.6));
        let after = testing::view(31, &edges).layout(&(0..31).collect::<Vec<Ix>>());
        let moved: f64 =
            before.plane.iter().zip(&after.plane).map(|(a, b)| distance(a, b)).sum::<f64>() / 30.0;
        let reach = before.plane.iter().map(|position| distance(position, &[0.0; 2])).fold(0.0, f64::max);
        assert!(moved < 0.35 * reach, "moved {moved} of {reach}");
    }

    #[test]
    fn components_are_drawn_side_by_side() {
        let view = testing::view(40, &[(0, 1, 0.5), (1, 2, 0.5), (3, 4, 0.5)]);
        let layout = view.layout(&(0..40).collect::<Vec<Ix>>());
        assert!(nearest(&layout.plane) > 0.4 && nearest(&layout.space) > 0.4);
    }

    #[test]
    fn stars_and_cliques_have_distinct_positions() {
        let star: Vec<(u64, u64, f64)> = (1..300).map(|leaf| (0, leaf, 0.7)).collect();
        let clique = (0..80).flat_map(|a| (0..a).map(move |b| (a, b, 1.0))).collect::<Vec<_>>();
        for (nodes, edges) in [(300, star), (80, clique)] {
            let layout = testing::view(nodes, &edges).layout(&(0..nodes as Ix).collect::<Vec<Ix>>());
            assert!(nearest(&layout.plane) > 0.02 && nearest(&layout.space) > 0.02);
        }
    }

    /// Nodes are spread evenly even if a node has more close nodes than repel it at once. No nodes gather at the
    /// borders of the grid.
    #[test]
    fn crowded_nodes_are_spread_evenly() {
        let count = 900u64;
        let edges: Vec<(u64, u64, f64)> = (0..count)
            .flat_map(|a| (1..12).map(move |step| (a, (a * 7 + step * step * 31) % count, 0.9)))
            .filter(|(a, b, _)| a != b)
            .collect();
        let layout = testing::view(count, &edges).layout(&(0..count as Ix).collect::<Vec<Ix>>());
        for axis in 0..2 {
            let mut coordinates: Vec<f64> = layout.plane.iter().map(|position| position[axis]).collect();
            coordinates.sort_by(f64::total_cmp);
            let range = coordinates[coordinates.len() - 1] - coordinates[0];
            // Every hundredth of the axis contains few of the nodes.
            let max = coordinates
                .iter()
                .enumerate()
                .map(|(at, x)| coordinates[at..].partition_point(|other| *other < x + range / 100.0));
            let max = max.max().unwrap();
            assert!(max < 50, "{max} of {count} nodes in a hundredth of axis {axis}");
        }
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// For any graph, positions are finite and distinct. They depend neither on the order of the
        /// nodes nor on the rest of the graph.
        #[test]
        fn positions_are_finite_distinct_and_independent_of_order(
            edges in proptest::collection::vec((0u64..30, 0u64..30, 0.01f64..1.0), 0..60),
            order in Just((0..25).collect::<Vec<Ix>>()).prop_shuffle(),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b, _)| a != b).collect();
            let view = testing::view(30, &edges);
            let sorted: Vec<Ix> = (0..25).collect();
            let layout = view.layout(&sorted);
            prop_assert!(layout.plane.iter().flatten().chain(layout.space.iter().flatten()).all(|x| x.is_finite()));
            prop_assert!(nearest(&layout.plane) > 1e-3, "{}", nearest(&layout.plane));
            let shuffled = view.layout(&order);
            prop_assert_eq!(&view.plane_layout(&sorted).plane, &layout.plane);
            for (index, &ix) in order.iter().enumerate() {
                prop_assert_eq!(shuffled.plane[index], layout.plane[ix as usize]);
                prop_assert_eq!(shuffled.space[index], layout.space[ix as usize]);
            }
            let among: Vec<_> = edges.into_iter().filter(|(a, b, _)| *a < 25 && *b < 25).collect();
            prop_assert_eq!(testing::view(25, &among).layout(&sorted), layout);
        }
    }
}
