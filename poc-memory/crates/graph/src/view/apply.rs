//! Applying the deltas of a transaction to a view.

use super::fields::Fields;
use super::lookup::{hash, hash_any_case};
use super::triangles::{bump, common};
use super::{Ix, Neighbor, View};
use crate::Activity;
use crate::Delta;
use crate::Edge;
use crate::EdgeKind;
use crate::Node;
use crate::NodeId;
use crate::Visit;
use crate::lists::Lists;
use crate::structure::StructureCell;
use crate::time::Timestamp;
use std::sync::Arc;

impl View {
    /// Applies the changes of one transaction. Nodes are applied first, so that an edge may come before its
    /// nodes. An edge or activity without its node is ignored.
    pub fn apply(&mut self, seq: u64, deltas: &[Delta]) {
        self.seq = seq;
        for delta in deltas {
            match delta {
                Delta::Node(node) => self.put_node(node),
                Delta::NodeDeleted(id) => self.remove_node(*id),
                _ => {}
            }
        }
        for delta in deltas {
            match delta {
                Delta::Activity(id, activity) => self.put_activity(*id, activity),
                Delta::ActivityDeleted(id) => self.forget_activity(*id),
                Delta::Edge(edge) => self.put_edge(edge),
                Delta::EdgeDeleted(src, kind, dst) => self.remove_edge(*src, *kind, *dst),
                Delta::Visit(agent, id, visit) => self.put_visit(agent, *id, Some(*visit)),
                Delta::VisitDeleted(agent, id) => self.put_visit(agent, *id, None),
                Delta::Node(_) | Delta::NodeDeleted(_) | Delta::Vector(..) | Delta::VectorDeleted(..) => {}
            }
        }
    }

    pub(super) fn put_node(&mut self, node: &Node) {
        let ix = match self.find(node.id) {
            Some(ix) => ix,
            None => self.add_slot(node.id, node.created),
        };
        self.count_node(ix, -1);
        let was_live = self.is_live(ix);
        let lives = node.state.is_live();
        if was_live && !lives {
            self.leave_graph(ix);
        }
        let keywords: Vec<u32> = node.keywords.iter().map(|word| self.keyword_names.intern(word)).collect();
        self.keywords.set(ix as usize, &keywords);
        let fields = Fields {
            key: &node.key,
            body_len: node.body.chars().count() as u32,
            node_type: self.type_names.intern(&node.node_type.0) as u16,
            provenance: self.provenance_names.intern(&node.provenance),
            state: node.state,
            category: node.category,
            trust: node.trust,
            emotion: node.emotion,
            created: node.created,
            modified: node.modified,
            expires: node.expires,
            version: node.version,
        };
        self.set_fields(ix, &fields);
        self.count_node(ix, 1);
        if lives && !was_live {
            self.join_graph(ix);
        }
    }

    /// Allocates an index for a new node, with the activity of a node created at `created`.
    pub(super) fn add_slot(&mut self, id: NodeId, created: Timestamp) -> Ix {
        let ix = self.slots();
        if ix > 0 && self.id(ix - 1).is_some_and(|last| last > id) {
            self.ids_ascend = false;
        }
        self.ids.push(id);
        let ids = &self.ids;
        let hash_of = |ix: Ix| ids.get(ix as usize).map_or(0, hash);
        self.by_id.insert(hash(id), ix, |_| false, hash_of);
        self.degrees.push(0);
        self.triangles.push(0);
        let newborn = Activity::born(created, 1.0);
        self.weights.push(newborn.weight);
        self.touched.push(newborn.touched);
        self.replay_intervals.push(newborn.replay_interval);
        self.replayed.push(newborn.replayed.into());
        self.states.push(None);
        self.nodes += 1;
        ix
    }

    pub(super) fn set_key(&mut self, ix: Ix, key: &str) {
        let before = self.key(ix);
        if before != key {
            // Another node may have taken the old key earlier in this transaction and keeps it.
            self.by_key.remove(hash_any_case(before), ix);
            self.keys.set(ix as usize, key);
        }
        let keys = &self.keys;
        let key_of = |ix: Ix| keys.get(ix as usize).unwrap_or_default();
        self.by_key.insert(
            hash_any_case(key),
            ix,
            |other| key_of(other) == key,
            |ix| hash_any_case(key_of(ix)),
        );
        self.key_lens.set(ix as usize, key.chars().count() as u32, 0);
    }

