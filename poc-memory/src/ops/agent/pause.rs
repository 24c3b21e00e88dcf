//! `agent pause`

use super::list::{self, AgentRow};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, argument};
use poc_agent::ledger::Pause;
use poc_agent::pause;
use poc_graph::error::Result;
use poc_graph::time::FutureTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pause an agent: its slots are skipped with the reason `paused` until it is resumed or the pause ends. It
/// can still be run manually. An existing pause is replaced.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentPause {
    /// Name of the agent
    agent: String,
    /// When it resumes by itself: `2030-01-31`, `2030-01-31T08:00:00Z`, or `2h` (in two hours)
    #[arg(long, value_name = "TIME", value_parser = argument::deadline)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<FutureTime>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The paused agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentPauseOutput {
    /// Its state now.
    agent: AgentRow,
}

impl Op for AgentPause {
    const NAME: &'static str = "agent pause";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/agents/{agent}/pause");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentPauseOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentPauseOutput> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let cause = ctx.cause(Self::NAME);
        let (since, until) = (cause.at, self.until.map(|until| until.resolve(cause.at)));
        let pause = Pause { since, until, note: self.note.unwrap_or_default().trim().to_owned() };
        pause::pause(ctx.memory, &self.agent, &pause, cause)?;
        Ok(AgentPauseOutput { agent: list::row(ctx, &self.agent, entry)? })
    }

    fn show(output: &AgentPauseOutput, _: &Terminal) -> String {
        let row = &output.agent;
        format!("{}: {}\n", row.name, row.paused.as_deref().unwrap_or("not paused any more"))
    }
}
