//! `agent apply`

use super::undo::{Refused, sorted};
use crate::ops::{Access, Ctx, Op};
use poc_agent::{proposal, review};
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Do what a run of an agent has proposed. What was edited, superseded or deleted since, or is protected by
/// now, is left and comes off the list.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apply {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent review` shows them; all when left out
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
}

/// What was done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Decided {
    run: RunId,
    /// Actions that were done, in words.
    applied: Vec<String>,
    /// Actions that could no longer be done.
    refused: Vec<Refused>,
}

impl Op for Apply {
    const NAME: &'static str = "agent apply";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Decided;

    fn run(self, ctx: &Ctx<'_>) -> Result<Decided> {
        let run = proposal::find(ctx.memory, &self.run)?;
        let (applied, refused) = sorted(review::approve(ctx.memory, run, &self.only)?);
        Ok(Decided { run, applied, refused })
    }

    fn show(output: &Decided) -> String {
        let mut text = String::new();
        for action in &output.applied {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "applied: {action}");
        }
        for Refused { action, reason } in &output.refused {
            let _ = writeln!(text, "left:    {action}: {reason}");
        }
        if !output.applied.is_empty() {
            let _ = writeln!(text, "`poc-memory undo {}` takes it back", output.run);
        }
        text
    }

    fn exit(output: &Decided) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}
