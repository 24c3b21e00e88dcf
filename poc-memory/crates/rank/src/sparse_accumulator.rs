//! SparseAccumulator by node: what a walk over the graph adds up at the nodes it comes by.

use poc_graph::Ix;
use rustc_hash::FxHashMap;

/// SparseAccumulator by node, in the order the nodes came. Memory and time go with the nodes that came, not with
/// the size of the graph, until so many have come that an array over all of them is the cheaper
/// look-up. Which of the two it is cannot be observed.
#[derive(Debug, Default)]
pub(super) struct SparseAccumulator {
    all: Vec<(Ix, f64)>,
    places: Places,
    // Nodes from which on the array is used.
    many: usize,
    slots: usize,
}

/// Where in the list a node stands.
#[derive(Debug)]
enum Places {
    Few(FxHashMap<Ix, u32>),
    /// By index, counted from 1; 0 for a node that has not come, so that an array of so many costs
    /// nothing before it is touched.
    Many(Vec<u32>),
}

impl Default for Places {
    fn default() -> Self {
        Places::Few(FxHashMap::default())
    }
}

/// Of so many nodes of the graph one has to come before the array is laid out: by then the map
/// costs more than clearing the array does.
const SPARSE: usize = 64;

impl SparseAccumulator {
    /// None yet; indexes are below `slots`.
    pub(super) fn new(slots: Ix) -> Self {
        SparseAccumulator { many: slots as usize / SPARSE, slots: slots as usize, ..SparseAccumulator::default() }
    }

    /// Adds to a node's sum. Indexes from `slots` up are left out.
    pub(super) fn add(&mut self, ix: Ix, amount: f64) {
        let next = self.all.len() as u32;
        let place = match &mut self.places {
            Places::Few(places) => *places.entry(ix).or_insert(next),
            Places::Many(places) => {
                let Some(place) = places.get_mut(ix as usize) else { return };
                if *place == 0 {
                    *place = next + 1;
                }
                *place - 1
            }
        };
        match self.all.get_mut(place as usize) {
            Some((_, sum)) => *sum += amount,
            None => {
                self.all.push((ix, amount));
                self.lay_out();
            }
        }
    }

    /// Every node that came with its sum, in the order they came.
    pub(super) fn all(&self) -> &[(Ix, f64)] {
        &self.all
    }

    /// Forgets all; the room is kept.
    pub(super) fn clear(&mut self) {
        match &mut self.places {
            Places::Few(places) => places.clear(),
            Places::Many(places) => {
                for &(ix, _) in &self.all {
                    if let Some(place) = places.get_mut(ix as usize) {
                        *place = 0;
                    }
                }
            }
        }
        self.all.clear();
    }

    /// Goes over to the array when it is time.
    fn lay_out(&mut self) {
        if self.all.len() <= self.many || matches!(self.places, Places::Many(_)) {
            return;
        }
        let mut places = vec![0; self.slots];
        for (number, &(ix, _)) in (1u32..).zip(&self.all) {
            if let Some(place) = places.get_mut(ix as usize) {
                *place = number;
            }
        }
        self.places = Places::Many(places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Adding up in a list, for graphs in which the array comes at once, later and never.
        #[test]
        fn it_adds_up(
            rounds in proptest::collection::vec(proptest::collection::vec((0u32..300, 0u8..9), 0..80), 1..4),
            slots in proptest::sample::select(vec![300u32, 640, 100_000]),
        ) {
            let mut sums = SparseAccumulator::new(slots);
            for amounts in rounds {
                let mut expected: Vec<(Ix, f64)> = Vec::new();
                for (ix, amount) in amounts {
                    sums.add(ix, f64::from(amount));
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
