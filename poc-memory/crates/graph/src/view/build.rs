//! Builds a view from all records of a store at once. Sorting and counting all edges together costs a fraction
//! of applying them one by one.

use super::{Ix, Neighbor, View};
use crate::Activity;
use crate::Edge;
use crate::Node;
use crate::NodeId;
use crate::Visit;
use crate::counting_sort::grouped;
use crate::lists::Lists;

/// Collects the records of a store. Nodes must be added first; records of an unknown node are ignored.
#[derive(Debug, Default)]
pub struct Builder {
    view: View,
    // Each edge as seen from its source.
    edges: Vec<(Ix, Neighbor)>,
    // The source of the last edge; edges usually come grouped by source.
    source: Option<(NodeId, Ix)>,
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Self {
        Builder { view: View::new(), ..Builder::default() }
    }

    /// Adds a node.
    pub fn node(&mut self, node: &Node) {
        self.view.put_node(node);
    }

    /// Adds the activity of a node.
    pub fn activity(&mut self, id: NodeId, activity: &Activity) {
        self.view.put_activity(id, activity);
    }

    /// Adds an edge; fastest when edges are grouped by source.
    pub fn edge(&mut self, edge: &Edge) {
        if !edge.kind.is_graph() || edge.src == edge.dst {
            self.view.put_edge(edge);
            return;
        }
        let source = match self.source {
            Some((id, ix)) if id == edge.src => Some(ix),
            _ => self.view.find(edge.src),
        };
        if let (Some(source), Some(target)) = (source, self.view.find(edge.dst)) {
            self.source = Some((edge.src, source));
            self.edges.push((source, Neighbor::outgoing(target, edge.kind, edge.graph_strength())));
        }
    }

    /// Adds an agent's visit of a node.
    pub fn visit(&mut self, agent: &str, id: NodeId, visit: Visit) {
        let known = self.view.visits.get_key_value(agent).map(|(name, _)| name.clone());
        self.view.put_visit(&known.unwrap_or_else(|| agent.into()), id, Some(visit));
    }

    /// The view of all records added, as of transaction `seq`.
    pub fn finish(self, seq: u64) -> View {
        let Builder { mut view, edges, .. } = self;
        let (mut starts, mut halves) = rows(view.slots(), &edges);
        drop(edges);
        distinct(&mut starts, &mut halves);
        view.seq = seq;
        view.edges = halves.len() / 2;
        view.adjacency = Lists::from_rows(&starts, &halves);
        view.count_degrees_and_triangles();
        view.count_all();
        view
    }
}

/// Both half-edges of every edge, grouped by node and in insertion order within a node: those of node `ix` are
/// `halves[starts[ix]..starts[ix + 1]]`.
fn rows(slots: Ix, edges: &[(Ix, Neighbor)]) -> (Vec<usize>, Vec<Neighbor>) {
    let ends = edges.iter().flat_map(|&(a, half)| [(a, half), (half.target(), half.mirrored(a))]);
    grouped(slots as usize, ends)
}

/// Sorts every row and keeps only the last of an edge added more than once.
fn distinct(starts: &mut [usize], halves: &mut Vec<Neighbor>) {
    let mut row: Vec<Neighbor> = Vec::new();
    let (mut first, mut kept) = (0, 0);
    for start in starts.iter_mut().skip(1) {
        row.clear();
        row.extend(halves.get(first..*start).unwrap_or_default());
        row.sort_by_key(|edge| edge.order());
        row.reverse();
        row.dedup_by_key(|edge| edge.order());
        let room = halves.get_mut(kept..).unwrap_or_default().iter_mut();
        room.zip(row.iter().rev()).for_each(|(slot, edge)| *slot = *edge);
        kept += row.len();
        first = std::mem::replace(start, kept);
    }
    halves.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::EdgeKind;
    use crate::State;
    use crate::VisitOutcome;
    use crate::testing;
    use crate::time::Timestamp;
    use proptest::prelude::*;
    use std::sync::Arc;

    poc_laws::laws! {
        /// A view built at once equals one built delta by delta.
        #[test]
        fn built_at_once_equals_step_by_step(
            order in Just((0..12).collect::<Vec<u64>>()).prop_shuffle(),
            absent in 0u64..12,
            resting in proptest::collection::vec(0u64..12, 0..4),
            edges in proptest::collection::vec((0u64..12, 0u64..12, 0usize..8, 0.0f64..1.0), 0..80),
            visits in proptest::collection::vec((0u64..12, 1u32..5), 0..8),
            activities in proptest::collection::vec((0u64..12, 0.0f64..10.0, proptest::option::of(0i64..9)), 0..8),
        ) {
            let mut built = Builder::new();
            let mut stepped = View::new();
            let agent: Arc<str> = "linker".into();
            for number in order.into_iter().filter(|&number| number != absent) {
                let mut node = testing::node(number);
                node.keywords = (0..number % 4).map(|word| format!("w{word}")).collect();
                node.expires = (number % 3 == 0).then_some(Timestamp(5));
                node.aliases = (0..number % 3).map(|former| format!("was {number} {former}")).collect();
                node.other_names = (0..number % 4).map(|other| format!("also {other}")).collect();
                if resting.contains(&number) {
                    node.state = State::Superseded;
                }
                built.node(&node);
                stepped.apply(1, &[Delta::Node(Arc::new(node))]);
            }
            for (number, weight, replayed) in activities {
                let activity = Activity {
                    replayed: replayed.map(Timestamp), replay_interval: 3, ..Activity::new(Timestamp(9), weight)
                };
                built.activity(testing::node(number).id, &activity);
                stepped.apply(2, &[Delta::Activity(testing::node(number).id, activity)]);
            }
            for (a, b, kind, strength) in edges {
                let edge = testing::edge(a, b, EdgeKind::ALL[kind], strength);
                built.edge(&edge);
                stepped.apply(3, &[Delta::from(edge)]);
            }
            for (number, version) in visits {
                let visit = Visit { at: Timestamp(4), outcome: VisitOutcome::Processed, version };
                built.visit(&agent, testing::node(number).id, visit);
                stepped.apply(4, &[Delta::Visit(agent.clone(), testing::node(number).id, visit)]);
            }
            stepped.seq = 7;
            let built = built.finish(7);
            prop_assert_eq!(testing::contents(&built), testing::contents(&stepped));
            let rows = |view: &View| -> Vec<_> {
                (0..view.slots()).map(|ix| (view.id(ix), view.edges(ix).to_vec())).collect()
            };
            prop_assert_eq!((built.ids_ascend(), rows(&built)), (stepped.ids_ascend(), rows(&stepped)));
        }
    }
}
