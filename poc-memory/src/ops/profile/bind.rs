//! `profile remote bind`

use crate::ops::{Access, Ctx, Op, TenantScope, Terminal, argument};
use poc_graph::Trust;
use poc_graph::error::Result;
use poc_notes::sync::{self, Binding, RemoteLocation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Choose the remote: the store that this memory is synchronised with, of another profile or in a folder.
/// Nothing is copied yet.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteBind {
    /// Name of a profile, or path of a folder that is or contains a store
    #[arg(value_name = "NAME-OR-PATH", value_parser = argument::remote)]
    remote: String,
    /// Highest trust of notes from there: `quarantined`, `external`, `agent`, `user` or `pinned`. Without it,
    /// `user` for a profile and `external` for a folder
    #[arg(long, value_parser = argument::trust(), hide_possible_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// Create an empty store there if there is none
    #[arg(long)]
    #[serde(default)]
    create: bool,
}

/// The remote of this memory.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemoteBindOutput {
    /// The profile's name or the folder's path.
    remote: String,
    /// The folder of its store.
    store: PathBuf,
    /// Highest trust of pulled notes.
    trust: Trust,
    /// The remote that was bound before, if another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

impl Op for RemoteBind {
    const NAME: &'static str = "profile remote bind";
    const ACCESS: Access = Access::Person;
    const CREATES_PROFILE: bool = true;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const NAMES_COMMANDS: bool = true;
    type Output = RemoteBindOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RemoteBindOutput> {
        let location = RemoteLocation::parse(&self.remote)?;
        let remote_store = sync::locate(ctx.memory, &location, self.create)?;
        let trust = self.trust.unwrap_or_else(|| location.default_trust());
        let binding = Binding { location, trust, bound: ctx.memory.now(), last: None };
        let replaced = sync::bind(ctx.memory, &binding, ctx.actor.name())?;
        Ok(RemoteBindOutput {
            remote: binding.location.to_string(),
            store: remote_store.store(),
            trust,
            replaced: replaced.map(|before| before.location.to_string()),
        })
    }

    fn show(bound: &RemoteBindOutput, _: &Terminal) -> String {
        let replaced =
            bound.replaced.as_ref().map_or_else(String::new, |before| format!(" instead of `{before}`"));
        format!(
            "bound to `{}`{replaced}; notes from there get at most the trust `{}`\n\
             Next: `poc-memory profile remote sync --dry-run` shows what a sync would do\n",
            bound.remote, bound.trust
        )
    }
}
