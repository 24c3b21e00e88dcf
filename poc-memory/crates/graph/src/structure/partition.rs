//! A partition of nodes into connected parts: components and communities.

use super::adjacency::Adjacency;
use crate::Ix;
use crate::NodeId;
use crate::View;
use crate::counting_sort::grouped;
use std::cmp::Reverse;
use std::ops::Range;

/// The number of nodes outside every part.
const NONE: u32 = u32::MAX;

/// Numbered parts, largest first. Equally large parts are ordered by their smallest id.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    // By node.
    numbers: Vec<u32>,
    // All members, part by part, in ascending order within a part.
    members: Vec<Ix>,
    // The start of each part in `members`, and the end of the last.
    starts: Vec<usize>,
}

impl Partition {
    /// Partitions the nodes that `belongs` accepts. Two adjacent nodes are in the same part if `joined` accepts them.
    pub(super) fn of(
        view: &View,
        adjacency: &Adjacency,
        belongs: impl Fn(Ix) -> bool,
        joined: impl Fn(Ix, Ix) -> bool,
    ) -> Self {
        let mut numbers = vec![NONE; adjacency.rows() as usize];
        let mut found: Vec<(Reverse<usize>, Option<NodeId>, u32)> = Vec::new();
        adjacency.for_each_part(belongs, joined, |members| {
            let part = found.len() as u32;
            for &ix in members {
                if let Some(number) = numbers.get_mut(ix as usize) {
                    *number = part;
                }
            }
            let smallest = members.iter().map(|&ix| view.id(ix)).min().flatten();
            found.push((Reverse(members.len()), smallest, part));
        });
        found.sort_unstable();
        let mut positions = vec![NONE; found.len()];
        for (position, (_, _, part)) in found.iter().enumerate() {
            if let Some(slot) = positions.get_mut(*part as usize) {
                *slot = position as u32;
            }
        }
        for number in numbers.iter_mut() {
            *number = positions.get(*number as usize).copied().unwrap_or(NONE);
        }
        Partition::numbered(numbers)
    }

    /// Creates a partition from a part number per node; `u32::MAX` means none.
    pub(super) fn numbered(numbers: Vec<u32>) -> Self {
        let last = numbers.iter().filter(|number| **number != NONE).max();
        let count = last.map_or(0, |last| *last as usize + 1);
        let (starts, members) = grouped(count, numbers.iter().copied().zip(0..));
        Partition { numbers, members, starts }
    }

    /// The number of parts.
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// One past the greatest node index.
    pub(super) fn slots(&self) -> usize {
        self.numbers.len()
    }

    /// The part of a node; `None` if it is in no part.
    #[inline]
    pub(super) fn number(&self, ix: Ix) -> Option<u32> {
        self.numbers.get(ix as usize).copied().filter(|&number| number != NONE)
    }

    /// The range of a part in `members`.
    #[inline]
    pub(super) fn range(&self, part: u32) -> Range<usize> {
        let at = part as usize;
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.map_or(0..0, |(&start, &end)| start..end)
    }

    /// The members of a part, ascending.
    pub(super) fn members(&self, part: u32) -> &[Ix] {
        self.members.get(self.range(part)).unwrap_or(&[])
    }

    /// The sizes of all parts, largest first.
    pub(super) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        (0..self.len() as u32).map(|part| self.range(part).len())
    }
}
