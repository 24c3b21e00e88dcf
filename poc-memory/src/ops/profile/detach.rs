//! `profile remote detach`

use crate::ops::{Access, Ctx, Op};
use poc_graph::error::Result;
use poc_notes::sync;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Forget the remote. All notes stay in both stores; a later sync takes each for one that was never
/// synchronised, and deletes none.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Detach {}

/// The remote that was.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Detached {
    /// The profile's name or the folder's path.
    remote: String,
}

impl Op for Detach {
    const NAME: &'static str = "profile remote detach";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Detached;

    fn run(self, ctx: &Ctx<'_>) -> Result<Detached> {
        let binding = sync::detach(ctx.memory, ctx.actor.name())?;
        Ok(Detached { remote: binding.place.to_string() })
    }

    fn show(detached: &Detached) -> String {
        format!("detached from `{}`; all notes stay\n", detached.remote)
    }
}
