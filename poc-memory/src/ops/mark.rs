//! `mark`

use super::text::counted;
use super::{Access, Ctx, Op, Route, argument};
use poc_graph::error::Result;
use poc_graph::time::{Moment, Timestamp};
use poc_notes::mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Strengthen what was stored since a moment, because something worth remembering has happened: the
/// newest notes gain most, those at the far end nothing. At most 256 notes, the newest.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// From when on: `30m` for half an hour ago, `2026-11-21T08:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = argument::moment)]
    since: Moment,
    /// How much the newest gain, in uses; above 0
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    strength: f64,
}

/// How many notes were reached.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Marked {
    since: Timestamp,
    /// Notes that gained.
    affected: usize,
    /// Notes that were judged within the last minute and gained nothing.
    skipped: usize,
}

impl Op for Mark {
    const NAME: &'static str = "mark";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/mark");
    const TOOL: Option<&'static str> = Some("memory_mark");
    type Output = Marked;

    fn run(self, ctx: &Ctx<'_>) -> Result<Marked> {
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let since = self.since.from(now);
        let marked = ctx
            .memory
            .store
            .transact(cause, |tx| mark::mark(tx, since, self.strength, &ctx.memory.config, ctx.sight(false)))?
            .value;
        Ok(Marked { since, affected: marked.affected, skipped: marked.skipped })
    }

    fn show(output: &Marked) -> String {
        let skipped = match output.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped as judged just before"),
        };
        format!("{} strengthened{skipped}\n", counted(output.affected as u64, "note"))
    }
}
