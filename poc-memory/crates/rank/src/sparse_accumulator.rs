//! A sparse accumulator, which sums values by node during a traversal of the graph.

use poc_graph::Ix;
use rustc_hash::FxHashMap;

/// Sums by node, in the order in which the nodes were first added. Memory and time are proportional to the number of
/// distinct nodes added, not to the size of the graph. After many nodes it switches from a hash map to an array over
/// all nodes, which is then cheaper. The switch does not change any result.
#[derive(Debug, Default)]
pub(super) struct SparseAccumulator {
    all: Vec<(Ix, f64)>,
    positions: Positions,
    // The number of distinct nodes after which the array is used.
    many: usize,
    slots: usize,
}

/// The position of each node in the list of sums.
#[derive(Debug)]
enum Positions {
    Sparse(FxHashMap<Ix, u32>),
    /// By node index: the position plus 1, or 0 for a node that was not added. Zero pages of the array take no memory
    /// until they are written.
    Dense(Vec<u32>),
}

impl Default for Positions {
    fn default() -> Self {
        Positions::Sparse(FxHashMap::default())
    }
}

/// The array replaces the map when more than one in this many nodes of the graph was added. From then on the map costs
/// more than clearing the array.
const SPARSE: usize = 64;

impl SparseAccumulator {
    /// Creates an empty accumulator for node indexes below `slots`.
    pub(super) fn new(slots: Ix) -> Self {
        SparseAccumulator {
            many: slots as usize / SPARSE,
            slots: slots as usize,
            ..SparseAccumulator::default()
        }
    }

    /// Adds to the sum of a node. Indexes of `slots` or more may be ignored.
    pub(super) fn add(&mut self, ix: Ix, amount: f64) {
        let next = self.all.len() as u32;
        let position = match &mut self.positions {
            Positions::Sparse(positions) => *positions.entry(ix).or_insert(next),
            Positions::Dense(positions) => {
                let Some(position) = positions.get_mut(ix as usize) else { return };
                if *position == 0 {
                    *position = next + 1;
                }
                *position - 1
            }
        };
        match self.all.get_mut(position as usize) {
            Some((_, sum)) => *sum += amount,
            None => {
                self.all.push((ix, amount));
                self.switch_to_array();
            }
        }
    }

    /// Adds to the sum of a node only if the node was added before; returns whether it was.
    pub(super) fn add_to_known(&mut self, ix: Ix, amount: f64) -> bool {
        let position = match &self.positions {
            Positions::Sparse(positions) => positions.get(&ix).copied(),
            Positions::Dense(positions) => {
                positions.get(ix as usize).and_then(|position| position.checked_sub(1))
            }
        };
        let sum = position.and_then(|position| self.all.get_mut(position as usize));
        sum.map(|(_, sum)| *sum += amount).is_some()
    }

    /// All nodes with their sums, in the order in which they were first added.
    pub(super) fn all(&self) -> &[(Ix, f64)] {
        &self.all
    }

    /// Removes all sums; the allocated memory is kept.
    pub(super) fn clear(&mut self) {
        match &mut self.positions {
            Positions::Sparse(positions) => positions.clear(),
            Positions::Dense(positions) => {
                for &(ix, _) in &self.all {
                    if let Some(position) = positions.get_mut(ix as usize) {
                        *position = 0;
                    }
                }
            }
        }
        self.all.clear();
    }

    /// Switches to the array once enough nodes were added.
    fn switch_to_array(&mut self) {
        if self.all.len() <= self.many || matches!(self.positions, Positions::Dense(_)) {
            return;
        }
        let mut positions = vec![0; self.slots];
        for (number, &(ix, _)) in (1u32..).zip(&self.all) {
            if let Some(position) = positions.get_mut(ix as usize) {
                *position = number;
            }
        }
        self.positions = Positions::Dense(positions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// It agrees with a plain list, whether it switches to the array at once, later or never.
        #[test]
        fn an_accumulator_agrees_with_a_plain_list(
            rounds in proptest::collection::vec(proptest::collection::vec((0u32..300, 0u8..9), 0..80), 1..4),
            slots in proptest::sample::select(vec![300u32, 640, 100_000]),
        ) {
            let mut sums = SparseAccumulator::new(slots);
            for amounts in rounds {
                let mut expected: Vec<(Ix, f64)> = Vec::new();
                for (ix, amount) in amounts {
                    let is_known = expected.iter().any(|(other, _)| *other == ix);
                    prop_assert_eq!(sums.add_to_known(ix, f64::from(amount)), is_known);
                    if !is_known {
                        sums.add(ix, f64::from(amount));
                    }
                    match expected.iter_mut().find(|(other, _)| *other == ix) {
                        Some((_, sum)) => *sum += f64::from(amount),
                        None => expected.push((ix, f64::from(amount))),
                    }
                }
                prop_assert_eq!(sums.all(), expected);
                sums.clear();
                prop_assert_eq!(sums.all(), &[]);
            }
        }
    }
}
