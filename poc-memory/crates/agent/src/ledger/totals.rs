//! Totals of an agent that outlive its rows.

use super::Run;
use super::status::Status;
use serde::{Deserialize, Serialize};

/// Counters that only grow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Ended rows by status, in the order of first occurrence.
    ended: Vec<(Status, u64)>,
    /// Input tokens, as far as reported.
    pub tokens_in: u64,
    /// Output tokens, as far as reported.
    pub tokens_out: u64,
    /// US dollars, as far as known.
    pub cost: f64,
}

impl Totals {
    /// Number of ended rows by status, including skipped and missed slots.
    pub fn ended(&self) -> impl Iterator<Item = (Status, u64)> {
        self.ended.iter().copied()
    }

    /// Adds an ended row.
    pub(super) fn add(&mut self, row: &Run) {
        match self.ended.iter_mut().find(|(status, _)| *status == row.status) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.ended.push((row.status, 1)),
        }
        self.add_cost(row);
    }

    /// Adds the cost of a row without counting the row.
    pub(super) fn add_cost(&mut self, row: &Run) {
        self.tokens_in = self.tokens_in.saturating_add(row.tokens_in.unwrap_or(0));
        self.tokens_out = self.tokens_out.saturating_add(row.tokens_out.unwrap_or(0));
        self.cost += row.cost.unwrap_or(0.0);
    }
}
