//! Connected components: the parts of the graph that hang together over ties.

use super::adjacency::Adjacency;
use crate::graph::{Ix, View};
use std::cmp::Reverse;
use std::ops::Range;

/// Stands for no component.
const NONE: u32 = u32::MAX;

/// The components of two nodes or more. Component 0 is the largest; of equals the one with the
/// smallest id comes first.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    // By node.
    numbers: Vec<u32>,
    // All members, component by component, ascending within one.
    members: Vec<Ix>,
    starts: Vec<usize>,
}

impl Components {
    /// Finds them by a search in breadth from every node.
    pub(super) fn of(view: &View, adjacency: &Adjacency) -> Self {
        let mut numbers = vec![NONE; adjacency.slots() as usize];
        let mut parts: Vec<Vec<Ix>> = Vec::new();
        for seed in 0..adjacency.slots() {
            if adjacency.at(seed).is_empty() || numbers.get(seed as usize) != Some(&NONE) {
                continue;
            }
            let number = parts.len() as u32;
            let mut part = Vec::new();
            enter(&mut numbers, seed, number, &mut part);
            let mut next = 0;
            while let Some(&ix) = part.get(next) {
                next += 1;
                for end in adjacency.at(ix) {
                    enter(&mut numbers, end.ix, number, &mut part);
                }
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts.sort_by_cached_key(|part| {
            (Reverse(part.len()), part.iter().filter_map(|&ix| view.id(ix)).min())
        });
        let mut components = Components { numbers, members: Vec::new(), starts: vec![0] };
        for (number, part) in parts.into_iter().enumerate() {
            for &ix in &part {
                if let Some(slot) = components.numbers.get_mut(ix as usize) {
                    *slot = number as u32;
                }
            }
            components.members.extend(part);
            components.starts.push(components.members.len());
        }
        components
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The component of a node; `None` when it is not live or has no ties.
    #[inline]
    pub(super) fn number(&self, ix: Ix) -> Option<u32> {
        self.numbers.get(ix as usize).copied().filter(|&number| number != NONE)
    }

    /// Where the members of a component stand among all members.
    #[inline]
    pub(super) fn range(&self, component: u32) -> Range<usize> {
        let at = component as usize;
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.map_or(0..0, |(&start, &end)| start..end)
    }

    /// The members of a component, ascending.
    pub(super) fn members(&self, component: u32) -> &[Ix] {
        self.members.get(self.range(component)).unwrap_or(&[])
    }
}

/// Takes a node into a part, unless it is in one.
fn enter(numbers: &mut [u32], ix: Ix, number: u32, part: &mut Vec<Ix>) {
    if let Some(slot) = numbers.get_mut(ix as usize)
        && *slot == NONE
    {
        *slot = number;
        part.push(ix);
    }
}
