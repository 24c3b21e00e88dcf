//! Random histories of notes, applied to an index.

use crate::Index;
use poc_graph::{Delta, Node, State, testing};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A transaction on a note, given by its number, or a restart.
#[derive(Clone, Debug)]
pub(crate) enum HistoryStep {
    /// Stores a note with a title and a body.
    Put(u64, String, String),
    /// Stores a superseded note with a title and a body.
    Retire(u64, String, String),
    /// Deletes a note, which need not exist.
    Delete(u64),
    /// Saves the index and opens it again.
    Reopen,
}

/// Up to 30 steps on notes with these numbers, titles and bodies.
pub(crate) fn history(
    numbers: Range<u64>,
    title: impl Strategy<Value = String> + 'static,
    body: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = Vec<HistoryStep>> {
    let texts = (numbers.clone(), title, body).boxed();
    let step = prop_oneof![
        4 => texts.clone().prop_map(|(number, title, body)| HistoryStep::Put(number, title, body)),
        1 => texts.prop_map(|(number, title, body)| HistoryStep::Retire(number, title, body)),
        1 => numbers.prop_map(HistoryStep::Delete),
        1 => Just(HistoryStep::Reopen),
    ];
    prop::collection::vec(step, 0..30)
}

/// Applies a history to the index that `open` opens, with each transaction applied twice, because the second time must
/// have no effect. Returns the index and the live notes by number.
pub(crate) fn apply_history<I: Index>(
    steps: Vec<HistoryStep>,
    note: &dyn Fn(u64, &str, &str) -> Node,
    open: &dyn Fn() -> I,
) -> (I, BTreeMap<u64, Node>) {
    let mut index = open();
    let mut notes = BTreeMap::new();
    for (seq, step) in (1..).zip(steps) {
        let deltas = match step {
            HistoryStep::Put(number, title, body) => {
                let node = note(number, &title, &body);
                notes.insert(number, node.clone());
                vec![Delta::Node(Arc::new(node))]
            }
            HistoryStep::Retire(number, title, body) => {
                notes.remove(&number);
                let retired = Node { state: State::Superseded, ..note(number, &title, &body) };
                vec![Delta::Node(Arc::new(retired))]
            }
            HistoryStep::Delete(number) => {
                notes.remove(&number);
                vec![Delta::NodeDeleted(testing::node(number).id)]
            }
            HistoryStep::Reopen => {
                index.checkpoint().unwrap();
                drop(index);
                index = open();
                vec![]
            }
        };
        index.apply(seq, &deltas).unwrap();
        index.apply(seq, &deltas).unwrap();
        assert_eq!(index.applied(), seq);
    }
    (index, notes)
}