    fn remove_node(&mut self, id: NodeId) {
        let Some(ix) = self.find(id) else { return };
        self.count_node(ix, -1);
        if self.is_live(ix) {
            self.leave_graph(ix);
        }
        let edges = self.edges(ix).to_vec();
        self.edges -= edges.len();
        for edge in &edges {
            drop_half(&mut self.adjacency, edge.target(), edge.mirrored(ix));
            self.count_edge(edge.kind(), -1);
        }
        if !edges.is_empty() {
            self.adjacency.set(ix as usize, &[]);
        }
        for edge in self.other_edges(ix).to_vec() {
            self.remove_other(ix, edge);
        }
        self.states.set(ix as usize, None, None);
        self.by_id.remove(hash(id), ix);
        self.by_key.remove(hash_any_case(self.key(ix)), ix);
        self.keys.set(ix as usize, "");
        self.keywords.set(ix as usize, &[]);
        let agents: Vec<Arc<str>> = self.visits.keys().cloned().collect();
        for agent in agents {
            self.set_visit(&agent, ix, None);
        }
        self.nodes -= 1;
    }

    pub(super) fn put_activity(&mut self, id: NodeId, activity: &Activity) {
        if let Some(ix) = self.find(id) {
            self.put_activity_at(ix, activity);
        }
    }

    fn forget_activity(&mut self, id: NodeId) {
        if let Some(ix) = self.find(id) {
            self.put_activity_at(ix, &Activity::born(self.created(ix), 1.0));
        }
    }

    pub(super) fn put_visit(&mut self, agent: &Arc<str>, id: NodeId, visit: Option<Visit>) {
        if let Some(ix) = self.find(id) {
            self.set_visit(agent, ix, visit);
        }
    }

    pub(super) fn set_visit(&mut self, agent: &Arc<str>, ix: Ix, visit: Option<Visit>) {
        if visit.is_none() && self.visit(agent, ix).is_none() {
            return;
        }
        let visits = Arc::make_mut(&mut self.visits);
        visits.entry(agent.clone()).or_default().set(ix as usize, visit, None);
    }

    pub(super) fn put_edge(&mut self, edge: &Edge) {
        let (Some(a), Some(b)) = (self.find(edge.src), self.find(edge.dst)) else { return };
        let half = Neighbor::outgoing(b, edge.kind, edge.graph_strength());
        if !is_tie(edge.kind, a, b) {
            self.put_other(a, half);
            return;
        }
        if self.edges(a).contains(&half) {
            return;
        }
        let new_tie = !self.are_adjacent(a, b);
        if new_tie && self.is_live(a) && self.is_live(b) {
            self.count_tie(a, b, 1);
        }
        let added = put_half(&mut self.adjacency, a, half);
        put_half(&mut self.adjacency, b, half.mirrored(a));
        self.edges += usize::from(added);
        self.count_edge(edge.kind, i32::from(added));
        StructureCell::renew(&mut self.structure);
    }

    fn remove_edge(&mut self, src: NodeId, kind: EdgeKind, dst: NodeId) {
        let (Some(a), Some(b)) = (self.find(src), self.find(dst)) else { return };
        let half = Neighbor::outgoing(b, kind, 0.0);
        if !is_tie(kind, a, b) {
            self.remove_other(a, half);
            return;
        }
        if !drop_half(&mut self.adjacency, a, half) {
            return;
        }
        drop_half(&mut self.adjacency, b, half.mirrored(a));
        self.edges -= 1;
        self.count_edge(kind, -1);
        if !self.are_adjacent(a, b) && self.is_live(a) && self.is_live(b) {
            self.count_tie(a, b, -1);
        }
        StructureCell::renew(&mut self.structure);
    }

    /// Adds an edge that is not part of the graph, as seen from its source.
    fn put_other(&mut self, source: Ix, half: Neighbor) {
        let added = put_half(&mut self.other_edges, source, half);
        if half.target() != source {
            put_half(&mut self.other_edges, half.target(), half.mirrored(source));
        }
        self.count_edge(half.kind(), i32::from(added));
    }

    /// Removes an edge that is not part of the graph, as seen from one of its ends.
    fn remove_other(&mut self, at: Ix, half: Neighbor) {
        if !drop_half(&mut self.other_edges, at, half) {
            return;
        }
        if half.target() != at {
            drop_half(&mut self.other_edges, half.target(), half.mirrored(at));
        }
        self.count_edge(half.kind(), -1);
    }

