//! `agent pause`

use super::list::{self, Row};
use crate::ops::{Access, Ctx, Op, argument};
use poc_agent::ledger::Pause as Rest;
use poc_agent::pause;
use poc_graph::error::Result;
use poc_graph::time::Deadline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Have an agent rest: its slots are skipped, with the reason `paused`, until it is told to go on or
/// the pause is over. It still runs when asked. A pause that is there is replaced.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// Name of the agent
    agent: String,
    /// When it goes on by itself: `2030-01-31`, `2030-01-31T08:00:00Z`, or `2h` for in two hours
    #[arg(long, value_name = "TIME", value_parser = argument::deadline)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Deadline>,
    /// Why, for whoever wonders later
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The agent that rests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Resting {
    /// How it stands now.
    agent: Row,
}

impl Op for Pause {
    const NAME: &'static str = "agent pause";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Resting;

    fn run(self, ctx: &Ctx<'_>) -> Result<Resting> {
        let catalog = ctx.host.catalog()?;
        let entry = catalog.entry(&self.agent)?;
        let cause = ctx.cause(Self::NAME);
        let (since, until) = (cause.at, self.until.map(|until| until.from(cause.at)));
        let rest = Rest { since, until, note: self.note.unwrap_or_default().trim().to_owned() };
        pause::pause(ctx.memory, &self.agent, &rest, cause)?;
        Ok(Resting { agent: list::row(ctx.memory, &self.agent, entry)? })
    }

    fn show(output: &Resting) -> String {
        let row = &output.agent;
        format!("{}: {}\n", row.name, row.paused.as_deref().unwrap_or("not paused any more"))
    }
}
