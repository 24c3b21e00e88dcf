//! `reinforce`

use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Report that a note was useful. It gains weight; heavy notes gain less. A note that was rated within the
/// last minute gains nothing more, but the use is counted.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reinforce {
    /// Key or id of the note
    node: String,
}

/// The weight before and after.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReinforceOutput {
    id: NodeId,
    key: String,
    /// Decayed to now.
    before: f64,
    weight: f64,
    /// Uses so far, including this one.
    accesses: u64,
    /// Whether the note was judged so shortly before that the weight only decayed.
    skipped_refractory: bool,
}

impl Op for Reinforce {
    const NAME: &'static str = "reinforce";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/reinforce");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    type Output = ReinforceOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ReinforceOutput> {
        bump(ctx, Self::NAME, &self.node, ctx.memory.config.reinforce.delta)
    }

    fn show(output: &ReinforceOutput) -> String {
        show(output)
    }
}

/// Moves the weight of a note by a delta.
pub(super) fn bump(ctx: &Ctx<'_>, op: &str, name: &str, delta: f64) -> Result<ReinforceOutput> {
    let cause = ctx.cause(op);
    let now = cause.at;
    let done = ctx.memory.store.transact(cause, |tx| {
        let node = ctx.find_writable(tx, name, "node")?;
        let bumped = weight::bump(tx, node.id, delta, &ctx.memory.config, now)?;
        Ok(ReinforceOutput {
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
pub(super) fn show(output: &ReinforceOutput) -> String {
    let ReinforceOutput { key, before, weight, .. } = output;
    let mut text = format!("`{key}` weighs {weight:.3} (before: {before:.3})");
    if output.skipped_refractory {
        // Writing to a string cannot fail.
        let _ = write!(text, ": it was rated within the last minute, so nothing changes");
    }
    text + "\n"
}
