//! `agent reload`

use crate::ops::text::{diagnostic_text, plural};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::CatalogChange;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reload the files of agents and prompts and report what changed. A daemon does this by itself within
/// seconds; here missing and invalid files take effect immediately.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentReload {}

/// The result of a reload.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentReloadOutput {
    /// Number of agents after the reload.
    agents: usize,
    /// The agents that changed, and how.
    changes: Vec<ChangedAgent>,
    /// Agents whose files are invalid.
    broken: Vec<BrokenAgent>,
    /// Problems of the agents folder, the settings and the saved pipelines.
    problems: Vec<String>,
}

/// An agent that changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChangedAgent {
    agent: String,
    /// `added`, `changed`, `repaired` (its file was invalid and is valid again, unchanged) or `retired`.
    change: String,
}

/// An agent whose file is invalid.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct BrokenAgent {
    agent: String,
    /// Whether its last valid version is used; otherwise it does not run.
    last_good: bool,
    errors: Vec<FileDiagnostic>,
}

impl Op for AgentReload {
    const NAME: &'static str = "agent reload";
    const ACCESS: Access = Access::Write;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/agent/reload");
    const FORMER_PATH: Option<&'static str> = Some("/v1/reload");
    type Output = AgentReloadOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentReloadOutput> {
        let (catalog, changes) = ctx.host.reload()?;
        let changed = |change| {
            let (agent, change) = match change {
                CatalogChange::Added(agent) => (agent, "added"),
                CatalogChange::Changed(agent) => (agent, "changed"),
                CatalogChange::Valid(agent) => (agent, "repaired"),
                CatalogChange::Retired(agent) => (agent, "retired"),
            };
            ChangedAgent { agent, change: change.to_owned() }
        };
        let broken = catalog.agents.iter().filter(|(_, entry)| !entry.errors.is_empty());
        let broken = broken.map(|(agent, entry)| BrokenAgent {
            agent: agent.clone(),
            last_good: entry.definition.is_some(),
            errors: entry.errors.clone(),
        });
        Ok(AgentReloadOutput {
            agents: catalog.agents.len(),
            changes: changes.into_iter().map(changed).collect(),
            broken: broken.collect(),
            problems: catalog.problems.clone(),
        })
    }

    fn show(output: &AgentReloadOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for ChangedAgent { agent, change } in &output.changes {
            text.push_str(&format!("{change}: {agent}\n"));
        }
        for BrokenAgent { agent, last_good, errors } in &output.broken {
            let instead = if *last_good { "its last valid version stays in use" } else { "it does not run" };
            text.push_str(&format!("broken: {agent}, {instead}\n"));
            text.extend(errors.iter().map(diagnostic_text));
        }
        text.extend(output.problems.iter().map(|problem| format!("{problem}\n")));
        let agents = plural(output.agents as u64, "agent");
        let news = if output.changes.is_empty() { ", nothing has changed" } else { "" };
        text + &format!("{agents}{news}\n")
    }

    fn exit(output: &AgentReloadOutput) -> Exit {
        if output.broken.is_empty() { Exit::Ok } else { Exit::Config }
    }
}
