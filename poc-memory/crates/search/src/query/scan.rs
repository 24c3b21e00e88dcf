//! One pass over the columns: blocks of nodes, and the tests and readers that run over them.
//!
//! A test or a reader is a closure over cursors. It is called through a pointer once a block and
//! inlined into the loop over the block, so a node costs what a hand-written loop would pay.

use super::set::ScoredNode;
use super::value::{Direction, Relation};
use poc_graph::time::Timestamp;
use poc_graph::{Ix, State, View, Visibility};
use std::cell::Cell;

/// A generator that gives its nodes block by block.
pub(super) trait Scan {
    /// Replaces the items of `block` by the next ones; `false` when there are no more. A block may
    /// be empty.
    fn next(&mut self, block: &mut Vec<ScoredNode>) -> bool;
}

/// A filter with its names resolved.
pub(super) trait Filter {
    /// Keeps the items whose test comes out as `wanted`, in their order.
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool);
}

impl<F: FnMut(Ix) -> bool> Filter for F {
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool) {
        compact(items, |item| self(item.ix) == wanted);
    }
}

/// A field with its columns at hand.
pub(super) trait FieldReader {
    /// Appends the value of each item.
    fn read(&mut self, items: &[ScoredNode], values: &mut Vec<f64>);
}

/// What a set is ordered by, and which way.
pub(super) type Order<'a> = (Box<dyn FieldReader + 'a>, Direction);

impl<F: FnMut(ScoredNode) -> f64> FieldReader for F {
    fn read(&mut self, items: &[ScoredNode], values: &mut Vec<f64>) {
        values.extend(items.iter().map(|&item| self(item)));
    }
}

/// A comparison of a field.
pub(super) struct Comparison<'a> {
    /// What is compared.
    pub(super) field: Box<dyn FieldReader + 'a>,
    /// How.
    pub(super) relation: Relation,
    /// With what: a number, or milliseconds for a field that is an instant.
    pub(super) bound: f64,
    /// For a field that is an instant: the one the time passed is counted to.
    pub(super) until: Option<Timestamp>,
    /// Room for the values of a block.
    pub(super) values: Vec<f64>,
}

impl Filter for Comparison<'_> {
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool) {
        self.values.clear();
        self.field.read(items, &mut self.values);
        if let Some(until) = self.until {
            self.values.iter_mut().for_each(|instant| *instant = until.0 as f64 - *instant);
        }
        let (values, bound) = (self.values.as_slice(), self.bound);
        // A loop for each: in one loop for all every item would pay for the choice.
        match self.relation {
            Relation::Greater => compact_by(items, values, |value| (value > bound) == wanted),
            Relation::GreaterEqual => compact_by(items, values, |value| (value >= bound) == wanted),
            Relation::Less => compact_by(items, values, |value| (value < bound) == wanted),
            Relation::LessEqual => compact_by(items, values, |value| (value <= bound) == wanted),
            Relation::Equal => compact_by(items, values, |value| (value == bound) == wanted),
        }
    }
}

/// Keeps the items whose value passes; there is one for each.
fn compact_by(items: &mut Vec<ScoredNode>, values: &[f64], keep: impl Fn(f64) -> bool) {
    let mut values = values.iter();
    compact(items, |_| values.next().is_some_and(|&value| keep(value)));
}

/// As `Vec::retain`, without a branch on the test: over a column its outcome is hard to predict.
pub(super) fn compact(items: &mut Vec<ScoredNode>, mut keep: impl FnMut(ScoredNode) -> bool) {
    let mut kept = 0;
    let cells = Cell::from_mut(items.as_mut_slice()).as_slice_of_cells();
    for cell in cells {
        let item = cell.get();
        if let Some(slot) = cells.get(kept) {
            slot.set(item);
        }
        kept += usize::from(keep(item));
    }
    items.truncate(kept);
}

/// A set of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateSet(u8);

impl StateSet {
    /// The states searches see.
    pub(super) fn live() -> StateSet {
        State::ALL.iter().filter(|state| state.is_live()).fold(StateSet(0), |set, &state| set.with(state))
    }

    /// The same and one more.
    pub(super) fn with(self, state: State) -> StateSet {
        StateSet(self.0 | 1 << state as u8)
    }

    /// Whether it is one of them.
    #[inline]
    pub(super) fn contains(self, state: State) -> bool {
        self.0 & 1 << state as u8 != 0
    }
}

/// Tells the state of a node at an instant: a live node past its date counts as expired before any
/// housekeeping has written so.
pub(super) fn state_at(view: &View, now: Timestamp) -> impl FnMut(Ix) -> Option<State> {
    let (mut states, mut expiries) = (view.states(), view.expiries());
    move |ix| {
        let state = states.of(ix, None)?;
        let over = expiries.of(ix, None).is_some_and(|at| at <= now);
        Some(if over && state.is_live() { State::Expired } else { state })
    }
}

/// Whether a node is live and seen.
pub(super) fn visible_at(view: &View, visibility: Visibility) -> impl FnMut(Ix) -> bool {
    let mut state = state_at(view, visibility.now);
    move |ix| state(ix).is_some_and(State::is_live) && visibility.admits(view.trust(ix))
}
