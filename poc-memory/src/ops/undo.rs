//! `undo`

use super::agent::undo::{self, Refused};
use super::{Access, Ctx, Op};
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Put back what a change or a run changed. A change that was built on since is left as it is and
/// reported; of a run the rest goes back. To undo a change is itself one, and can be undone; a run that is
/// undone stays so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Number of a change, as `history` shows it; or id of a run, or its first digits
    what: String,
}

/// What was put back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Undone {
    /// The change, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<u64>,
    /// The run, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// What was undone, in words.
    undone: Vec<String>,
    /// What was left as it is.
    refused: Vec<Refused>,
}

/// The number of a change. The id of a run starts with a 0, and will for centuries.
fn change(what: &str) -> Option<u64> {
    what.parse().ok().filter(|_| !what.starts_with('0'))
}

impl Op for Undo {
    const NAME: &'static str = "undo";
    const ACCESS: Access = Access::Person;
    type Output = Undone;

    fn run(self, ctx: &Ctx<'_>) -> Result<Undone> {
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
        Ok(Undone { change, run, undone, refused })
    }

    fn show(output: &Undone) -> String {
        let mut text = String::new();
        for what in &output.undone {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "undone: {what}");
        }
        for Refused { action, reason } in &output.refused {
            let _ = writeln!(text, "left:   {action}: {reason}");
        }
        text
    }

    fn exit(output: &Undone) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}
