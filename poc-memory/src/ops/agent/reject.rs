//! `agent reject`

use crate::ops::{Access, Ctx, Op};
use poc_agent::{proposal, review};
use poc_graph::RunId;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Turn down what a run of an agent has proposed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reject {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent review` shows them; all when left out
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
    /// Why not
    #[arg(long, value_name = "TEXT")]
    #[serde(default)]
    note: Option<String>,
}

/// What was turned down.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Declined {
    run: RunId,
    /// The actions in words.
    rejected: Vec<String>,
}

impl Op for Reject {
    const NAME: &'static str = "agent reject";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Declined;

    fn run(self, ctx: &Ctx<'_>) -> Result<Declined> {
        let run = proposal::find(ctx.memory, &self.run)?;
        let note = self.note.unwrap_or_default();
        Ok(Declined { run, rejected: review::reject(ctx.memory, run, &self.only, &note)? })
    }

    fn show(output: &Declined) -> String {
        output.rejected.iter().map(|action| format!("turned down: {action}\n")).collect()
    }
}
