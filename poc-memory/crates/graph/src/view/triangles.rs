//! Counts the degrees and triangles of a whole graph at once.

use super::counts::add_to_count;
use super::{Ix, View};
use crate::State;
use crate::lists::Lists;
use rustc_hash::FxHashSet;
use std::cmp::Ordering;

impl View {
    /// Recounts degrees and triangles from the adjacency.
    ///
    /// Uses the algorithm *forward* (Schank and Wagner 2005; *compact-forward* in Latapy 2008). Each edge between live
    /// nodes is directed from the end of lower degree to the end of higher degree. No node then has more than √(2m)
    /// outgoing edges, where m is the number of edges. Every triangle of live nodes is found once, as an edge whose
    /// ends have a common successor. The triangles of a node that is not live are counted afterwards, as the edges
    /// between its live neighbours. Takes O(m^1.5) time.
    pub(super) fn count_degrees_and_triangles(&mut self) {
        for ix in 0..self.slots() {
            let degree = if self.state(ix).is_some() { self.merged_edges(ix).count() as u32 } else { 0 };
            self.degrees.set(ix as usize, degree, 0);
            self.triangles.set(ix as usize, 0, 0);
        }
        let successors = self.successors();
        let after = |ix: Ix| successors.get(ix as usize).unwrap_or_default().iter().copied();
        for a in 0..self.slots() {
            for b in after(a) {
                common(after(a), after(b), |c| {
                    for corner in [a, b, c] {
                        add_to_count(self.triangles.get_mut(corner as usize), 1);
                    }
                });
            }
        }
        for ix in 0..self.slots() {
            if self.state(ix).is_none_or(State::is_live) {
                continue;
            }
            let neighbors: FxHashSet<Ix> = self.merged_edges(ix).map(|edge| edge.ix).collect();
            let pairs = neighbors.iter().flat_map(|&b| after(b)).filter(|c| neighbors.contains(c)).count();
            self.triangles.set(ix as usize, pairs as u32, 0);
        }
    }

    /// For every live node, its live neighbours of higher degree. Equal degrees are ordered by index.
    fn successors(&self) -> Lists<Vec<Ix>> {
        let rank = |ix: Ix| (self.degree(ix), ix);
        let mut starts = vec![0];
        let mut successors = Vec::with_capacity(self.edge_count());
        for ix in 0..self.slots() {
            if self.is_live(ix) {
                successors.extend(
                    self.merged_edges(ix).map(|edge| edge.ix).filter(|&other| rank(other) > rank(ix)),
                );
            }
            starts.push(successors.len());
        }
        Lists::from_rows(&starts, &successors)
    }
}

/// Calls `each` with the elements that two ascending lists have in common.
fn common(left: impl Iterator<Item = Ix>, right: impl Iterator<Item = Ix>, mut each: impl FnMut(Ix)) {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    while let (Some(&x), Some(&y)) = (left.peek(), right.peek()) {
        match x.cmp(&y) {
            Ordering::Less => drop(left.next()),
            Ordering::Greater => drop(right.next()),
            Ordering::Equal => {
                each(x);
                left.next();
                right.next();
            }
        }
    }
}
