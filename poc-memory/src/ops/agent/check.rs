//! `agent check`

use crate::ops::text::diagnostic_text;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, argument};
use poc_agent::agent_files::{self, AgentEdits};
use poc_agent::budget::is_more_than_limit;
use poc_agent::feedback_loop::feedback_loops;
use poc_agent::run::{self, RunOptions};
use poc_agent::{Catalog, Definition, test_runner};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::similar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Check agent files and templates and report all errors and warnings.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentCheck {
    /// Name of the agent; if omitted, all agents
    agent: Option<String>,
    /// Names of more agents
    #[arg(value_name = "AGENT", conflicts_with_all = ["file", "prompt"])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
    /// Text of the agent file, in place of the one on disk
    #[arg(
        long = "text",
        alias = "file",
        value_name = "TEXT",
        requires = "agent",
        value_parser = argument::text,
        help = "Text of the agent file, in place of the one on disk; `-` reads standard input"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Text of its template, in place of the one on disk
    #[arg(
        long,
        value_name = "TEXT",
        requires = "agent",
        value_parser = argument::text,
        help = "Text of its template, in place of the one on disk; `-` reads standard input"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}

/// The errors and warnings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentCheckOutput {
    agents: Vec<CheckedAgent>,
    /// Problems of the agents folder and the saved pipelines.
    problems: Vec<String>,
}

/// The result of checking one agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CheckedAgent {
    name: String,
    /// Errors that prevent the file from being used or its tests from running.
    errors: Vec<FileDiagnostic>,
    /// Probable mistakes, which do not prevent the file from being used.
    warnings: Vec<FileDiagnostic>,
}

impl AgentCheck {
    /// A request that checks all agents as they are on disk.
    pub(crate) fn of_all() -> AgentCheck {
        AgentCheck { agent: None, others: Vec::new(), file: None, prompt: None }
    }
}

impl Op for AgentCheck {
    const NAME: &'static str = "agent check";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/agent/check");
    type Output = AgentCheckOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentCheckOutput> {
        let catalog = Catalog::read(ctx.memory)?;
        let edits = AgentEdits { agent: self.file, prompt: self.prompt };
        if edits != AgentEdits::default() {
            let Some(name) = self.agent else {
                return Err(Error::invalid("`file` and `prompt` need the name of an agent").field("agent"));
            };
            if !self.others.is_empty() {
                return Err(Error::invalid("`file` and `prompt` are those of one agent").field("others"));
            }
            let (definition, errors) = agent_files::check_despite_errors(ctx.memory, &name, &edits)?;
            let valid = definition.as_ref().filter(|_| errors.is_empty());
            let loop_warning = feedback_loop_warnings(ctx, &catalog, valid).remove(&name);
            let agent = checked(ctx, &catalog, &name, definition.as_ref(), errors, loop_warning)?;
            return Ok(AgentCheckOutput { agents: vec![agent], problems: Vec::new() });
        }
        let named: Vec<&String> = self.agent.iter().chain(&self.others).collect();
        for name in &named {
            catalog.entry(name)?;
        }
        let agents = catalog.agents.iter().filter(|(name, _)| named.is_empty() || named.contains(name));
        let feedback_loop_warnings = feedback_loop_warnings(ctx, &catalog, None);
        let agents = agents.map(|(name, entry)| {
            let loop_warning = feedback_loop_warnings.get(name).cloned();
            if let Some(definition) = entry.valid_definition() {
                return checked(ctx, &catalog, name, Some(definition), Vec::new(), loop_warning);
            }
            let despite = agent_files::check_despite_errors(ctx.memory, name, &edits);
            let definition = despite.ok().and_then(|(definition, _)| definition);
            checked(ctx, &catalog, name, definition.as_ref(), entry.errors.clone(), loop_warning)
        });
        Ok(AgentCheckOutput { agents: agents.collect::<Result<_>>()?, problems: catalog.problems.clone() })
    }

