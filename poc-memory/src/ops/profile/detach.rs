//! `profile remote detach`

use crate::ops::{Access, Ctx, Op, TenantScope, Terminal};
use poc_graph::error::Result;
use poc_notes::sync;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unbind the remote. All notes stay in both stores. A later sync treats them as never synchronised and
/// deletes none.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteDetach {}

/// The remote that was unbound.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemoteDetachOutput {
    /// The profile's name or the folder's path.
    remote: String,
}

impl Op for RemoteDetach {
    const NAME: &'static str = "profile remote detach";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    type Output = RemoteDetachOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RemoteDetachOutput> {
        let binding = sync::detach(ctx.memory, ctx.actor.name())?;
        Ok(RemoteDetachOutput { remote: binding.location.to_string() })
    }

    fn show(detached: &RemoteDetachOutput, _: &Terminal) -> String {
        format!("detached from `{}`; all notes stay\n", detached.remote)
    }
}
