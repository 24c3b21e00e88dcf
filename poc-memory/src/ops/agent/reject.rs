//! `agent reject`

use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::{proposal, review};
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
}

impl Op for AgentReject {
    const NAME: &'static str = "agent reject";
    const ACCESS: Access = Access::Person;
    const PER_TENANT: bool = false;
    const ROUTE: Option<Route> = Route::post("/v1/runs/{run}/reject");
    type Output = AgentRejectOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentRejectOutput> {
        let run = proposal::find(ctx.memory, &self.run)?;
        let note = self.note.unwrap_or_default();
        Ok(AgentRejectOutput { run, rejected: review::reject(ctx.memory, run, &self.only, &note)? })
    }

    fn show(output: &AgentRejectOutput) -> String {
        output.rejected.iter().map(|action| format!("rejected: {action}\n")).collect()
    }
}
