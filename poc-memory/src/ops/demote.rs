//! `demote`

use super::reinforce::{self, ReinforceOutput};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report that a note was misleading or wrong. It loses some of its weight, but never all. A note that was
/// rated within the last minute loses nothing more, but the use is counted.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Demote {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
}

impl Op for Demote {
    const NAME: &'static str = "demote";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/demote");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    type Output = ReinforceOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ReinforceOutput> {
        reinforce::bump(ctx, Self::NAME, &self.node, None, -ctx.memory.config.reinforce.delta)
    }

    fn show(output: &ReinforceOutput, terminal: &Terminal) -> String {
        reinforce::show(output, terminal)
    }
}
