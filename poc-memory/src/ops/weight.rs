//! `weight`

use super::{Access, Ctx, Op, Route, Terminal, argument};
use poc_graph::error::Result;
use poc_notes::weight::{self, WeightChange};
use poc_notes::{recall, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Set or adjust the weight of a note. The weight is first decayed to now, and stays between the floor and
/// the cap.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Weight")]
pub(crate) struct WeightRequest {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
    /// `2.5` sets the weight, `+0.3` and `-0.3` adjust it
    #[arg(allow_hyphen_values = true, value_parser = argument::change)]
    value: WeightChange,
    /// Change the note only if it still has this version, which `get` shows
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
}

/// The weight before and after.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WeightOutput {
    key: String,
    /// The weight before the change, decayed to now.
    before: f64,
    /// The weight after the change: 0.01 to 100 with the default settings.
    weight: f64,
    /// Whether the change went beyond the floor or the cap, so that the weight is one of them; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    limited: bool,
    /// The number of the change, which `undo` takes.
    seq: u64,
}

impl Op for WeightRequest {
    const NAME: &'static str = "weight";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/weight");
    type Output = WeightOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<WeightOutput> {
        // The updates of earlier recalls come first, so that the change applies to the current weight.
        recall::flush(ctx.memory)?;
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let done = ctx.memory.store.transact(cause, |tx| {
            let node = ctx.find_writable(tx, &self.node, "node")?;
            resolve::check_version(&node, self.if_version)?;
            let weighed = weight::change(tx, node.id, self.value, &ctx.memory.config.weight, now)?;
            Ok(WeightOutput {
                key: node.key,
                before: weighed.before,
                weight: weighed.after,
                limited: weighed.is_limited,
                seq: tx.seq(),
            })
        })?;
        Ok(done.value)
    }

    fn show(output: &WeightOutput, _: &Terminal) -> String {
        let limited = if output.limited { " (limited by `floor` and `cap` in `[weight]`)" } else { "" };
        format!("weight of `{}`: {:.3} → {:.3}{limited}\n", output.key, output.before, output.weight)
    }
}
