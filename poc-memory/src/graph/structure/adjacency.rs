//! The ties of a graph, packed: the form in which whole-graph algorithms walk it.

use crate::graph::{Ix, View};

/// One end of a tie: the node at the other end, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct End {
    /// The other node.
    pub(super) ix: Ix,
    /// Strength in 0–1, above 0.
    pub(super) strength: f32,
}

/// Compressed sparse rows: the ties of node `ix` stand at `starts[ix]..starts[ix + 1]`, by node.
/// A node that is not live has none.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    starts: Vec<usize>,
    ends: Vec<End>,
}

impl Adjacency {
    /// The ties between live nodes that have at least this strength, and any at all.
    pub(super) fn of(view: &View, least: f64) -> Self {
        let slots = view.slots();
        let mut starts = Vec::with_capacity(slots as usize + 1);
        let mut ends = Vec::with_capacity(2 * view.edge_count());
        for ix in 0..slots {
            starts.push(ends.len());
            if view.is_live(ix) {
                let strong = view.ties(ix).filter(|tie| tie.strength >= least && tie.strength > 0.0);
                ends.extend(strong.map(|tie| End { ix: tie.ix, strength: tie.strength as f32 }));
            }
        }
        starts.push(ends.len());
        Adjacency { starts, ends }
    }

    /// One past the greatest index.
    pub(super) fn slots(&self) -> Ix {
        self.starts.len().saturating_sub(1) as Ix
    }

    /// The ties of a node, by the index of the other end.
    #[inline]
    pub(super) fn at(&self, ix: Ix) -> &[End] {
        let range = self.starts.get(ix as usize).zip(self.starts.get(ix as usize + 1));
        range.and_then(|(&start, &end)| self.ends.get(start..end)).unwrap_or(&[])
    }
}
