//! Adding and removing edges in a view, and the counts of the simple graph that follow from them.

use crate::lists::Lists;
use crate::structure::StructureCell;
use crate::view::triangles::{bump, common};
use crate::view::{Ix, Neighbor, View};
use crate::{Edge, EdgeKind, NodeId};

impl View {
    pub(in crate::view) fn put_edge(&mut self, edge: &Edge) {
        let (Some(a), Some(b)) = (self.find(edge.src), self.find(edge.dst)) else { return };
        let half = Neighbor::outgoing(b, edge.kind, edge.graph_strength());
        if !is_graph_edge(edge.kind, a, b) {
            self.put_other(a, half);
            return;
        }
        if self.edges(a).contains(&half) {
            return;
        }
        let is_first = !self.are_adjacent(a, b);
        if is_first && self.is_live(a) && self.is_live(b) {
            self.count_merged_edge(a, b, 1);
        }
        let added = put_half(&mut self.adjacency, a, half);
        put_half(&mut self.adjacency, b, half.mirrored(a));
        self.edges += usize::from(added);
        self.count_edge(edge.kind, i32::from(added));
        StructureCell::renew(&mut self.structure);
    }

    pub(super) fn remove_edge(&mut self, src: NodeId, kind: EdgeKind, dst: NodeId) {
        let (Some(a), Some(b)) = (self.find(src), self.find(dst)) else { return };
        let half = Neighbor::outgoing(b, kind, 0.0);
        if !is_graph_edge(kind, a, b) {
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
            self.count_merged_edge(a, b, -1);
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
    pub(super) fn remove_other(&mut self, at: Ix, half: Neighbor) {
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
    fn count_merged_edge(&mut self, a: Ix, b: Ix, sign: i32) {
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
    pub(super) fn join_graph(&mut self, ix: Ix) {
        self.live += 1;
        self.count_own_edges(ix, 1);
    }

    /// Removes the edges of a node that is about to stop being live from the counts of the simple graph.
    pub(super) fn leave_graph(&mut self, ix: Ix) {
        self.live -= 1;
        self.count_own_edges(ix, -1);
    }

    fn count_own_edges(&mut self, ix: Ix, sign: i32) {
        let neighbors: Vec<Ix> = self.merged_edges(ix).map(|edge| edge.ix).collect();
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
        let neighbors = |ix| self.merged_edges(ix).map(|edge| edge.ix);
        common(neighbors(a), neighbors(b), |ix| shared.push(ix));
        shared
    }
}

/// Whether an edge is part of the graph: of a graph kind, between two different nodes.
fn is_graph_edge(kind: EdgeKind, a: Ix, b: Ix) -> bool {
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
pub(super) fn drop_half(rows: &mut Lists<Vec<Neighbor>>, at: Ix, edge: Neighbor) -> bool {
    let mut edges = rows.get(at as usize).unwrap_or_default().to_vec();
    let place = edges.binary_search_by(|other| other.order().cmp(&edge.order()));
    if let Ok(found) = place {
        edges.remove(found);
        rows.set(at as usize, &edges);
    }
    place.is_ok()
}
