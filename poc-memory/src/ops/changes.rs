//! `changes`

use super::text::table;
use super::{Access, Ctx, Op, argument};
use poc_graph::RunId;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::freshness::{self, AsOf};
use poc_notes::history::{self, Latest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Notes of a change that a person is shown.
const SHOWN: usize = 3;

/// Show the latest changes of notes, newest first, with the numbers that `undo` takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// How many, at most 1000 [default: 20]
    #[arg(long, value_name = "NUMBER")]
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// What has changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Latests {
    /// Newest first.
    changes: Vec<Change>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

/// One change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Change {
    /// Its number.
    seq: u64,
    at: Timestamp,
    /// Who: `manual`, `import:FILE`, `agent:NAME`.
    actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// What was called.
    op: String,
    /// Keys of the notes it is about; of one that is gone, its id.
    nodes: Vec<String>,
}

impl Op for Changes {
    const NAME: &'static str = "changes";
    const ACCESS: Access = Access::Person;
    type Output = Latests;

    fn run(self, ctx: &Ctx<'_>) -> Result<Latests> {
        let limit = argument::count("limit", self.limit, ("changes.limit", ctx.memory.config.changes.limit))?;
        let latest = history::latest(ctx.memory, limit)?;
        let freshness = freshness::of(ctx.memory, &ctx.memory.store.view());
        let change = |Latest { seq, cause, nodes }: Latest| Change {
            seq,
            at: cause.at,
            actor: cause.actor,
            run: cause.run,
            op: cause.op,
            nodes,
        };
        Ok(Latests {
            changes: latest.into_iter().map(change).collect(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Latests) -> String {
        if output.changes.is_empty() {
            return "nothing has changed yet\n".into();
        }
        let row = |change: &Change| {
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