    /// Adds (`sign` 1) or removes (−1) one merged edge between two live nodes in the counts: both degrees, and
    /// the triangles of both and of every common live neighbour.
    fn count_tie(&mut self, a: Ix, b: Ix, sign: i32) {
        let shared = self.shared_neighbors(a, b);
        for ix in [a, b] {
            bump(&mut self.degrees, ix, sign);
            bump(&mut self.triangles, ix, sign * shared.len() as i32);
        }
        for ix in shared {
            bump(&mut self.triangles, ix, sign);
        }
    }

    /// Adds the edges of a node that has become live to the counts of the simple graph. The node must already
    /// be live.
    fn join_graph(&mut self, ix: Ix) {
        self.live += 1;
        self.count_own_ties(ix, 1);
    }

    /// Removes the edges of a node that is about to stop being live from the counts of the simple graph.
    fn leave_graph(&mut self, ix: Ix) {
        self.live -= 1;
        self.count_own_ties(ix, -1);
    }

    fn count_own_ties(&mut self, ix: Ix, sign: i32) {
        let neighbors: Vec<Ix> = self.merged_edges(ix).map(|tie| tie.ix).collect();
        let mut corners = 0;
        for &neighbor in &neighbors {
            let shared = self.shared_neighbors(ix, neighbor).len() as i32;
            bump(&mut self.degrees, neighbor, sign);
            bump(&mut self.triangles, neighbor, sign * shared);
            corners += shared;
        }
        bump(&mut self.degrees, ix, sign * neighbors.len() as i32);
        // Each triangle was counted from both of its other corners.
        bump(&mut self.triangles, ix, sign * corners / 2);
        StructureCell::renew(&mut self.structure);
    }

    /// The live nodes adjacent to both.
    fn shared_neighbors(&self, a: Ix, b: Ix) -> Vec<Ix> {
        let mut shared = Vec::new();
        let ties = |ix| self.merged_edges(ix).map(|tie| tie.ix);
        common(ties(a), ties(b), |ix| shared.push(ix));
        shared
    }
}

/// Whether an edge is part of the graph: of a graph kind, between two different nodes.
fn is_tie(kind: EdgeKind, a: Ix, b: Ix) -> bool {
    kind.is_graph() && a != b
}

/// Adds one end of an edge; returns whether it is new.
fn put_half(rows: &mut Lists<Vec<Neighbor>>, at: Ix, edge: Neighbor) -> bool {
    let mut edges = rows.get(at as usize).unwrap_or_default().to_vec();
    let place = edges.binary_search_by(|other| other.order().cmp(&edge.order()));
    match place {
        Ok(found) => {
            if let Some(slot) = edges.get_mut(found) {
                *slot = edge;
            }
        }
        Err(before) => edges.insert(before, edge),
    }
    rows.set(at as usize, &edges);
    place.is_err()
}

