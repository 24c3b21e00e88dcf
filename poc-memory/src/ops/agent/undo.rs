//! `agent undo`

use crate::agent::{ledger, undo};
use crate::error::{Exit, Result};
use crate::graph::RunId;
use crate::ops::{Access, Ctx, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Put back what a run changed. What was edited since is left alone and reported. The agent's
/// visits stay: it has seen the notes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Id of the run, or its first digits
    run: String,
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

/// An action that was left as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Refused {
    action: String,
    reason: String,
}

impl Op for Undo {
    const NAME: &'static str = "agent undo";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Undone;

    fn run(self, ctx: &Ctx<'_>) -> Result<Undone> {
        let run = ledger::find(ctx.memory, &self.run)?;
        let mut answer =
            Undone { run: run.id, agent: run.agent.clone(), undone: Vec::new(), refused: Vec::new() };
        for item in undo::undo(ctx.memory, &run)? {
            match item.refused {
                None => answer.undone.push(item.summary),
                Some(reason) => answer.refused.push(Refused { action: item.summary, reason }),
            }
        }
        Ok(answer)
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
