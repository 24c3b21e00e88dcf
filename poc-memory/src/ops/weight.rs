//! `weight`

use super::{Access, Ctx, Op, Route, argument};
use poc_graph::error::Result;
use poc_notes::weigh::{self, Change};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Set or move the weight of a note. It is decayed to now first and stays within floor and cap.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Weight {
    /// Key or id of the note
    node: String,
    /// `2.5` sets the weight, `+0.3` and `-0.3` move it
    #[arg(allow_hyphen_values = true, value_parser = argument::change)]
    value: Change,
}

/// What became of the weight.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Weighed {
    key: String,
    /// As decayed to now.
    before: f64,
    weight: f64,
}

impl Op for Weight {
    const NAME: &'static str = "weight";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/weight");
    type Output = Weighed;

    fn run(self, ctx: &Ctx<'_>) -> Result<Weighed> {
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let done = ctx.memory.store.transact(cause, |tx| {
            let node = ctx.named(tx, &self.node, "node")?;
            let weighed = weigh::change(tx, node.id, self.value, &ctx.memory.config.weight, now)?;
            Ok(Weighed { key: node.key, before: weighed.before, weight: weighed.after })
        })?;
        Ok(done.value)
    }

    fn show(output: &Weighed) -> String {
        format!("`{}` weighs {:.3} (before: {:.3})\n", output.key, output.weight, output.before)
    }
}
