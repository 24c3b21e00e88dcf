//! What an agent has done and taken in all, whatever becomes of its rows.

use super::Run;
use super::status::Status;
use serde::{Deserialize, Serialize};

/// Counts that only grow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Rows that ended, by how, in the order they were first seen.
    ended: Vec<(Status, u64)>,
    /// Tokens read, as far as providers tell.
    pub tokens_in: u64,
    /// Tokens written, as far as providers tell.
    pub tokens_out: u64,
    /// US dollars, as far as they are known.
    pub cost: f64,
}

impl Totals {
    /// Rows that ended, by how: also those of slots that were skipped or missed.
    pub fn ended(&self) -> impl Iterator<Item = (Status, u64)> {
        self.ended.iter().copied()
    }

    /// Counts a row that has ended.
    pub(super) fn add(&mut self, row: &Run) {
        match self.ended.iter_mut().find(|(status, _)| *status == row.status) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.ended.push((row.status, 1)),
        }
        self.add_cost(row);
    }

    /// Counts what a row took, and not how it ended.
    pub(super) fn add_cost(&mut self, row: &Run) {
        self.tokens_in = self.tokens_in.saturating_add(row.tokens_in.unwrap_or(0));
        self.tokens_out = self.tokens_out.saturating_add(row.tokens_out.unwrap_or(0));
        self.cost += row.cost.unwrap_or(0.0);
    }
}
