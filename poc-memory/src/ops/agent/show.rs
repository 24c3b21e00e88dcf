//! `agent show`

use super::list::{self, Row};
use super::outcome::assigned;
use crate::agent::definition::ActionKind;
use crate::error::Result;
use crate::ops::text::{minute, problem};
use crate::ops::{Access, Ctx, Op, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One agent in full: its query, model, permit and prompt as they are in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Show {
    /// Name of the agent
    agent: String,
}

/// An agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Agent {
    /// How it stands.
    agent: Row,
    /// What is in force; absent when the file was never good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<InForce>,
}

/// The definition that is in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct InForce {
    /// With the values its file has for its parameters.
    pipeline: String,
    /// The parameters of the pipeline with the values of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<String, String>,
    mode: String,
    /// How long a visit keeps a node fresh; absent: until the node changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// The actions it may use and how many of each in one run.
    actions: Vec<(String, usize)>,
    /// What it may change: `results`, `neighborhood` or `any`.
    targets: String,
    /// Whether supersessions are applied; else they are left for a person.
    supersede_apply: bool,
    timeout: String,
    placeholders: Vec<String>,
    /// The template's file; absent when it stands in the agent file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    prompt: String,
    /// Tells whether two versions are the same.
    fingerprint: String,
}

impl Op for Show {
    const NAME: &'static str = "agent show";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::get("/v1/agents/{agent}");
    type Output = Agent;

    fn run(self, ctx: &Ctx<'_>) -> Result<Agent> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let definition = entry.definition.as_deref().map(|definition| InForce {
            pipeline: definition.query.pipeline.to_string(),
            params: definition.query.params.clone(),
            mode: definition.mode.name().to_owned(),
            window: definition.window().map(|window| window.to_string()),
            actions: definition
                .execution
                .actions
                .iter()
                .map(|&kind| (kind.name().to_owned(), definition.limits.max(kind)))
                .collect(),
            targets: definition.limits.targets.name().to_owned(),
            supersede_apply: definition.limits.supersede_apply,
            timeout: definition.execution.timeout.to_string(),
            placeholders: definition.prompt.placeholders.clone(),
            template: definition.prompt.template.clone(),
            prompt: definition.prompt.text.clone(),
            fingerprint: definition.fingerprint.clone(),
        });
        Ok(Agent { agent: list::row(ctx.memory, &self.agent, entry)?, definition })
    }

    fn show(output: &Agent) -> String {
        let agent = &output.agent;
        let mut text = format!("{}: {}\n", agent.name, agent.description);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<10}{value}");
        };
        line("state", &agent.state);
        if let Some(paused) = &agent.paused {
            line("rests", paused);
        }
        if let Some(rerun) = &agent.rerun {
            line("again", rerun);
        }
        line("schedule", agent.schedule.as_deref().unwrap_or("-"));
        line("next", &minute(agent.next));
        let last = agent.last_status.as_ref().map_or_else(String::new, |status| format!(" {status}"));
        line("last", &format!("{}{last}", minute(agent.last)));
        line("stale", &agent.stale.map_or_else(|| "-".into(), |stale| stale.to_string()));
        line("model", agent.model.as_deref().unwrap_or("-"));
        if let Some(definition) = &output.definition {
            let actions: Vec<String> =
                definition.actions.iter().map(action(definition.supersede_apply)).collect();
            line("may", &actions.join(", "));
            line("targets", &definition.targets);
            line("mode", &definition.mode);
            line("pipeline", &definition.pipeline);
            if !definition.params.is_empty() {
                line("with", &assigned(&definition.params));
            }
            line("fresh for", definition.window.as_deref().unwrap_or("as long as the node stays as it is"));
            line("template", definition.template.as_deref().unwrap_or("in the agent file"));
        }
        if let (Some(error), true) = (&agent.error, agent.errors.is_empty()) {
            line("problem", error);
        }
        text.extend(agent.errors.iter().map(problem));
        if let Some(definition) = &output.definition {
            let _ = write!(text, "\n{}\n", definition.prompt.trim_end());
        }
        text
    }
}

fn action(supersede_apply: bool) -> impl Fn(&(String, usize)) -> String {
    move |(name, most)| {
        let proposes = name == ActionKind::Supersede.name() && !supersede_apply;
        format!("{name} (at most {most}{})", if proposes { ", proposed" } else { "" })
    }
}
