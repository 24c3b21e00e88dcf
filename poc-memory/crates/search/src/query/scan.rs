//! The parts of a pass over the columns: scans produce blocks of nodes, which filters and field readers process.
//!
//! A filter or a reader is a closure over cursors. There is one dynamic call per block, and the closure is inlined into
//! the loop over the block, so the cost per node is that of a hand-written loop.

use super::set::ScoredNode;
use super::value::{Relation, SortDirection, day_number};
use poc_graph::time::Timestamp;
use poc_graph::{Ix, State, View, Visibility};
use std::cell::Cell;

/// A generator that produces its nodes block by block.
pub(super) trait Scan {
    /// Replaces the items of `block` by the next ones. Returns `false` if there are no more. A block may be empty.
    fn next(&mut self, block: &mut Vec<ScoredNode>) -> bool;
}

/// A filter with resolved arguments.
pub(super) trait Filter {
    /// Keeps the items whose test returns `wanted`, in order.
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool);
}

impl<F: FnMut(Ix) -> bool> Filter for F {
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool) {
        compact(items, |item| self(item.ix) == wanted);
    }
}

/// Reads the values of a field from its columns.
pub(super) trait FieldReader {
    /// Appends the value of each item.
    fn read(&mut self, items: &[ScoredNode], values: &mut Vec<f64>);
}

/// The field to sort by and the direction.
pub(super) type Order<'a> = (Box<dyn FieldReader + 'a>, SortDirection);

impl<F: FnMut(ScoredNode) -> f64> FieldReader for F {
    fn read(&mut self, items: &[ScoredNode], values: &mut Vec<f64>) {
        values.extend(items.iter().map(|&item| self(item)));
    }
}

/// Reads the days, as numbers, of a field that is an instant.
pub(super) struct DayReader<'a>(pub(super) Box<dyn FieldReader + 'a>);

impl FieldReader for DayReader<'_> {
    fn read(&mut self, items: &[ScoredNode], values: &mut Vec<f64>) {
        let begin = values.len();
        self.0.read(items, values);
        let read = values.get_mut(begin..).unwrap_or_default();
        read.iter_mut().for_each(|instant| *instant = day_number(*instant));
    }
}

/// A filter that compares a field with a bound.
pub(super) struct ComparisonFilter<'a> {
    /// The field.
    pub(super) field: Box<dyn FieldReader + 'a>,
    /// The operator.
    pub(super) relation: Relation,
    /// The bound: a number, or a duration in milliseconds or the number of a day for a field that is an instant.
    pub(super) bound: f64,
    /// For a field that is an instant and a duration: the time of the run, up to which the elapsed time is counted.
    pub(super) until: Option<Timestamp>,
    /// The step to whose multiples values and bound are rounded before they are compared.
    pub(super) step: Option<f64>,
    /// A buffer for the values of a block.
    pub(super) values: Vec<f64>,
}

impl Filter for ComparisonFilter<'_> {
    fn retain(&mut self, items: &mut Vec<ScoredNode>, wanted: bool) {
        self.values.clear();
        self.field.read(items, &mut self.values);
        if let Some(until) = self.until {
            self.values.iter_mut().for_each(|instant| *instant = until.0 as f64 - *instant);
        }
        let mut bound = self.bound;
        if let Some(step) = self.step {
            let rounded = |number: f64| (number / step).round();
            self.values.iter_mut().for_each(|value| *value = rounded(*value));
            bound = rounded(bound);
        }
        let values = self.values.as_slice();
        // Each operator has its own loop, so that the operator is not chosen again for every item.
        match self.relation {
            Relation::Greater => compact_by(items, values, |value| (value > bound) == wanted),
            Relation::GreaterEqual => compact_by(items, values, |value| (value >= bound) == wanted),
            Relation::Less => compact_by(items, values, |value| (value < bound) == wanted),
            Relation::LessEqual => compact_by(items, values, |value| (value <= bound) == wanted),
            Relation::Equal => compact_by(items, values, |value| (value == bound) == wanted),
        }
    }
}

/// Keeps the items whose value passes the test. There must be one value per item.
fn compact_by(items: &mut Vec<ScoredNode>, values: &[f64], keep: impl Fn(f64) -> bool) {
    let mut values = values.iter();
    compact(items, |_| values.next().is_some_and(|&value| keep(value)));
}

/// Like `Vec::retain`, but without a branch on the test, because its outcome is hard to predict over a column.
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

/// A set of node states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateSet(u8);

impl StateSet {
    /// The states that searches include by default.
    pub(super) fn live() -> StateSet {
        State::ALL.iter().filter(|state| state.is_live()).fold(StateSet(0), |set, &state| set.with(state))
    }

    /// Adds a state.
    pub(super) fn with(self, state: State) -> StateSet {
        StateSet(self.0 | 1 << state as u8)
    }

    /// Whether the set contains a state.
    #[inline]
    pub(super) fn contains(self, state: State) -> bool {
        self.0 & 1 << state as u8 != 0
    }
}

/// Returns a function for the state of a node at an instant. A live node past its `expires` counts as expired, even if
/// consolidation has not recorded that yet.
pub(super) fn state_at(view: &View, now: Timestamp) -> impl FnMut(Ix) -> Option<State> {
    let (mut states, mut expiries) = (view.states(), view.expiries());
    move |ix| {
        let state = states.of(ix, None)?;
        let is_expired = expiries.of(ix, None).is_some_and(|at| at <= now);
        Some(if is_expired && state.is_live() { State::Expired } else { state })
    }
}

/// Returns a function that tells whether a node is live and visible.
pub(super) fn visible_at(view: &View, visibility: Visibility) -> impl FnMut(Ix) -> bool {
    let mut state = state_at(view, visibility.now);
    move |ix| state(ix).is_some_and(State::is_live) && visibility.admits(view.trust(ix))
}
