//! `agent reload`

use crate::ops::text::{Problem, counted, problem};
use crate::ops::{Access, Ctx, Op, Route};
use poc_agent::Change;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Look at the files of agents and prompts now and say what has changed. A daemon does so by itself within
/// seconds; a file that is gone or broken counts at once here.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reload {}

/// What a look at the files gave.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reloaded {
    /// How many agents there are now.
    agents: usize,
    /// How they differ from before.
    changes: Vec<Changed>,
    /// The agents whose files are broken, whether they were before or not.
    broken: Vec<Broken>,
    /// What is wrong with the folder of agents, the settings and the saved pipelines.
    problems: Vec<String>,
}

/// One agent that is another than before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Changed {
    agent: String,
    /// `added`, `changed`, `mended` (its file was broken and is as it was before) or `retired`.
    change: String,
}

/// One agent whose file is broken.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Broken {
    agent: String,
    /// Whether its last good version goes on; else it does not run.
    last_good: bool,
    errors: Vec<Problem>,
}

impl Op for Reload {
    const NAME: &'static str = "agent reload";
    const ACCESS: Access = Access::Write;
    const TENANTS: bool = false;
    const ROUTE: Option<Route> = Route::post("/v1/reload");
    type Output = Reloaded;

    fn run(self, ctx: &Ctx<'_>) -> Result<Reloaded> {
        let (catalog, changes) = ctx.host.reload()?;
        let changed = |change| {
            let (agent, change) = match change {
                Change::Added(agent) => (agent, "added"),
                Change::Changed(agent) => (agent, "changed"),
                Change::Mended(agent) => (agent, "mended"),
                Change::Retired(agent) => (agent, "retired"),
            };
            Changed { agent, change: change.to_owned() }
        };
        let broken = catalog.agents.iter().filter(|(_, entry)| !entry.errors.is_empty());
        let broken = broken.map(|(agent, entry)| Broken {
            agent: agent.clone(),
            last_good: entry.definition.is_some(),
            errors: entry.errors.iter().map(Problem::from).collect(),
        });
        Ok(Reloaded {
            agents: catalog.agents.len(),
            changes: changes.into_iter().map(changed).collect(),
            broken: broken.collect(),
            problems: catalog.problems.clone(),
        })
    }

    fn show(output: &Reloaded) -> String {
        let mut text = String::new();
        for Changed { agent, change } in &output.changes {
            text.push_str(&format!("{change}: {agent}\n"));
        }
        for Broken { agent, last_good, errors } in &output.broken {
            let instead = if *last_good { "its last good version goes on" } else { "it does not run" };
            text.push_str(&format!("broken: {agent}, {instead}\n"));
            text.extend(errors.iter().map(problem));
        }
        text.extend(output.problems.iter().map(|problem| format!("{problem}\n")));
        let agents = counted(output.agents as u64, "agent");
        let news = if output.changes.is_empty() { ", nothing has changed" } else { "" };
        text + &format!("{agents}{news}\n")
    }

    fn exit(output: &Reloaded) -> Exit {
        if output.broken.is_empty() { Exit::Ok } else { Exit::Config }
    }
}
