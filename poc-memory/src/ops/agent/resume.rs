//! `agent resume`

use super::list::{self, AgentRow};
use crate::ops::text::minute;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::{AgentStatus, pause};
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resume a paused agent, including one that paused itself after too many failures; the failure count
/// restarts. Skipped slots are not caught up. If it was not paused, the exit status is 3.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentResume {
    /// Name of the agent
    agent: String,
}

/// The resumed agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentResumeOutput {
    /// Its state now.
    agent: AgentRow,
    /// Why it was paused; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<String>,
}

impl Op for AgentResume {
    const NAME: &'static str = "agent resume";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/agents/{agent}/resume");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentResumeOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentResumeOutput> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let was = pause::resume(ctx.memory, &self.agent, entry, ctx.cause(Self::NAME))?;
        let was = was.map(|was| was.line(&self.agent));
        Ok(AgentResumeOutput { agent: list::row(ctx, &self.agent, entry)?, was })
    }

    fn show(output: &AgentResumeOutput, _: &Terminal) -> String {
        let AgentResumeOutput { agent, was } = output;
        let next = match (agent.next, agent.schedule.as_deref()) {
            _ if agent.state == AgentStatus::Blocked => {
                format!("but it is blocked: {}", agent.error.as_deref().unwrap_or_default())
            }
            (Some(next), _) => format!("runs next at {}", minute(Some(next))),
            (None, Some(_)) if agent.state == AgentStatus::OnDemand => "runs when asked".to_owned(),
            (None, _) => format!("it is {}", agent.state.name()),
        };
        let was = if was.is_some() { "resumed" } else { "was not paused" };
        format!("{}: {was}, {next}\n", agent.name)
    }

    fn exit(output: &AgentResumeOutput) -> Exit {
        if output.was.is_some() { Exit::Ok } else { Exit::NothingToDo }
    }
}
