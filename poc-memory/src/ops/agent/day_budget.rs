//! The budget of the day of all agents together.

use crate::ops::Ctx;
use poc_agent::ledger;
use poc_agent::schedule::{day, local_zone};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the budget from which on a call that costs something rarely fits into the rest.
const NEARLY_ALL: f64 = 0.95;

/// What all agents spent today, and what they may spend. The day is that of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct DayBudget {
    /// US dollars that all agents spent today, with what their running calls may cost. A call whose model does not report
    /// its usage counts with the most that it may have cost.
    pub(in crate::ops) usd_today: f64,
    /// `[budget] max-usd-per-day`
    pub(in crate::ops) max_usd_per_day: f64,
    /// Says that so little is left that most calls which cost something are not made; absent while enough is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) budget_warning: Option<String>,
}

impl DayBudget {
    /// The budget now.
    pub(in crate::ops) fn of(ctx: &Ctx<'_>) -> Result<DayBudget> {
        let memory = ctx.memory;
        let today = day(memory.now(), local_zone()).map(|(start, end)| start..end);
        let usd_today = today.map_or(Ok(0.0), |today| ledger::spent_by_all(memory, &today))?;
        let max_usd_per_day = memory.config.budget.max_usd_per_day;
        let is_used_up = usd_today > 0.0 && usd_today >= NEARLY_ALL * max_usd_per_day;
        let budget_warning = is_used_up.then(|| {
            format!(
                "the budget of the day is used up: ${usd_today:.2} of ${max_usd_per_day:.2} are spent, or reserved for \
                 running calls, by all agents together; agents whose models cost something run again after midnight, or \
                 after `[budget] max-usd-per-day` in config.toml is raised"
            )
        });
        Ok(DayBudget { usd_today, max_usd_per_day, budget_warning })
    }
}
