//! `agent save`

use super::list::{self, AgentRow};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, argument};
use poc_agent::agent_files::{self, AgentEdits, AgentFiles, ExpectedVersions};
use poc_graph::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Write a new text of an agent's file, its template or both, if the agent is then valid. A file is replaced only if it
/// still has the version that was read, and its former text stays available to `agent show --files`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentSave {
    /// Name of the agent
    agent: String,
    /// Text of the agent file
    #[arg(
        long = "text",
        alias = "file",
        value_name = "TEXT",
        value_parser = argument::text,
        help = "Text of the agent file; `-` reads standard input"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The version of the agent file that was read; if omitted, there must be no such file
    #[arg(long, value_name = "HASH")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Text of the template that the agent file names
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = argument::text,
        help = "Text of the template that the agent file names; `-` reads standard input"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The version of the template that was read; if omitted, there must be no such file
    #[arg(long, value_name = "HASH")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt_version: Option<String>,
}

/// The saved agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentSaveOutput {
    /// Its state now.
    agent: AgentRow,
    /// Its files now.
    files: AgentFiles,
    /// Whether a file changed.
    changed: bool,
}

impl Op for AgentSave {
    const NAME: &'static str = "agent save";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/agents/{agent}/files");
    type Output = AgentSaveOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentSaveOutput> {
        if self.file.is_none() && self.prompt.is_none() {
            return Err(Error::invalid("there is no text to save")
                .hint("give `file`, `prompt` or both")
                .field("file"));
        }
        let edits = AgentEdits { agent: self.file, prompt: self.prompt };
        let versions = ExpectedVersions { agent: self.version, prompt: self.prompt_version };
        let changed = agent_files::save(ctx.memory, &self.agent, &edits, &versions)?;
        let (catalog, _) = ctx.host.reload()?;
        Ok(AgentSaveOutput {
            agent: list::row(ctx, &self.agent, catalog.entry(&self.agent)?)?,
            files: agent_files::read(ctx.memory, &self.agent)?,
            changed,
        })
    }

    fn show(output: &AgentSaveOutput, _: &Terminal) -> String {
        let (name, state) = (&output.agent.name, output.agent.state.name());
        match output.changed {
            true => format!("{name}: saved, {state}\n"),
            false => format!("{name}: nothing has changed\n"),
        }
    }
}
