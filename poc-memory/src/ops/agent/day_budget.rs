//! The daily budget of all agents together.

use crate::ops::Ctx;
use poc_agent::ledger;
use poc_agent::schedule::{day, local_zone};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of the daily budget above which most paid calls no longer fit into the rest.
const NEARLY_ALL: f64 = 0.95;

/// Today's spending of all agents, and their daily budget. The day is that of the machine's time zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct DayBudget {
    /// US dollars that all agents spent today, including the maximum cost of running calls. The cost
    /// of a call whose model reports no usage is estimated.
    pub(in crate::ops) usd_today: f64,
    /// Budget in US dollars for one day of all agents together: `[budget] max-usd-per-day`.
    pub(in crate::ops) max_usd_per_day: f64,
    /// A warning that too little is left for most paid calls; absent while enough is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) budget_warning: Option<String>,
}

impl DayBudget {
    /// Reads the budget and today's spending.
    pub(in crate::ops) fn of(ctx: &Ctx<'_>) -> Result<DayBudget> {
        let memory = ctx.memory;
        let usd_today = ledger::spent_by_all(memory, &day(memory.now(), local_zone()))?;
        let max_usd_per_day = memory.config.budget.max_usd_per_day;
        let is_used_up = usd_today > 0.0 && usd_today >= NEARLY_ALL * max_usd_per_day;
        let budget_warning = is_used_up.then(|| {
            format!(
                "the daily budget of all agents is used up: ${usd_today:.2} of ${max_usd_per_day:.2} spent or reserved; paid \
                 calls resume after midnight, or when `[budget] max-usd-per-day` is raised"
            )
        });
        Ok(DayBudget { usd_today, max_usd_per_day, budget_warning })
    }
}
