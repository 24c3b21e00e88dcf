//! `agent check`

use crate::ops::text::{Problem, problem};
use crate::ops::{Access, Ctx, Op};
use poc_agent::circle::circles;
use poc_agent::{Catalog, trial};
use poc_graph::error::{Error, Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Read agent files and templates now and report everything that is wrong with them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// Name of the agent; all when missing
    agent: Option<String>,
}

/// What was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    agents: Vec<Checked>,
    /// What is wrong with the folder of agents and the saved pipelines.
    problems: Vec<String>,
}

/// One agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Checked {
    name: String,
    /// What keeps the file from being used, or its tests from being played.
    errors: Vec<Problem>,
    /// What is probably not meant.
    warnings: Vec<Problem>,
}

impl Op for Check {
    const NAME: &'static str = "agent check";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    type Output = Report;

    fn run(self, ctx: &Ctx<'_>) -> Result<Report> {
        let catalog = Catalog::read(ctx.memory)?;
        let agents = catalog.named(self.agent.as_deref())?;
        let types: Vec<&str> = ctx.memory.config.node_types().collect();
        let definitions: Vec<_> =
            catalog.agents.values().filter_map(|entry| entry.definition.as_deref()).collect();
        let circles = circles(&definitions, &types);
        let agents = agents.map(|(name, entry)| {
            let good = entry.sound();
            let warnings = good.map_or_else(Vec::new, |definition| {
                let models = definition.execution.models().filter_map(|name| {
                    let key = if *name == definition.execution.model { "model" } else { "fallback" };
                    let missing = Error::config(poc_models::missing(&ctx.memory.config, name)?);
                    Some(missing.at(definition.at(&format!("execution.{key}"), 0)))
                });
                let circle = circles.get(name).cloned();
                let all = definition.warnings().into_iter().chain(models).chain(circle);
                all.map(|warning| Problem::from(&warning)).collect()
            });
            let tests = good.map_or_else(Vec::new, |definition| trial::check(ctx.memory, definition));
            let errors = entry.errors.iter().chain(&tests).map(Problem::from).collect();
            Checked { name: name.clone(), errors, warnings }
        });
        Ok(Report { agents: agents.collect(), problems: catalog.problems.clone() })
    }

    fn show(output: &Report) -> String {
        let mut text = String::new();
        for agent in &output.agents {
            if agent.errors.is_empty() {
                text.push_str(&format!("{}: ok\n", agent.name));
            }
            text.extend(agent.errors.iter().map(problem));
            text.extend(agent.warnings.iter().map(|warning| format!("warning: {}", problem(warning))));
        }
        text.extend(output.problems.iter().map(|problem| format!("{problem}\n")));
        text
    }

    fn exit(output: &Report) -> Exit {
        if output.agents.iter().all(|agent| agent.errors.is_empty()) { Exit::Ok } else { Exit::Config }
    }
}
