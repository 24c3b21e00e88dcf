//! Degrees and triangles of a whole graph at once.

use super::{Ix, View};
use crate::graph::Column;
use std::cmp::Ordering;

impl View {
    /// Counts degrees and triangles anew from the adjacency.
    ///
    /// Algorithm *forward* (Schank and Wagner 2005; *compact-forward* in Latapy 2008): each tie is
    /// turned from the end with fewer ties to the one with more, so that no node has more than
    /// √(2 · ties) outgoing ones and every triangle is met once, as two ends of a tie that have a
    /// successor in common. Time is in the number of ties to the power of 1.5.
    pub(super) fn count_ties(&mut self) {
        let slots = self.slots();
        let mut degrees = vec![0u32; slots as usize];
        let live = || (0..slots).filter(|&ix| self.is_live(ix));
        for ix in live() {
            put(&mut degrees, ix, self.ties(ix).count() as u32);
        }
        let rank = |ix: Ix| (degrees.get(ix as usize).copied().unwrap_or(0), ix);
        let mut starts = Vec::with_capacity(slots as usize + 1);
        let mut successors: Vec<Ix> = Vec::with_capacity(self.edge_count());
        for ix in 0..slots {
            starts.push(successors.len());
            if self.is_live(ix) {
                let own = rank(ix);
                successors.extend(self.ties(ix).map(|tie| tie.ix).filter(|&other| rank(other) > own));
            }
        }
        starts.push(successors.len());
        let after = |ix: Ix| {
            let range = starts.get(ix as usize).zip(starts.get(ix as usize + 1));
            range.and_then(|(&start, &end)| successors.get(start..end)).unwrap_or_default()
        };
        let mut triangles = vec![0u32; slots as usize];
        for a in live() {
            for &b in after(a) {
                common(after(a).iter().copied(), after(b).iter().copied(), |c| {
                    for corner in [a, b, c] {
                        if let Some(count) = triangles.get_mut(corner as usize) {
                            *count += 1;
                        }
                    }
                });
            }
        }
        self.degrees = collected(degrees);
        self.triangles = collected(triangles);
    }
}

/// Calls `each` with what two ascending lists have in common.
pub(super) fn common(
    left: impl Iterator<Item = Ix>,
    right: impl Iterator<Item = Ix>,
    mut each: impl FnMut(Ix),
) {
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

fn put(values: &mut [u32], ix: Ix, value: u32) {
    if let Some(slot) = values.get_mut(ix as usize) {
        *slot = value;
    }
}

fn collected(values: Vec<u32>) -> Column<u32> {
    let mut column = Column::default();
    values.into_iter().for_each(|value| column.push(value));
    column
}
