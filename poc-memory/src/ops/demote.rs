//! `demote`

use super::reinforce::{self, Bumped};
use super::{Access, Ctx, Op, Route};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Say that a note was misleading or wrong: it loses weight, never all of it. A note that
/// was judged within the last minute loses nothing; the use is counted all the same.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Demote {
    /// Key or id of the note
    node: String,
}

impl Op for Demote {
    const NAME: &'static str = "demote";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/demote");
    const TOOL: Option<&'static str> = Some("memory_demote");
    type Output = Bumped;

    fn run(self, ctx: &Ctx<'_>) -> Result<Bumped> {
        reinforce::bump(ctx, Self::NAME, &self.node, -ctx.memory.config.reinforce.delta)
    }

    fn show(output: &Bumped) -> String {
        reinforce::show(output)
    }
}
