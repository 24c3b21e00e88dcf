//! `agent reject`

use super::action_numbers::group_line;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::proposal;
use poc_agent::review::{self, PartialSelection};
use poc_graph::RunId;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reject the actions that a run of an agent proposed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentReject {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent review` shows them; if omitted, all
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    #[serde(default)]
    note: Option<String>,
}

/// The rejected actions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentRejectOutput {
    run: RunId,
    /// Descriptions of the actions.
    rejected: Vec<String>,
    /// The selected numbers in groups that also have actions that were not selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    only: Vec<u16>,
    /// Numbers of the other actions in these groups, which were rejected with the selected ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    with: Vec<u16>,
}

impl Op for AgentReject {
    const NAME: &'static str = "agent reject";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/runs/{run}/reject");
    type Output = AgentRejectOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentRejectOutput> {
        let run = proposal::find(ctx.memory, &self.run)?;
        let note = self.note.unwrap_or_default();
        let PartialSelection { selected: only, others: with } =
            review::partly_selected(ctx.memory, run, &self.only)?;
        let rejected = review::reject(ctx.memory, run, &self.only, &note)?;
        Ok(AgentRejectOutput { run, rejected, only, with })
    }

    fn show(output: &AgentRejectOutput, _: &Terminal) -> String {
        let rejected: String = output.rejected.iter().map(|action| format!("rejected: {action}\n")).collect();
        rejected + &group_line(&output.only, &output.with, "all were rejected")
    }
}
