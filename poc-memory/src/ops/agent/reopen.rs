//! `agent reopen`

use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::{ledger, review};
use poc_graph::RunId;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Let rejected actions of a run wait for a decision again. `agent review --rejected` lists them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentReopen {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent review` shows them; if omitted, all that were rejected
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
}

/// The actions that wait for a decision again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentReopenOutput {
    run: RunId,
    /// Descriptions of the actions.
    reopened: Vec<String>,
}

impl Op for AgentReopen {
    const NAME: &'static str = "agent reopen";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/runs/{run}/reopen");
    type Output = AgentReopenOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentReopenOutput> {
        let run = ledger::find(ctx.memory, &self.run)?;
        Ok(AgentReopenOutput { run: run.id, reopened: review::reopen(ctx.memory, &run, &self.only)? })
    }

    fn show(output: &AgentReopenOutput, _: &Terminal) -> String {
        output.reopened.iter().map(|action| format!("waits again: {action}\n")).collect()
    }
}
