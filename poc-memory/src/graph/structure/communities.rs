//! Communities by label propagation.

use super::adjacency::Adjacency;
use super::draw::draw;
use crate::graph::{Ix, NodeId, View};
use std::cmp::Reverse;

/// Which community each live node belongs to.
#[derive(Clone, Debug, Default)]
pub struct Communities {
    numbers: Vec<u32>,
    sizes: Vec<usize>,
}

const NONE: u32 = u32::MAX;

impl Communities {
    /// Ties weaker than this do not hold a community together.
    pub const MIN_STRENGTH: f64 = 0.3;

    /// Sweeps over the graph before the labels are taken as they are. Label propagation settles in
    /// about five; two labels that keep changing places would go on for ever.
    const MAX_SWEEPS: usize = 30;

    /// Label propagation (Raghavan, Albert and Kumara 2007) over the ties of at least
    /// [`Communities::MIN_STRENGTH`] between live nodes. A node takes the label with the greatest
    /// sum of strengths around it; parts of one label that do not hang together become communities
    /// of their own.
    ///
    /// What is random in the original (the order of visits, the choice among equal labels) is
    /// drawn from a hash of the ids, so that the answer depends on the graph alone. Choosing the
    /// smallest label instead would let the first labels flood the graph.
    ///
    /// Community 0 is the largest; ties by the smallest id among the members.
    pub fn compute(view: &View) -> Self {
        let graph = StrongTies::of(view);
        let labels = propagate(&graph);
        number(view, &graph, &labels)
    }

    /// One past the greatest index it knows.
    pub(super) fn slots(&self) -> Ix {
        self.numbers.len() as Ix
    }

    /// The community of a node; `None` when it is not live.
    pub fn of(&self, ix: Ix) -> Option<u32> {
        self.numbers.get(ix as usize).copied().filter(|&number| number != NONE)
    }

    /// Members of each community, greatest first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

/// The ties that count, with the ids of the live nodes.
struct StrongTies {
    ids: Vec<Option<NodeId>>,
    adjacency: Adjacency,
}

impl StrongTies {
    fn of(view: &View) -> Self {
        let ids = (0..view.slots()).map(|ix| view.id(ix).filter(|_| view.is_live(ix))).collect();
        StrongTies { ids, adjacency: Adjacency::of(view, Communities::MIN_STRENGTH) }
    }

    /// The ties of a node. Strengths are whole numbers, so that equal sums are equal in whatever
    /// order they are added.
    fn at(&self, ix: Ix) -> impl Iterator<Item = (Ix, u64)> {
        self.adjacency.at(ix).iter().map(|end| (end.ix, (f64::from(end.strength) * 1e6) as u64))
    }

    fn id(&self, ix: Ix) -> Option<NodeId> {
        self.ids.get(ix as usize).copied().flatten()
    }

    fn live(&self) -> impl Iterator<Item = Ix> {
        (0..self.ids.len() as Ix).filter(|&ix| self.id(ix).is_some())
    }
}

fn propagate(graph: &StrongTies) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..graph.ids.len() as u32).collect();
    let mut order: Vec<Ix> = graph.live().collect();
    order.sort_by_cached_key(|&ix| (draw(graph.id(ix), None), graph.id(ix)));
    let mut votes: Vec<u64> = vec![0; labels.len()];
    let mut named: Vec<u32> = Vec::new();
    for _ in 0..Communities::MAX_SWEEPS {
        let mut changed = false;
        for &ix in &order {
            for (neighbor, strength) in graph.at(ix) {
                let Some(&label) = labels.get(neighbor as usize) else { continue };
                let Some(sum) = votes.get_mut(label as usize) else { continue };
                if *sum == 0 {
                    named.push(label);
                }
                *sum += strength;
            }
            let vote = |label: u32| votes.get(label as usize).copied().unwrap_or(0);
            let own = labels.get(ix as usize).copied().unwrap_or(ix);
            let most = named.iter().map(|&label| vote(label)).max().unwrap_or(0);
            if vote(own) < most {
                let best = named
                    .iter()
                    .copied()
                    .filter(|&label| vote(label) == most)
                    .min_by_key(|&label| (draw(graph.id(ix), graph.id(label)), graph.id(label)));
                if let (Some(best), Some(slot)) = (best, labels.get_mut(ix as usize)) {
                    *slot = best;
                    changed = true;
                }
            }
            for label in named.drain(..) {
                if let Some(sum) = votes.get_mut(label as usize) {
                    *sum = 0;
                }
            }
        }
        if !changed {
            break;
        }
    }
    labels
}

