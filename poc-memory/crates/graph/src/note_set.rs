//! A set of live notes, as a filter.

use crate::id::NodeId;
use crate::view::{Ix, View};
use rustc_hash::{FxBuildHasher, FxHashSet};

/// A set of live notes. Both a set of few notes and one of almost all notes are small: the set consists either of the
/// notes in it or of those that are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteSet {
    /// These notes.
    Only(FxHashSet<NodeId>),
    /// All live notes but these.
    AllBut(FxHashSet<NodeId>),
}

impl NoteSet {
    /// The live notes of a view that `is_in` accepts. It is called once for each live note.
    pub fn of_live(view: &View, is_in: &dyn Fn(Ix) -> bool) -> NoteSet {
        let live = (0..view.slots()).filter(|&ix| view.is_live(ix));
        let (inside, outside): (Vec<Ix>, Vec<Ix>) = live.partition(|&ix| is_in(ix));
        let ids = |notes: &[Ix]| {
            let mut ids = FxHashSet::with_capacity_and_hasher(notes.len(), FxBuildHasher);
            ids.extend(notes.iter().filter_map(|&ix| view.id(ix)));
            ids
        };
        match inside.len() <= outside.len() {
            true => NoteSet::Only(ids(&inside)),
            false => NoteSet::AllBut(ids(&outside)),
        }
    }

    /// Whether a live note is in the set.
    #[inline]
    pub fn contains(&self, id: NodeId) -> bool {
        match self {
            NoteSet::Only(notes) => notes.contains(&id),
            NoteSet::AllBut(notes) => !notes.contains(&id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Node, State, testing};
    use proptest::prelude::*;
    use std::sync::Arc;

    poc_laws::laws! {
        #[test]
        fn a_set_contains_the_accepted_notes_and_stores_the_smaller_half(
            notes in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..20),
        ) {
            let mut view = View::new();
            for (number, (is_live, _)) in (0u64..).zip(&notes) {
                let state = if *is_live { State::Active } else { State::Superseded };
                view.apply(number + 1, &[Delta::Node(Arc::new(Node { state, ..testing::node(number) }))]);
            }
            let is_in = |number: u64| notes[number as usize].1;
            let number_of = |ix: Ix| (0..20u64).find(|&number| view.find(testing::node(number).id) == Some(ix)).unwrap();
            let set = NoteSet::of_live(&view, &|ix| is_in(number_of(ix)));
            let live = (0u64..).zip(&notes).filter(|(_, (is_live, _))| *is_live).map(|(number, _)| number);
            let live: Vec<u64> = live.collect();
            for &number in &live {
                prop_assert_eq!(set.contains(testing::node(number).id), is_in(number));
            }
            let (NoteSet::Only(stored) | NoteSet::AllBut(stored)) = &set;
            prop_assert!(2 * stored.len() <= live.len(), "{set:?}");
        }
    }
}
