//! `agent check`

use crate::ops::text::diagnostic_text;
use crate::ops::{Access, Ctx, Op};
use poc_agent::feedback_loop::feedback_loops;
use poc_agent::{Catalog, test_runner};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Check agent files and templates and report all errors and warnings.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentCheck {
    /// Name of the agent; if omitted, all agents
    agent: Option<String>,
}

/// The errors and warnings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentCheckOutput {
    agents: Vec<CheckedAgent>,
    /// Problems of the agents folder and the saved pipelines.
    problems: Vec<String>,
}

/// One agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CheckedAgent {
    name: String,
    /// Errors that prevent the file from being used or its tests from running.
    errors: Vec<FileDiagnostic>,
    /// Valid, but probably not intended.
    warnings: Vec<FileDiagnostic>,
}

impl Op for AgentCheck {
    const NAME: &'static str = "agent check";
    const ACCESS: Access = Access::Read;
    const PER_TENANT: bool = false;
    type Output = AgentCheckOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentCheckOutput> {
        let catalog = Catalog::read(ctx.memory)?;
        let agents = catalog.named(self.agent.as_deref())?;
        let types: Vec<&str> = ctx.memory.config.node_types().collect();
        let definitions: Vec<_> =
            catalog.agents.values().filter_map(|entry| entry.definition.as_deref()).collect();
        let circles = feedback_loops(&definitions, &types);
        let agents = agents.map(|(name, entry)| {
            let good = entry.valid_definition();
            let warnings = good.map_or_else(Vec::new, |definition| {
                let models = definition.execution.models().filter_map(|name| {
                    let key = if *name == definition.execution.model { "model" } else { "fallback" };
                    let missing = FileDiagnostic::new(poc_models::missing(&ctx.memory.config, name)?);
                    Some(missing.at(definition.location(&format!("execution.{key}"), 0)))
                });
                let circle = circles.get(name).cloned();
                let all = definition.warnings().into_iter().chain(models).chain(circle);
                all.collect()
            });
            let tests =
                good.map_or_else(Vec::new, |definition| test_runner::check_tests(ctx.memory, definition));
            let errors = entry.errors.iter().cloned().chain(tests).collect();
            CheckedAgent { name: name.clone(), errors, warnings }
        });
        Ok(AgentCheckOutput { agents: agents.collect(), problems: catalog.problems.clone() })
    }

    fn show(output: &AgentCheckOutput) -> String {
        let mut text = String::new();
        for agent in &output.agents {
            if agent.errors.is_empty() {
                text.push_str(&format!("{}: ok\n", agent.name));
            }
            text.extend(agent.errors.iter().map(diagnostic_text));
            text.extend(
                agent.warnings.iter().map(|warning| format!("warning: {}", diagnostic_text(warning))),
            );
        }
        text.extend(output.problems.iter().map(|problem| format!("{problem}\n")));
        text
    }

    fn exit(output: &AgentCheckOutput) -> Exit {
        if output.agents.iter().all(|agent| agent.errors.is_empty()) { Exit::Ok } else { Exit::Config }
    }
}
