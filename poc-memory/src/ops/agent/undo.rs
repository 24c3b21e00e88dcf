//! `agent undo`

use crate::ops::{Access, Ctx, Op};
use poc_agent::ledger::{self, Run};
use poc_agent::undo;
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use poc_notes::undo::Item;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Put back what a run changed, or some of it. What was edited since is left alone and reported. The
/// agent's visits stay: it has seen the notes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent inspect` shows them; all when left out
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
}

/// What was put back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Undone {
    run: RunId,
    agent: String,
    /// Actions that were undone, in words.
    undone: Vec<String>,
    /// Actions that were left as they are.
    refused: Vec<Refused>,
}

/// What was left as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct Refused {
    pub(in crate::ops) action: String,
    pub(in crate::ops) reason: String,
}

/// Undoes the run with an id, or the actions of it with these numbers.
pub(in crate::ops) fn of_run(ctx: &Ctx<'_>, id: &str, only: &[u16]) -> Result<(Run, Vec<Item>)> {
    let run = ledger::find(ctx.memory, id)?;
    let items = undo::undo(ctx.memory, &run, only)?;
    Ok((run, items))
}

/// What was undone, and what was left.
pub(in crate::ops) fn sorted(items: Vec<Item>) -> (Vec<String>, Vec<Refused>) {
    let (mut undone, mut left) = (Vec::new(), Vec::new());
    for Item { summary, refused } in items {
        match refused {
            None => undone.push(summary),
            Some(reason) => left.push(Refused { action: summary, reason }),
        }
    }
    (undone, left)
}

impl Op for Undo {
    const NAME: &'static str = "agent undo";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Undone;

    fn run(self, ctx: &Ctx<'_>) -> Result<Undone> {
        let (run, items) = of_run(ctx, &self.run, &self.only)?;
        let (undone, refused) = sorted(items);
        Ok(Undone { run: run.id, agent: run.agent, undone, refused })
    }

    fn show(output: &Undone) -> String {
        let mut text = format!(
            "{} of {} actions of {} undone; its visits stay\n",
            output.undone.len(),
            output.undone.len() + output.refused.len(),
            output.agent
        );
        for action in &output.undone {
            let _ = writeln!(text, "  undone: {action}");
        }
        for Refused { action, reason } in &output.refused {
            let _ = writeln!(text, "  left:   {action}: {reason}");
        }
        text
    }

    fn exit(output: &Undone) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}
