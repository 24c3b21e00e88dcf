//! `agent new`

use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::{AgentDraft, agent_files};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Create a new agent file and its prompt, with every key explained. The new agent is valid as it is and runs
/// on demand. Existing files are never changed. With `from` it is a copy of another agent and its
/// tests, with its own visits and prompt.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentNew {
    /// Name of the agent
    agent: String,
    /// The agent to copy
    #[arg(long, value_name = "AGENT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

/// The new agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentNewOutput {
    agent: String,
    /// Files that were written.
    created: Vec<PathBuf>,
}

impl Op for AgentNew {
    const NAME: &'static str = "agent new";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const CREATES_PROFILE: bool = true;
    const ROUTE: Option<Route> = Route::create("/v1/agents");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentNewOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentNewOutput> {
        let (paths, name) = (&ctx.memory.paths, self.agent.as_str());
        let draft = match &self.from {
            Some(other) => AgentDraft::copy_of(other, name, paths, &ctx.memory.config)?,
            None => AgentDraft::new(name)?,
        };
        let created = agent_files::create(paths, name, draft)?;
        ctx.host.reload()?;
        Ok(AgentNewOutput { agent: self.agent, created })
    }

    fn show(made: &AgentNewOutput, _: &Terminal) -> String {
        let wrote: String = made.created.iter().map(|file| format!("wrote {}\n", file.display())).collect();
        let name = &made.agent;
        format!(
            "{wrote}\nNext, edit them. `poc-memory agent check {name}` reports mistakes,\n\
             and `poc-memory agent run {name} --dry-run` shows what the agent would do.\n\
             With a `schedule`, the daemon runs it.\n"
        )
    }
}
