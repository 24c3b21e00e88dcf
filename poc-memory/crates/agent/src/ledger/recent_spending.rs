//! Number and cost of the latest runs of an agent, per quarter of an hour.

use poc_graph::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Spending is booked per quarter of an hour, because the day begins at a quarter in every time zone.
pub(super) const QUARTER: Span = Span(15 * Span::MINUTE.0);

/// Maximum number of stored quarters of an hour: those of two days, of which the longest has 26 hours. Beyond that, the
/// least recently booked ones are dropped, whatever their time, so that a wrong clock never drops the spending of
/// today.
pub(super) const QUARTERS: usize = 2 * 26 * 4;

/// The booked quarters of an hour, the least recently booked one first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RecentSpending(Vec<QuarterSpend>);

/// Runs and cost of a quarter of an hour.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct QuarterSpend {
    /// Quarters of an hour since 1970.
    quarter: i64,
    runs: u32,
    cost: f64,
}

/// Runs of an agent and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    /// Number of runs.
    pub runs: u32,
    /// Their cost in US dollars.
    pub cost: f64,
}

impl RecentSpending {
    /// Number of quarters stored.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is booked in the quarter of an hour that contains an instant.
    pub(super) fn is_unbooked(&self, at: Timestamp) -> bool {
        self.0.iter().all(|spent| spent.quarter != quarter(at))
    }

    /// Whether everything is booked in quarters before the one that contains an instant.
    pub(super) fn is_before(&self, at: Timestamp) -> bool {
        self.0.iter().all(|spent| spent.quarter < quarter(at))
    }

    /// The spending of the runs that began in `from..until`. Both must be the beginning of a quarter of an hour.
    pub(super) fn within(&self, from: Timestamp, until: Timestamp) -> Spending {
        let (from, until) = (quarter(from), quarter(until));
        let within = self.0.iter().filter(|spent| (from..until).contains(&spent.quarter));
        within.fold(Spending::default(), |sum, spent| Spending {
            runs: sum.runs + spent.runs,
            cost: sum.cost + spent.cost,
        })
    }

    /// Adds runs and their cost in US dollars to the quarter in which they started.
    pub(super) fn book(&mut self, started: Timestamp, runs: u32, cost: f64) {
        let quarter = quarter(started);
        let before = self.0.iter().position(|spent| spent.quarter == quarter);
        let before = before.map(|at| self.0.remove(at));
        let before = before.unwrap_or(QuarterSpend { quarter, runs: 0, cost: 0.0 });
        let (runs, cost) = (before.runs.saturating_add(runs), before.cost + cost);
        self.0.push(QuarterSpend { quarter, runs, cost });
        let surplus = self.0.len().saturating_sub(QUARTERS);
        self.0.drain(..surplus);
    }
}

fn quarter(at: Timestamp) -> i64 {
    at.0.div_euclid(QUARTER.0)
}
