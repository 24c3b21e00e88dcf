//! `agent resume`

use super::list::{self, Row};
use crate::ops::text::minute;
use crate::ops::{Access, Ctx, Op};
use poc_agent::pause;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Have a paused agent go on, also one that rests because too many runs failed: those count no more.
/// Slots that were skipped meanwhile are not caught up. When it was not paused the exit status is 3.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    /// Name of the agent
    agent: String,
}

/// The agent that goes on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Resumed {
    /// How it stands now.
    agent: Row,
    /// Why it rested; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<String>,
}

impl Op for Resume {
    const NAME: &'static str = "agent resume";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Resumed;

    fn run(self, ctx: &Ctx<'_>) -> Result<Resumed> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let was = pause::resume(ctx.memory, &self.agent, entry, ctx.cause(Self::NAME))?;
        let was = was.map(|was| was.line(&self.agent));
        Ok(Resumed { agent: list::row(ctx.memory, &self.agent, entry)?, was })
    }

    fn show(output: &Resumed) -> String {
        let Resumed { agent, was } = output;
        let next = match (agent.next, agent.schedule.as_deref()) {
            (Some(next), _) => format!("runs next at {}", minute(Some(next))),
            (None, Some(_)) if agent.state == "on-demand" => "runs when asked".to_owned(),
            (None, _) => format!("it is {}", agent.state),
        };
        let was = if was.is_some() { "goes on" } else { "was not paused" };
        format!("{}: {was}, {next}\n", agent.name)
    }

    fn exit(output: &Resumed) -> Exit {
        if output.was.is_some() { Exit::Ok } else { Exit::NothingToDo }
    }
}
