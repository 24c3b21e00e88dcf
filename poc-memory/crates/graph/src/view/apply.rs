//! Applies the deltas of a transaction to a view.

mod edges;

use super::day_nodes::DayNodes;
use super::fields::Fields;
use super::lookup::{hash, hash_any_case};
use super::{Ix, View};
use crate::Activity;
use crate::Delta;
use crate::EdgeId;
use crate::Node;
use crate::NodeId;
use crate::Visit;
use crate::time::Timestamp;
use edges::remove_half;
use std::sync::Arc;

impl View {
    /// Applies the changes of one transaction. Nodes are applied first, so an edge may precede its nodes. An edge or
    /// activity whose node does not exist is ignored.
    pub fn apply(&mut self, seq: u64, deltas: &[Delta]) {
        self.seq = seq;
        for delta in deltas {
            match delta {
                Delta::Node(node) => self.put_node(node),
                Delta::NodeDeleted(id) => self.remove_node(*id),
                _ => {}
            }
        }
        // The source of the last edge; edges usually come grouped by source.
        let mut source: Option<(NodeId, Ix)> = None;
        for delta in deltas {
            match delta {
                Delta::Activity(id, activity) => self.put_activity(*id, activity),
                Delta::ActivityDeleted(id) => self.reset_activity(*id),
                Delta::Edge(edge, strength) => {
                    let known = source.filter(|(id, _)| *id == edge.src);
                    source = known.or_else(|| Some((edge.src, self.find(edge.src)?)));
                    if let Some((_, ix)) = source {
                        self.put_edge_from(ix, *edge, *strength);
                    }
                }
                Delta::EdgeDeleted(EdgeId { src, kind, dst }) => self.remove_edge(*src, *kind, *dst),
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
        let is_live = node.state.is_live();
        if was_live && !is_live {
            self.leave_graph(ix);
        }
        let mut keywords: Vec<u32> = Vec::with_capacity(node.keywords.len());
        for word in &node.keywords {
            let number = self.keyword_names.intern(word);
            if !keywords.contains(&number) {
                keywords.push(number);
            }
        }
        let listed = self.listed_keywords(ix).to_vec();
        self.list_keywords(ix, &listed, if is_live { &keywords } else { &[] });
        self.keywords.set(ix as usize, &keywords);
        let was_of_day = self.is_of_day(ix);
        self.aliases.set(ix, node.aliases.iter().map(String::as_str));
        self.other_names.set(ix, node.other_names.iter().map(String::as_str));
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
        if was_of_day || self.is_of_day(ix) {
            self.day_nodes = DayNodes::default();
        }
        self.count_node(ix, 1);
        if is_live && !was_live {
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
        let initial = Activity::initial(created);
        self.weights.push(initial.weight);
        self.touched.push(initial.touched);
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
        let listed = self.listed_keywords(ix).to_vec();
        self.list_keywords(ix, &listed, &[]);
        if self.is_live(ix) {
            self.leave_graph(ix);
        }
        let edges = self.edges(ix).to_vec();
        self.edges -= edges.len();
        for edge in &edges {
            remove_half(&mut self.adjacency, edge.target(), edge.mirrored(ix));
            self.count_edge(edge.kind(), -1);
        }
        if !edges.is_empty() {
            self.adjacency.set(ix as usize, &[]);
        }
        for edge in self.other_edges(ix).to_vec() {
            self.remove_other(ix, edge);
        }
        self.states.set(ix as usize, None, None);
        self.degrees.set(ix as usize, 0, 0);
        self.triangles.set(ix as usize, 0, 0);
        if self.is_of_day(ix) {
            self.day_nodes = DayNodes::default();
        }
        self.by_id.remove(hash(id), ix);
        self.by_key.remove(hash_any_case(self.key(ix)), ix);
        self.keys.set(ix as usize, "");
        self.aliases.set(ix, []);
        self.other_names.set(ix, []);
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

    fn reset_activity(&mut self, id: NodeId) {
        if let Some(ix) = self.find(id) {
            self.put_activity_at(ix, &Activity::initial(self.created(ix)));
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
}

#[cfg(test)]
mod tests;
