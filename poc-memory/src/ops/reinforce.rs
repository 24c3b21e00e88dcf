//! `reinforce`

use super::{Access, Ctx, Op, Route};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::weigh;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Say that a note was useful: it gains weight, the less the heavier it is. A note that was judged
/// within the last minute gains nothing more; the use is counted all the same.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reinforce {
    /// Key or id of the note
    node: String,
}

/// What became of the weight.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Bumped {
    id: NodeId,
    key: String,
    /// As decayed to now.
    before: f64,
    weight: f64,
    /// Uses so far, this one among them.
    accesses: u64,
    /// Whether the note was judged so shortly before that the weight only decayed.
    skipped_refractory: bool,
}

impl Op for Reinforce {
    const NAME: &'static str = "reinforce";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/reinforce");
    const TOOL: Option<&'static str> = Some("memory_reinforce");
    type Output = Bumped;

    fn run(self, ctx: &Ctx<'_>) -> Result<Bumped> {
        bump(ctx, Self::NAME, &self.node, ctx.memory.config.reinforce.delta)
    }

    fn show(output: &Bumped) -> String {
        show(output)
    }
}

/// Moves the weight of a note by a delta.
pub(super) fn bump(ctx: &Ctx<'_>, op: &str, name: &str, delta: f64) -> Result<Bumped> {
    let cause = ctx.cause(op);
    let now = cause.at;
    let done = ctx.memory.store.transact(cause, |tx| {
        let node = ctx.named(tx, name, "node")?;
        let bumped = weigh::bump(tx, node.id, delta, &ctx.memory.config, now)?;
        Ok(Bumped {
            id: node.id,
            key: node.key,
            before: bumped.before,
            weight: bumped.after,
            accesses: bumped.accesses,
            skipped_refractory: bumped.skipped_refractory,
        })
    })?;
    Ok(done.value)
}

/// The weight for a person.
pub(super) fn show(output: &Bumped) -> String {
    let Bumped { key, before, weight, .. } = output;
    let mut text = format!("`{key}` weighs {weight:.3} (before: {before:.3})");
    if output.skipped_refractory {
        // Writing to a string cannot fail.
        let _ = write!(text, ": it was judged just before, so that changes nothing");
    }
    text + "\n"
}
