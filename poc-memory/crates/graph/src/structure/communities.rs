//! Communities by the Leiden algorithm.

use super::adjacency::Adjacency;
use super::id_hash::hash_ids;
use super::leiden::{CsrGraph, leiden};
use super::partition::Partition;
use crate::Ix;
use crate::NodeId;
use crate::View;
use rustc_hash::FxHashMap;

/// The community of each live node.
#[derive(Clone, Debug, Default)]
pub struct Communities {
    parts: Partition,
}

impl Communities {
    /// Edges weaker than this are ignored.
    pub const MIN_STRENGTH: f64 = 0.3;

    /// Maximum share of changed edges, 0–1, up to which communities are continued rather than computed from scratch.
    pub(super) const MAX_CONTINUED_DRIFT: f64 = 0.2;

    /// The seed of the random choices. It is arbitrary: other seeds give nearly the same modularity.
    const SEED: u64 = 0x1E1D_E4A1;

    /// Finds communities with the Leiden algorithm (Traag, Waltman and van Eck 2019), with modularity as the objective.
    /// It uses the edges of at least [`Communities::MIN_STRENGTH`] between live nodes, weighted by strength. Every
    /// community is connected.
    ///
    /// Random choices follow from the node ids and a fixed seed, so the result depends only on the graph.
    ///
    /// Communities are numbered by size: 0 is the largest. Equally large communities are ordered by their smallest node
    /// id.
    pub fn compute(view: &View) -> Self {
        Self::starting_from(view, |_| None)
    }

    /// Like [`Communities::compute`], but starts from the communities of an earlier state of the same view, so that
    /// communities that are still well connected stay as they are. Nodes created since start as communities of their
    /// own.
    pub fn continued(view: &View, earlier: &Communities) -> Self {
        Self::starting_from(view, |ix| earlier.of(ix))
    }

    /// Computes communities, starting from an earlier community of each node; `None` means that a node starts alone.
    fn starting_from(view: &View, earlier: impl Fn(Ix) -> Option<u32>) -> Self {
        let strong = Adjacency::of(view, Self::MIN_STRENGTH);
        // Numbered by a hash of the ids, so that the result does not depend on the order of insertion.
        let mut order: Vec<(u64, NodeId, Ix)> = (0..strong.rows())
            .filter(|&ix| view.is_live(ix))
            .filter_map(|ix| view.id(ix).map(|id| (hash_ids(Some(id), None), id, ix)))
            .collect();
        order.sort_unstable();
        let order: Vec<Ix> = order.into_iter().map(|(_, _, ix)| ix).collect();
        let mut positions = Vec::new();
        let part = strong.subgraph(&order, &mut positions);
        let rows = part.rows_in(0..order.len());
        let graph = CsrGraph::new(rows.map(|row| row.iter().map(|end| (end.ix, f64::from(end.strength)))));
        let labels = leiden(&graph, &starting_labels(&order, earlier), Self::SEED);
        let label = |ix: Ix| positions.get(ix as usize).and_then(|&position| labels.get(position as usize));
        let parts = Partition::of(view, &strong, |ix| view.is_live(ix), |a, b| label(a) == label(b));
        Communities { parts }
    }

    /// Creates communities from a community number per node; `u32::MAX` means none.
    pub(super) fn numbered(numbers: Vec<u32>) -> Self {
        Communities { parts: Partition::numbered(numbers) }
    }

    /// The community of a node; `None` if the node was not live.
    #[inline]
    pub fn of(&self, ix: Ix) -> Option<u32> {
        self.parts.number(ix)
    }

    /// The number of communities.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// The members of a community, by ascending index.
    pub fn members(&self, community: u32) -> &[Ix] {
        self.parts.members(community)
    }

    /// Number of members of each community, largest first.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.parts.sizes()
    }

    /// One past the greatest node index.
    pub(super) fn slots(&self) -> usize {
        self.parts.slots()
    }
}

