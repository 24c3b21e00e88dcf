//! `mark`

use super::text::plural;
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::Result;
use poc_graph::time::{PastTime, Timestamp};
use poc_notes::{mark, recall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Strengthen the notes stored since a given time, because something memorable happened. The newest notes
/// gain most, the oldest nothing. At most the 256 newest notes are changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// Start of the period: `30m` (half an hour ago) or `2026-11-21T08:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    since: PastTime,
    /// How much the newest note gains, in uses; above 0
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    strength: f64,
}

/// How many notes were strengthened.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MarkOutput {
    since: Timestamp,
    /// Number of notes that gained weight.
    affected: usize,
    /// Number of notes that gained nothing because they were rated within the last minute.
    skipped: usize,
    /// The number of the change; absent if there was no note to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

impl Op for Mark {
    const NAME: &'static str = "mark";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/mark");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    type Output = MarkOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<MarkOutput> {
        // The updates of earlier recalls come first, so that the change applies to the current weights.
        recall::flush(ctx.memory)?;
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let since = self.since.resolve(now);
        let done = ctx.memory.store.transact(cause, |tx| {
            mark::mark(tx, since, self.strength, &ctx.memory.config, ctx.visibility(false))
        })?;
        let mark::MarkReport { affected, skipped } = done.value;
        Ok(MarkOutput { since, affected, skipped, seq: (affected + skipped > 0).then_some(done.seq) })
    }

    fn show(output: &MarkOutput, _: &Terminal) -> String {
        let skipped = match output.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped (rated within the last minute)"),
        };
        format!("{} strengthened{skipped}\n", plural(output.affected as u64, "note"))
    }
}