/// Splits labels into connected parts and numbers the parts by size.
fn number(view: &View, graph: &StrongTies, labels: &[u32]) -> Communities {
    let mut parts: Vec<Vec<Ix>> = Vec::new();
    let mut part_of = vec![NONE; labels.len()];
    for seed in graph.live() {
        if part_of.get(seed as usize) != Some(&NONE) {
            continue;
        }
        let part = parts.len() as u32;
        let mut members = vec![seed];
        if let Some(slot) = part_of.get_mut(seed as usize) {
            *slot = part;
        }
        let mut next = 0;
        while let Some(&ix) = members.get(next) {
            next += 1;
            for (neighbor, _) in graph.at(ix) {
                let same_label = labels.get(neighbor as usize) == labels.get(seed as usize);
                if let Some(slot) = part_of.get_mut(neighbor as usize)
                    && same_label
                    && *slot == NONE
                {
                    *slot = part;
                    members.push(neighbor);
                }
            }
        }
        parts.push(members);
    }
    let first = |part: &Vec<Ix>| part.iter().filter_map(|&ix| view.id(ix)).min();
    parts.sort_by_cached_key(|part| (Reverse(part.len()), first(part)));
    let mut communities = Communities { numbers: vec![NONE; labels.len()], sizes: Vec::new() };
    for (number, part) in parts.iter().enumerate() {
        communities.sizes.push(part.len());
        for &ix in part {
            if let Some(slot) = communities.numbers.get_mut(ix as usize) {
                *slot = number as u32;
            }
        }
    }
    communities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Delta, EdgeKind, State, testing};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn view(numbers: &[u64], edges: &[(u64, u64, f64)]) -> View {
        let mut view = View::new();
        let mut deltas: Vec<Delta> =
            numbers.iter().map(|&number| Delta::Node(Arc::new(testing::node(number)))).collect();
        deltas.extend(
            edges.iter().map(|&(a, b, strength)| Delta::Edge(testing::edge(a, b, EdgeKind::Link, strength))),
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
        assert_eq!(communities.sizes(), all.iter().map(Vec::len).collect::<Vec<_>>());
        all
    }

    fn clique(numbers: std::ops::Range<u64>) -> Vec<(u64, u64, f64)> {
        numbers.clone().flat_map(|a| (a + 1..numbers.end).map(move |b| (a, b, 0.8))).collect()
    }

    #[test]
    fn two_groups_joined_by_one_tie_stay_two() {
        let mut edges = clique(0..6);
        edges.extend(clique(6..11));
        edges.push((5, 6, 0.8));
        let expected: Vec<Vec<u64>> = vec![(0..6).collect(), (6..11).collect()];
        assert_eq!(members(&view(&(0..11).collect::<Vec<_>>(), &edges)), expected);
    }

    #[test]
    fn a_weak_tie_binds_nothing_and_a_node_out_of_use_has_no_community() {
        let mut view = view(&[0, 1, 2, 3], &[(0, 1, 0.29), (2, 3, 0.3)]);
        assert_eq!(members(&view), [vec![2, 3], vec![0], vec![1]]);
        let mut gone = testing::node(3);
        gone.state = State::Superseded;
        view.apply(2, &[Delta::Node(Arc::new(gone))]);
        assert_eq!(members(&view), [[0], [1], [2]]);
        assert_eq!(Communities::compute(&view).of(3), None);
    }

    proptest! {
        /// Every live node is in one community; communities hang together over strong ties; and
        /// the order in which the nodes came does not matter.
        #[test]
        fn a_partition_of_the_graph_alone(
            edges in proptest::collection::vec((0u64..14, 0u64..14, 0.0f64..1.0), 0..50),
            order in Just((0..14).collect::<Vec<u64>>()).prop_shuffle(),
        ) {
            // The same tie twice with different strengths is one edge: the last one counts.
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