    fn show(output: &AgentCheckOutput, _: &Terminal) -> String {
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

/// The warnings about agents that trigger each other, by agent. `edited` replaces the stored agent of the
/// same name.
fn feedback_loop_warnings(
    ctx: &Ctx<'_>,
    catalog: &Catalog,
    edited: Option<&Definition>,
) -> BTreeMap<String, FileDiagnostic> {
    let types: Vec<&str> = ctx.memory.config.node_types().collect();
    let others = catalog.agents.values().filter_map(|entry| entry.definition.as_deref());
    let others = others.filter(|other| edited.is_none_or(|edited| edited.name != other.name));
    feedback_loops(&others.chain(edited).collect::<Vec<_>>(), &types)
}

/// Checks one agent. Its tests and its budget are checked only if its file has no errors.
fn checked(
    ctx: &Ctx<'_>,
    catalog: &Catalog,
    name: &str,
    definition: Option<&Definition>,
    mut errors: Vec<FileDiagnostic>,
    loop_warning: Option<FileDiagnostic>,
) -> Result<CheckedAgent> {
    let mut warnings = Vec::new();
    if let Some(definition) = definition {
        let models = &ctx.memory.config.models;
        let missing = definition.execution.models().filter_map(|model| {
            let key = if *model == definition.execution.model { "model" } else { "fallback" };
            // An unknown model is an error.
            let missing = models.get(model).and_then(|_| poc_models::missing(&ctx.memory.config, model))?;
            Some(FileDiagnostic::new(missing).at(definition.location(&format!("execution.{key}"), 0)))
        });
        warnings.extend(definition.warnings().into_iter().chain(missing).chain(loop_warning));
        warnings.extend(unknown_agents(ctx, catalog, definition));
        if errors.is_empty() {
            warnings.extend(too_small_budget(ctx, definition)?);
            errors = test_runner::check_tests(ctx.memory, definition);
        }
    }
    Ok(CheckedAgent { name: name.to_owned(), errors, warnings })
}

/// A warning that the next call may cost more than a whole budget, so that no run can make it.
fn too_small_budget(ctx: &Ctx<'_>, definition: &Definition) -> Result<Option<FileDiagnostic>> {
    let memory = ctx.memory;
    let has_prices =
        |model: &str| memory.config.models.get(model).is_some_and(|model| model.input_price.is_some());
    // A forecast selects notes and renders the prompt.
    if !definition.execution.models().any(has_prices) {
        return Ok(None);
    }
    let options =
        RunOptions { models: ctx.host.models(), cancellation: ctx.host.calls(), ..RunOptions::default() };
    let forecast = run::forecast(memory, definition, &options)?;
    let mut refusals = forecast.obstacles.into_iter().filter(|(_, why)| is_more_than_limit(why));
    Ok(refusals.next().map(|(_, why)| FileDiagnostic::new(why).at(definition.location("budget", 0))))
}

/// Warnings about filters of the pipeline by the visits of an agent that does not exist and under whose name nothing was
/// visited: they keep every note or none.
fn unknown_agents(ctx: &Ctx<'_>, catalog: &Catalog, definition: &Definition) -> Vec<FileDiagnostic> {
    let own = definition.name.as_str();
    let view = ctx.memory.store.view();
    let is_known = |name: &str| name == own || catalog.has(name) || view.visits_of(name).is_some();
    let query = &definition.query;
    let unknown = query.pipeline.visiting_agents().filter(|name| !is_known(name));
    let warning = |name: String| {
        let known = std::iter::once(own).chain(catalog.agents.keys().map(String::as_str));
        let hint = match similar::closest(&name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`not-visited:{own}` keeps the notes that this agent has not visited"),
        };
        let before = query.text.split_once(name.as_str()).map_or(0, |(before, _)| before.chars().count());
        FileDiagnostic::new(format!(
            "the pipeline filters by the visits of `{name}`, but there is no such agent"
        ))
        .hint(hint)
        .at(definition.location("query.pipeline", before))
    };
    unknown.map(warning).collect()
}
