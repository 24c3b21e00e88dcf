//! Counts of nodes, edges and keywords, updated incrementally with every change.
//!
//! Applying the same change twice counts it once.

use super::{Ix, Neighbor, View};
use crate::Column;
use crate::EdgeKind;
use crate::State;
use crate::Trust;
use std::collections::BTreeMap;

/// The counts of a view. A copy costs a few hundred bytes and one pointer per 65,536 keywords.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    // By type number.
    types: Vec<u32>,
    // By position in `State::ALL` and `EdgeKind::ALL`.
    states: [u32; State::ALL.len()],
    kinds: [u32; EdgeKind::ALL.len()],
    // The number of live nodes by keyword number.
    keywords: Column<u32>,
    used_keywords: usize,
    // The number of live nodes that some requests cannot see: quarantined ones and those with an expiry.
    hideable: u32,
}

/// Adds `by` to a count, if there is one.
pub(super) fn add_to_count(count: Option<&mut u32>, by: i32) {
    if let Some(count) = count {
        *count = count.saturating_add_signed(by);
    }
}

impl View {
    /// Adds (`sign` 1) or removes (−1) a node with its current fields; an empty index is ignored.
    pub(super) fn count_node(&mut self, ix: Ix, sign: i32) {
        let Some(state) = self.state(ix) else { return };
        let node_type = usize::from(self.node_type(ix));
        if self.counts.types.len() <= node_type {
            self.counts.types.resize(node_type + 1, 0);
        }
        add_to_count(self.counts.types.get_mut(node_type), sign);
        add_to_count(self.counts.states.get_mut(state as usize), sign);
        if !state.is_live() {
            return;
        }
        if self.trust(ix) == Trust::Quarantined || self.expires(ix).is_some() {
            add_to_count(Some(&mut self.counts.hideable), sign);
        }
        for &word in self.keywords.get(ix as usize).unwrap_or_default() {
            let at = word as usize;
            let before = self.counts.keywords.get(at).copied().unwrap_or(0);
            let after = before.saturating_add_signed(sign);
            self.counts.keywords.set(at, after, 0);
            self.counts.used_keywords += usize::from(after > 0);
            self.counts.used_keywords -= usize::from(before > 0);
        }
    }

    /// Adds or removes an edge of a kind.
    pub(super) fn count_edge(&mut self, kind: EdgeKind, sign: i32) {
        add_to_count(self.counts.kinds.get_mut(kind as usize), sign);
    }

    /// Recounts every node and every edge.
    pub(super) fn count_all(&mut self) {
        self.counts = Counts::default();
        for ix in 0..self.slots() {
            self.count_node(ix, 1);
            let rows = [&self.adjacency, &self.other_edges];
            let edges = rows.into_iter().flat_map(|rows| rows.get(ix as usize).unwrap_or_default());
            for edge in edges.filter(|edge| !edge.is_incoming()) {
                add_to_count(self.counts.kinds.get_mut(edge.kind() as usize), 1);
            }
        }
    }

    /// Whether any live node may be hidden from a request.
    pub(super) fn hides_any(&self) -> bool {
        self.counts.hideable > 0
    }

    /// The number of nodes of each type, in any state. Types without nodes are omitted.
    pub fn nodes_by_type(&self) -> BTreeMap<&str, u64> {
        let counts = (0..).zip(&self.counts.types).filter(|(_, count)| **count > 0);
        counts.map(|(number, count)| (self.type_names.name(number), u64::from(*count))).collect()
    }

    /// The number of nodes in each state. States without nodes are omitted.
    pub fn nodes_by_state(&self) -> BTreeMap<State, u64> {
        filled(State::ALL, &self.counts.states)
    }

    /// The number of edges of each kind. Kinds without edges are omitted.
    pub fn edges_by_kind(&self) -> BTreeMap<EdgeKind, u64> {
        filled(EdgeKind::ALL, &self.counts.kinds)
    }

    /// The number of distinct keywords of live nodes.
    pub fn keyword_count(&self) -> usize {
        self.counts.used_keywords
    }

    /// The number of live nodes with a keyword.
    pub fn keyword_uses(&self, number: u32) -> u32 {
        self.counts.keywords.get(number as usize).copied().unwrap_or(0)
    }

    /// The keywords of live nodes, each with its number of live nodes.
    pub fn used_keywords(&self) -> impl Iterator<Item = (&str, u32)> {
        let counts = (0..).zip(self.counts.keywords.iter()).filter(|(_, count)| **count > 0);
        counts.map(|(number, count)| (self.keyword_name(number), *count))
    }

    /// The edges at a node that are not part of the graph: `supersedes`, `contradicts`, `derived-from`, and edges
    /// from the node to itself, which are listed once.
    pub fn other_edges(&self, ix: Ix) -> &[Neighbor] {
        self.other_edges.get(ix as usize).unwrap_or_default()
    }
}

fn filled<T: Copy + Ord>(all: &[T], counts: &[u32]) -> BTreeMap<T, u64> {
    all.iter()
        .zip(counts)
        .filter(|(_, count)| **count > 0)
        .map(|(&one, &count)| (one, u64::from(count)))
        .collect()
}
