//! Adds and removes edges in a view, and updates the counts of the simple graph.

use crate::lists::Lists;
use crate::structure::StructureCell;
use crate::view::counts::add_to_count;
use crate::view::{Ix, Neighbor, View};
use crate::{Edge, EdgeId, EdgeKind, NodeId};

impl View {
    pub(in crate::view) fn put_edge(&mut self, edge: &Edge) {
        if let Some(source) = self.find(edge.src) {
            self.put_edge_from(source, edge.id(), edge.graph_strength());
        }
    }

    /// Adds an edge whose source has the index `a`, with its strength in the graph.
    pub(super) fn put_edge_from(&mut self, a: Ix, edge: EdgeId, strength: f64) {
        let Some(b) = self.find(edge.dst) else { return };
        let half = Neighbor::outgoing(b, edge.kind, strength);
        if !is_graph_edge(edge.kind, a, b) {
            self.put_other(a, half);
            return;
        }
        let edges = self.edges(a);
        if position(edges, half).is_ok_and(|at| edges.get(at) == Some(&half)) {
            return;
        }
        if !self.are_adjacent(a, b) {
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
        if !remove_half(&mut self.adjacency, a, half) {
            return;
        }
        remove_half(&mut self.adjacency, b, half.mirrored(a));
        self.edges -= 1;
        self.count_edge(kind, -1);
        if !self.are_adjacent(a, b) {
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
        if !remove_half(&mut self.other_edges, at, half) {
            return;
        }
        if half.target() != at {
            remove_half(&mut self.other_edges, half.target(), half.mirrored(at));
        }
        self.count_edge(half.kind(), -1);
    }

    /// Adds (`sign` 1) or removes (−1) one merged edge in the counts of its ends and of their common neighbours. Only
    /// live neighbours count, but nodes in any state have counts.
    fn count_merged_edge(&mut self, a: Ix, b: Ix, sign: i32) {
        let shared = self.common_neighbors(a, b);
        let (is_live_a, is_live_b) = (self.is_live(a), self.is_live(b));
        add_to_count(self.degrees.get_mut(a as usize), sign * i32::from(is_live_b));
        add_to_count(self.degrees.get_mut(b as usize), sign * i32::from(is_live_a));
        for c in shared {
            let is_live_c = self.is_live(c);
            add_to_count(self.triangles.get_mut(a as usize), sign * i32::from(is_live_b && is_live_c));
            add_to_count(self.triangles.get_mut(b as usize), sign * i32::from(is_live_a && is_live_c));
            add_to_count(self.triangles.get_mut(c as usize), sign * i32::from(is_live_a && is_live_b));
        }
    }

    /// The nodes in any state that have edges to both nodes, ascending. The time is nearly proportional to the smaller
    /// number of their edges.
    fn common_neighbors(&self, a: Ix, b: Ix) -> Vec<Ix> {
        let (mut fewer, mut more) = (self.edges(a), self.edges(b));
        if fewer.len() > more.len() {
            (fewer, more) = (more, fewer);
        }
        let is_common = |ix: &Ix| more.binary_search_by_key(ix, |edge| edge.target()).is_ok();
        let mut common: Vec<Ix> = fewer.iter().map(|edge| edge.target()).filter(is_common).collect();
        common.dedup();
        common
    }

    /// Adds a node that has become live to the counts of its neighbours.
    pub(super) fn join_graph(&mut self, ix: Ix) {
        self.live += 1;
        self.count_as_neighbor(ix, 1);
    }

    /// Removes a node that is about to stop being live from the counts of its neighbours.
    pub(super) fn leave_graph(&mut self, ix: Ix) {
        self.live -= 1;
        self.count_as_neighbor(ix, -1);
    }

    fn count_as_neighbor(&mut self, ix: Ix, sign: i32) {
        let neighbors: Vec<Ix> = self.all_merged_edges(ix).map(|edge| edge.ix).collect();
        for neighbor in neighbors {
            let common = self.common_neighbors(ix, neighbor);
            let pairs = common.into_iter().filter(|&other| self.is_live(other)).count() as i32;
            add_to_count(self.degrees.get_mut(neighbor as usize), sign);
            add_to_count(self.triangles.get_mut(neighbor as usize), sign * pairs);
        }
        StructureCell::renew(&mut self.structure);
    }
}

/// Whether an edge is part of the graph: of a graph kind, between two different nodes.
fn is_graph_edge(kind: EdgeKind, a: Ix, b: Ix) -> bool {
    kind.is_graph() && a != b
}

/// Adds one end of an edge; returns whether it is new.
fn put_half(rows: &mut Lists<Vec<Neighbor>>, at: Ix, edge: Neighbor) -> bool {
    let position = position(rows.get(at as usize).unwrap_or_default(), edge);
    match position {
        Ok(found) => {
            if let Some(slot) = rows.row_mut(at as usize).and_then(|row| row.get_mut(found)) {
                *slot = edge;
            }
        }
        Err(before) => rows.insert(at as usize, before, edge),
    }
    position.is_err()
}

/// The position of an edge, in any strength, among those of a node; the error is where it would be.
fn position(edges: &[Neighbor], edge: Neighbor) -> Result<usize, usize> {
    edges.binary_search_by(|other| other.order().cmp(&edge.order()))
}

/// Removes one end of an edge; returns whether it existed.
pub(super) fn remove_half(rows: &mut Lists<Vec<Neighbor>>, at: Ix, edge: Neighbor) -> bool {
    let mut edges = rows.get(at as usize).unwrap_or_default().to_vec();
    let position = position(&edges, edge);
    if let Ok(found) = position {
        edges.remove(found);
        rows.set(at as usize, &edges);
    }
    position.is_ok()
}
