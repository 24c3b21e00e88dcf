//! The order in which the units of a transaction are undone.

use poc_graph::error::Result;
use std::collections::BTreeSet;

/// The outcome of an attempt to undo a unit.
pub(super) enum Attempt {
    /// It was undone. These units may be possible to undo only now.
    Undone(Vec<usize>),
    /// It was undone before, and needs no further attempt.
    Reverted,
    /// It cannot be undone, at least until another one is undone.
    Left,
}

/// Calls `attempt` with the numbers of `count` units, in rounds from the last unit to the first, until a round undoes
/// none. A round leaves out the units that no undo since their last attempt has made possible, apart from the last round:
/// thousands of units may each wait for the next one.
///
/// # Errors
/// Those of `attempt`.
pub(super) fn undo_in_rounds(count: usize, mut attempt: impl FnMut(usize) -> Result<Attempt>) -> Result<()> {
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut has_progress = true;
    while has_progress {
        has_progress = false;
        let (mut round, mut next_round) = (left.clone(), BTreeSet::new());
        while let Some(unit) = round.pop_last() {
            match attempt(unit)? {
                Attempt::Left => {}
                Attempt::Reverted => {
                    left.remove(&unit);
                }
                Attempt::Undone(possible) => {
                    has_progress = true;
                    left.remove(&unit);
                    for other in possible.into_iter().filter(|other| left.contains(other)) {
                        let waiting = if other < unit { &mut round } else { &mut next_round };
                        waiting.insert(other);
                    }
                }
            }
            if round.is_empty() {
                std::mem::swap(&mut round, &mut next_round);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Units, each with the units that must be undone before it.
    struct Units(Vec<BTreeSet<usize>>);

    impl Units {
        /// The units that are undone, in order, with the number of attempts.
        fn undone(&self) -> (Vec<usize>, usize) {
            let (mut undone, mut attempts) = (Vec::new(), 0);
            undo_in_rounds(self.0.len(), |unit| {
                attempts += 1;
                if !self.0[unit].iter().all(|needed| undone.contains(needed)) {
                    return Ok(Attempt::Left);
                }
                undone.push(unit);
                let waiting = (0..self.0.len()).filter(|other| self.0[*other].contains(&unit));
                Ok(Attempt::Undone(waiting.collect()))
            })
            .unwrap();
            (undone, attempts)
        }

        /// Like `undone`, with all units in every round.
        fn naively_undone(&self) -> Vec<usize> {
            let mut undone: Vec<usize> = Vec::new();
            loop {
                let before = undone.len();
                for unit in (0..self.0.len()).rev() {
                    if !undone.contains(&unit) && self.0[unit].iter().all(|needed| undone.contains(needed)) {
                        undone.push(unit);
                    }
                }
                if undone.len() == before {
                    return undone;
                }
            }
        }
    }

    #[test]
    fn units_that_wait_for_each_other_need_few_attempts() {
        let chain = Units((0..300).map(|unit: usize| unit.checked_sub(1).into_iter().collect()).collect());
        let (undone, attempts) = chain.undone();
        assert_eq!(undone, (0..300).collect::<Vec<_>>());
        assert!(attempts <= 3 * 300, "{attempts} attempts");
    }

    poc_laws::laws! {
        #[test]
        fn the_order_is_that_of_rounds_over_all_units(
            needed in proptest::collection::vec(proptest::collection::btree_set(0usize..12, 0..3), 12),
        ) {
            let units = Units(needed);
            prop_assert_eq!(units.undone().0, units.naively_undone());
        }
    }
}
