//! `changes`

use super::text::table;
use super::{Access, Ctx, Op, Route, argument};
use poc_graph::RunId;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::freshness::{self, AsOf};
use poc_notes::history::{self, RecentChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Notes listed for one change.
const SHOWN: usize = 3;

/// List the latest changes of notes, newest first, with the numbers that `undo` takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// How many changes, at most 1000 [default: 20]
    #[arg(long, value_name = "NUMBER")]
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// The latest changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChangesOutput {
    /// Newest first.
    changes: Vec<ChangeRow>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// One change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChangeRow {
    /// The number of the change.
    seq: u64,
    at: Timestamp,
    /// Who: `manual`, `import:FILE`, `agent:NAME`.
    actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The op that made the change.
    op: String,
    /// Keys of the changed notes; ids of those that were deleted since.
    nodes: Vec<String>,
}

impl Op for Changes {
    const NAME: &'static str = "changes";
    const ACCESS: Access = Access::Person;
    const ROUTE: Option<Route> = Route::get("/v1/changes");
    type Output = ChangesOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ChangesOutput> {
        let limit = argument::count("limit", self.limit, ("changes.limit", ctx.memory.config.changes.limit))?;
        let latest = history::latest(ctx.memory, limit)?;
        let freshness = freshness::of(ctx.memory, &ctx.memory.store.view());
        let change = |RecentChange { seq, cause, nodes }: RecentChange| ChangeRow {
            seq,
            at: cause.at,
            actor: cause.actor,
            run: cause.run,
            op: cause.op,
            nodes,
        };
        Ok(ChangesOutput {
            changes: latest.into_iter().map(change).collect(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &ChangesOutput) -> String {
        if output.changes.is_empty() {
            return "nothing has changed yet\n".into();
        }
        let row = |change: &ChangeRow| {
            let mut nodes = change.nodes.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            if change.nodes.len() > SHOWN {
                nodes += &format!(" and {} more", change.nodes.len() - SHOWN);
            }
            let what = match change.run {
                Some(run) => format!("{} {run}", change.op),
                None => change.op.clone(),
            };
            vec![change.seq.to_string(), change.at.to_string(), change.actor.clone(), what, nodes]
        };
        table(&output.changes.iter().map(row).collect::<Vec<_>>())
    }
}