/// A starting label for each node of `order`: the first node of the same earlier community, or itself.
fn starting_labels(order: &[Ix], earlier: impl Fn(Ix) -> Option<u32>) -> Vec<u32> {
    let mut first: FxHashMap<u32, u32> = FxHashMap::default();
    let label =
        |(position, &ix)| earlier(ix).map_or(position, |number| *first.entry(number).or_insert(position));
    (0..).zip(order).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::EdgeKind;
    use crate::State;
    use crate::testing;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn view(numbers: &[u64], edges: &[(u64, u64, f64)]) -> View {
        let mut view = View::new();
        let mut deltas: Vec<Delta> =
            numbers.iter().map(|&number| Delta::Node(Arc::new(testing::node(number)))).collect();
        deltas.extend(
            edges.iter().map(|&(a, b, strength)| Delta::from(testing::edge(a, b, EdgeKind::Link, strength))),
        );
        view.apply(1, &deltas);
        view
    }

    /// The members of each community as node numbers, in order.
    fn members(view: &View) -> Vec<Vec<u64>> {
        let communities = Communities::compute(view);
        let mut members: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for ix in 0..view.slots() {
            if let Some(number) = communities.of(ix) {
                members.entry(number).or_default().push(view.key(ix)[1..].parse().unwrap());
            }
        }
        let mut all: Vec<Vec<u64>> = members.into_values().collect();
        all.iter_mut().for_each(|numbers| numbers.sort_unstable());
        assert!(communities.sizes().eq(all.iter().map(Vec::len)));
        all
    }

    fn clique(numbers: std::ops::Range<u64>) -> Vec<(u64, u64, f64)> {
        numbers.clone().flat_map(|a| (a + 1..numbers.end).map(move |b| (a, b, 0.8))).collect()
    }

    #[test]
    fn two_groups_joined_by_one_edge_are_two_communities() {
        let mut edges = clique(0..6);
        edges.extend(clique(6..11));
        edges.push((5, 6, 0.8));
        let expected: Vec<Vec<u64>> = vec![(0..6).collect(), (6..11).collect()];
        assert_eq!(members(&view(&(0..11).collect::<Vec<_>>(), &edges)), expected);
    }

    /// Twenty groups of 20 nodes in a ring, each node linked to four of its group, and some edges between groups.
    fn groups() -> Vec<(u64, u64, f64)> {
        let inside = (0..400u64).flat_map(|node| {
            let other = move |step: u64| node / 20 * 20 + (node + step) % 20;
            [1, 3, 7, 8].map(|step| (node.min(other(step)), node.max(other(step)), 0.6))
        });
        inside.chain((0..400).step_by(3).map(|node| (node, (node * 7 + 31) % 400, 0.4))).collect()
    }

    #[test]
    fn communities_that_are_well_connected_stay() {
        let mut view = view(&(0..400).collect::<Vec<_>>(), &groups());
        let before = Communities::compute(&view);
        let added =
            (0..20u64).map(|turn| testing::edge(turn * 19 % 400, turn * 23 % 400 + 400, EdgeKind::Link, 0.5));
        let mut deltas: Vec<Delta> =
            (400..800).map(|number| Delta::Node(Arc::new(testing::node(number)))).collect();
        deltas.extend(added.map(Delta::from));
        view.apply(2, &deltas);
        let after = Communities::continued(&view, &before);
        assert_eq!(after.slots(), 800);
        let stayed = (0..before.count() as u32).filter(|&number| {
            let mut members = before.members(number).iter();
            let now = before.members(number).first().and_then(|&ix| after.of(ix));
            now.is_some() && members.all(|&ix| after.of(ix) == now)
        });
        assert_eq!(stayed.count(), before.count());
        // Starting from single nodes gives nearly the same number of communities.
        let anew = Communities::compute(&view);
        assert!(anew.count().abs_diff(after.count()) <= 2, "{} {}", anew.count(), after.count());
    }

    #[test]
    fn weak_edges_are_ignored_and_superseded_nodes_have_no_community() {
        let mut view = view(&[0, 1, 2, 3], &[(0, 1, 0.29), (2, 3, 0.3)]);
        assert_eq!(members(&view), [vec![2, 3], vec![0], vec![1]]);
        let mut superseded = testing::node(3);
        superseded.state = State::Superseded;
        view.apply(2, &[Delta::Node(Arc::new(superseded))]);
        assert_eq!(members(&view), [[0], [1], [2]]);
        assert_eq!(Communities::compute(&view).of(3), None);
    }

    poc_laws::laws! {
        /// Every live node is in exactly one community, communities are connected by strong edges, and the order of the
        /// nodes does not matter.
        #[test]
        fn communities_are_a_partition_that_depends_only_on_the_graph(
            edges in proptest::collection::vec((0u64..14, 0u64..14, 0.0f64..1.0), 0..50),
            order in Just((0..14).collect::<Vec<u64>>()).prop_shuffle(),
        ) {
            // If the same edge occurs with different strengths, the last one counts.
            let edges: BTreeMap<(u64, u64), f64> =
                edges.into_iter().filter(|(a, b, _)| a < b).map(|(a, b, s)| ((a, b), s)).collect();
            let edges: Vec<(u64, u64, f64)> = edges.into_iter().map(|((a, b), s)| (a, b, s)).collect();
            let found = members(&view(&(0..14).collect::<Vec<_>>(), &edges));
            prop_assert_eq!(&found, &members(&view(&order, &edges)));
            prop_assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 14);
            prop_assert!(found.windows(2).all(|pair| pair[0].len() >= pair[1].len()));
            for community in found {
                let mut reached = vec![community[0]];
                let mut next = 0;
                while let Some(&at) = reached.get(next) {
                    next += 1;
                    for &(a, b, strength) in &edges {
                        let other = if a == at { b } else if b == at { a } else { continue };
                        if strength as f32 >= 0.3 && community.contains(&other) && !reached.contains(&other) {
                            reached.push(other);
                        }
                    }
                }
                prop_assert_eq!(reached.len(), community.len());
            }
        }
    }
}
