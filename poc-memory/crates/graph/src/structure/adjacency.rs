//! A compact adjacency structure for whole-graph algorithms.

use crate::Ix;
use crate::View;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An edge as seen from one end, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HalfEdge {
    /// The node at the other end.
    pub(super) ix: Ix,
    /// The strength: above 0, at most 1.
    pub(super) strength: f32,
}

/// Compressed sparse rows: the edges of node `ix` are at `starts[ix]..starts[ix + 1]`.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    starts: Vec<usize>,
    ends: Vec<HalfEdge>,
}

impl Adjacency {
    /// The merged edges between live nodes, by node index. Edges weaker than `min_strength`, or of strength 0, are left
    /// out.
    pub(super) fn of(view: &View, min_strength: f64) -> Self {
        let slots = view.slots();
        let mut starts = Vec::with_capacity(slots as usize + 1);
        let mut ends = Vec::with_capacity(2 * view.edge_count());
        for ix in 0..slots {
            starts.push(ends.len());
            if view.is_live(ix) {
                let strong =
                    view.merged_edges(ix).filter(|edge| edge.strength >= min_strength && edge.strength > 0.0);
                ends.extend(strong.map(|edge| HalfEdge { ix: edge.ix, strength: edge.strength as f32 }));
            }
        }
        starts.push(ends.len());
        Adjacency { starts, ends }
    }

    /// The merged edges among nodes in any state, numbered by their position in the list.
    pub(super) fn among(view: &View, nodes: &[Ix]) -> Self {
        let positions: FxHashMap<Ix, u32> = nodes.iter().copied().zip(0..).collect();
        let mut starts = Vec::with_capacity(nodes.len() + 1);
        let mut ends: Vec<HalfEdge> = Vec::new();
        for &ix in nodes {
            starts.push(ends.len());
            for edges in view.edges(ix).chunk_by(|a, b| a.target() == b.target()) {
                let position = edges.first().and_then(|edge| positions.get(&edge.target()));
                let strength = edges.iter().fold(0.0f32, |best, edge| best.max(edge.strength));
                if let Some(&ix) = position.filter(|_| strength > 0.0) {
                    ends.push(HalfEdge { ix, strength });
                }
            }
            if let Some(row) = starts.last().and_then(|&start| ends.get_mut(start..)) {
                row.sort_unstable_by_key(|end| end.ix);
            }
        }
        starts.push(ends.len());
        Adjacency { starts, ends }
    }

    /// The edges among some nodes, renumbered by their position in the list. No edge of these nodes may lead outside
    /// the list. `positions` is a reusable buffer with one entry per node.
    pub(super) fn subgraph(&self, nodes: &[Ix], positions: &mut Vec<u32>) -> Self {
        positions.resize(self.starts.len(), 0);
        for (position, &ix) in nodes.iter().enumerate() {
            if let Some(slot) = positions.get_mut(ix as usize) {
                *slot = position as u32;
            }
        }
        let mut starts = Vec::with_capacity(nodes.len() + 1);
        let mut ends = Vec::with_capacity(nodes.iter().map(|&ix| self.row(ix).len()).sum());
        for &ix in nodes {
            starts.push(ends.len());
            let position = |ix: Ix| positions.get(ix as usize).copied().unwrap_or(0);
            ends.extend(self.row(ix).iter().map(|end| HalfEdge { ix: position(end.ix), ..*end }));
        }
        starts.push(ends.len());
        Adjacency { starts, ends }
    }

    /// Calls `each` with every connected part of the nodes that `belongs` accepts, found by breadth-first search. Two
    /// adjacent nodes are in the same part if `joined` accepts them.
    pub(super) fn for_each_part(
        &self,
        belongs: impl Fn(Ix) -> bool,
        joined: impl Fn(Ix, Ix) -> bool,
        mut each: impl FnMut(&[Ix]),
    ) {
        let mut seen = vec![false; self.rows() as usize];
        let mut part: Vec<Ix> = Vec::new();
        for seed in 0..self.rows() {
            if seen.get(seed as usize) != Some(&false) || !belongs(seed) {
                continue;
            }
            part.clear();
            visit(&mut seen, seed, &mut part);
            let mut next = 0;
            while let Some(&ix) = part.get(next) {
                next += 1;
                for end in self.row(ix).iter().filter(|end| joined(ix, end.ix)) {
                    visit(&mut seen, end.ix, &mut part);
                }
            }
            each(&part);
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> Ix {
        self.starts.len().saturating_sub(1) as Ix
    }

    /// The number of edge ends: two for each edge.
    pub(super) fn ends(&self) -> usize {
        self.ends.len()
    }

    /// The edges of a node.
    #[inline]
    pub(super) fn row(&self, ix: Ix) -> &[HalfEdge] {
        let range = self.starts.get(ix as usize).zip(self.starts.get(ix as usize + 1));
        range.and_then(|(&start, &end)| self.ends.get(start..end)).unwrap_or(&[])
    }

    /// The edges of the nodes in a range, node by node.
    #[inline]
    pub(super) fn rows_in(&self, nodes: Range<usize>) -> impl ExactSizeIterator<Item = &[HalfEdge]> + Clone {
        let bounds = self.starts.get(nodes.start..=nodes.end).unwrap_or(&[]);
        let ranges = bounds.iter().zip(bounds.iter().skip(1));
        ranges.map(|(&start, &end)| self.ends.get(start..end).unwrap_or(&[]))
    }

    /// The node before which about half of the edge ends lie.
    pub(super) fn middle(&self) -> usize {
        let half = self.ends() / 2;
        self.starts.partition_point(|&start| start < half).min(self.rows() as usize)
    }
}

/// Adds a node to a part unless a search has already found it.
fn visit(seen: &mut [bool], ix: Ix, part: &mut Vec<Ix>) {
    if let Some(seen) = seen.get_mut(ix as usize)
        && !*seen
    {
        *seen = true;
        part.push(ix);
    }
}
