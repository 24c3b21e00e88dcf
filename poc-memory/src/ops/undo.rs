//! `undo`

use super::agent::undo::{self, RefusedAction};
use super::{Access, Ctx, Op};
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Undo a change or an agent's run. A change that later changes build on is left alone and reported; the rest
/// of a run is undone. Undoing a change is itself a change and can be undone; undoing a run cannot.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Number of a change, as `history` shows it, or id of a run or its first digits
    what: String,
}

/// What was undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UndoOutput {
    /// The number, if a change was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<u64>,
    /// The id, if a run was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// Descriptions of what was undone.
    undone: Vec<String>,
    /// What was left unchanged, and why.
    refused: Vec<RefusedAction>,
}

/// The number of a change. Ids of runs start with a 0 (they begin with a time), and will for centuries.
fn change(what: &str) -> Option<u64> {
    what.parse().ok().filter(|_| !what.starts_with('0'))
}

impl Op for Undo {
    const NAME: &'static str = "undo";
    const ACCESS: Access = Access::Person;
    type Output = UndoOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<UndoOutput> {
        let (change, run, items) = match change(&self.what) {
            Some(seq) => {
                let item = poc_notes::undo::undo(ctx.memory, seq).map_err(|error| error.field("what"))?;
                (Some(seq), None, vec![item])
            }
            None => {
                let (run, items) = undo::of_run(ctx, &self.what, &[]).map_err(|error| error.field("what"))?;
                (None, Some(run.id), items)
            }
        };
        let (undone, refused) = undo::sorted(items);
        Ok(UndoOutput { change, run, undone, refused })
    }

    fn show(output: &UndoOutput) -> String {
        let mut text = String::new();
        for what in &output.undone {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "undone: {what}");
        }
        for RefusedAction { action, reason } in &output.refused {
            let _ = writeln!(text, "left:   {action}: {reason}");
        }
        text
    }

    fn exit(output: &UndoOutput) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}
