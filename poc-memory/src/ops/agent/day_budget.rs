//! The budget of the day of all agents together.

use crate::ops::Ctx;
use poc_agent::ledger;
use poc_agent::schedule::{day, local_zone};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the budget from which on it counts as used up: a call rarely fits into the rest.
const USED_UP: f64 = 0.95;

/// What all agents spent today, and what they may spend. The day is that of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct DayBudget {
    /// US dollars that all agents spent today, with what their running calls may cost. A call whose model does not report
    /// its usage counts with the most that it may have cost.
    pub(in crate::ops) usd_today: f64,
    /// `[budget] max-usd-per-day`
    pub(in crate::ops) max_usd_per_day: f64,
    /// Whether the rest is so small that most calls that cost something do not fit into it.
    used_up: bool,
}

impl DayBudget {
    pub(in crate::ops) fn of(ctx: &Ctx<'_>) -> Result<DayBudget> {
        let memory = ctx.memory;
        let today = day(memory.now(), local_zone()).map(|(start, end)| start..end);
        let usd_today = today.map_or(Ok(0.0), |today| ledger::spent_by_all(memory, &today))?;
        let max_usd_per_day = memory.config.budget.max_usd_per_day;
        let used_up = usd_today > 0.0 && usd_today >= USED_UP * max_usd_per_day;
        Ok(DayBudget { usd_today, max_usd_per_day, used_up })
    }

    /// What to tell a person when the budget is used up; `None` when it is not.
    pub(in crate::ops) fn warning(&self) -> Option<String> {
        let DayBudget { usd_today, max_usd_per_day, used_up } = self;
        used_up.then(|| {
            format!(
                "the budget of the day is used up: ${usd_today:.2} of ${max_usd_per_day:.2} are spent, by all agents together"
            )
        })
    }
}

/// How it goes on, or what a person can do about it.
pub(in crate::ops) const USED_UP_HINT: &str = "agents whose models cost something run again after midnight, or after `[budget] max-usd-per-day` in config.toml is raised";