/// Removes one end of an edge; returns whether it existed.
fn drop_half(rows: &mut Lists<Vec<Neighbor>>, at: Ix, edge: Neighbor) -> bool {
    let mut edges = rows.get(at as usize).unwrap_or_default().to_vec();
    let place = edges.binary_search_by(|other| other.order().cmp(&edge.order()));
    if let Ok(found) = place {
        edges.remove(found);
        rows.set(at as usize, &edges);
    }
    place.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeKind;
    use crate::State;
    use crate::testing;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug)]
    enum Step {
        Edge(u8, u8, bool),
        NoEdge(u8, u8, bool),
        State(u8, bool),
        Delete(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u8..9, 0u8..9, any::<bool>()).prop_map(|(a, b, k)| Step::Edge(a, b, k)),
            2 => (0u8..9, 0u8..9, any::<bool>()).prop_map(|(a, b, k)| Step::NoEdge(a, b, k)),
            1 => (0u8..9, any::<bool>()).prop_map(|(a, live)| Step::State(a, live)),
            1 => (0u8..9).prop_map(Step::Delete),
        ]
    }

    #[test]
    fn two_nodes_may_swap_their_keys() {
        let with_key =
            |number, key: &str| Delta::Node(Arc::new(Node { key: key.into(), ..testing::node(number) }));
        for [one, other] in [["a", "b"], ["émile", "Émile"]] {
            let mut view = View::new();
            view.apply(1, &[with_key(1, one), with_key(2, other)]);
            view.apply(2, &[with_key(1, other), with_key(2, one)]);
            let found = |key| view.find_key(key).and_then(|ix| view.id(ix));
            assert_eq!((found(one), found(other)), (Some(testing::node(2).id), Some(testing::node(1).id)));
        }
    }

    #[test]
    fn keys_are_found_ignoring_case() {
        let with_key =
            |number, key: &str| Delta::Node(Arc::new(Node { key: key.into(), ..testing::node(number) }));
        let mut view = View::new();
        view.apply(1, &[with_key(1, "Émile"), with_key(2, "émile"), with_key(3, "emile")]);
        let found = |view: &View| {
            let found = view.find_keys_any_case("ÉMILE").into_iter();
            found.map(|ix| view.key(ix).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(&view), ["Émile", "émile"]);
        view.apply(2, &[with_key(1, "zola")]);
        assert_eq!(found(&view), ["émile"]);
        view.apply(3, &[Delta::NodeDeleted(testing::node(2).id)]);
        assert!(found(&view).is_empty());
    }

    #[test]
    fn one_of_two_edges_between_two_nodes_can_be_deleted() {
        let mut view = View::new();
        let there = testing::edge(1, 2, EdgeKind::Link, 0.8);
        let back = testing::edge(2, 1, EdgeKind::Link, 0.3);
        view.apply(1, &[1, 2].map(|number| Delta::Node(Arc::new(testing::node(number)))));
        view.apply(2, &[Delta::Edge(there.clone()), Delta::Edge(back.clone())]);
        assert_eq!((view.edge_count(), view.degree(0), view.merged_edges(0).count()), (2, 1, 1));
        view.apply(3, &[Delta::EdgeDeleted(there.src, there.kind, there.dst)]);
        assert_eq!((view.edge_count(), view.degree(0)), (1, 1));
        assert_eq!(view.merged_edges(0).next().map(|tie| tie.strength), Some(f64::from(0.3f32)));
        view.apply(4, &[Delta::EdgeDeleted(back.src, back.kind, back.dst)]);
        assert_eq!((view.edge_count(), view.degree(0), view.merged_edges(1).count()), (0, 0, 0));
    }

    proptest! {
        /// Incrementally updated degrees and triangles equal a brute-force count.
        #[test]
        fn degrees_and_triangles_equal_brute_force(steps in proptest::collection::vec(step(), 0..60)) {
            let mut view = View::new();
            for number in 0..9 {
                view.apply(1, &[Delta::Node(Arc::new(testing::node(number)))]);
            }
            let mut edges = BTreeSet::new();
            for (seq, step) in steps.into_iter().enumerate() {
                let kind = |link| if link { EdgeKind::Link } else { EdgeKind::Semantic };
                let id = |number| testing::node(u64::from(number)).id;
                match step {
                    Step::Edge(a, b, link) if a != b && view.find(id(a)).and(view.find(id(b))).is_some() => {
                        edges.insert((a, b, link));
                    }
                    Step::NoEdge(a, b, link) => {
                        edges.remove(&(a, b, link));
                    }
                    Step::Delete(gone) => edges.retain(|(a, b, _)| *a != gone && *b != gone),
                    _ => {}
                }
                let delta = match step {
                    Step::Edge(a, b, link) => Delta::Edge(testing::edge(u64::from(a), u64::from(b), kind(link), 0.5)),
                    Step::NoEdge(a, b, link) => Delta::EdgeDeleted(id(a), kind(link), id(b)),
                    Step::State(a, live) => {
                        let mut node = testing::node(u64::from(a));
                        node.state = if live { State::Active } else { State::Superseded };
                        Delta::Node(Arc::new(node))
                    }
                    Step::Delete(a) => Delta::NodeDeleted(id(a)),
                };
                view.apply(seq as u64 + 2, &[delta]);
            }
            let live: Vec<Ix> = (0..view.slots()).filter(|&ix| view.is_live(ix)).collect();
            prop_assert_eq!(view.live_count(), live.len());
            prop_assert_eq!(view.edge_count(), edges.len());
            for &ix in &live {
                let ties: Vec<Ix> = view.merged_edges(ix).map(|tie| tie.ix).collect();
                prop_assert_eq!(view.degree(ix) as usize, ties.len());
                let triangles = ties.iter().enumerate()
                    .flat_map(|(i, &a)| ties.iter().skip(i + 1).map(move |&b| (a, b)))
                    .filter(|&(a, b)| view.are_adjacent(a, b))
                    .count();
                prop_assert_eq!(view.triangles(ix) as usize, triangles);
            }
        }
    }
}
