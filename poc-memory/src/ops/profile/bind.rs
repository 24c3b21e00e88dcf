//! `profile remote bind`

use crate::ops::{Access, Ctx, Op, argument};
use poc_graph::Trust;
use poc_graph::error::Result;
use poc_notes::sync::{self, Binding, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Say which other store this one is synchronised with: that of another profile, or one in a folder.
/// Nothing is copied yet.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bind {
    /// Name of a profile, or path of a folder that is a store or holds one
    #[arg(value_name = "NAME-OR-PATH", value_parser = argument::remote)]
    remote: String,
    /// How far what comes from there may be relied on at most: `quarantined`, `external`, `agent`,
    /// `user` or `pinned` [default: user for a profile, external for a folder]
    #[arg(long, value_parser = argument::trust(), hide_possible_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// Make an empty store there when there is none
    #[arg(long)]
    #[serde(default)]
    create: bool,
}

/// The remote of this memory.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Bound {
    /// The profile's name or the folder's path.
    remote: String,
    /// Its store.
    store: PathBuf,
    /// What is pulled is trusted no further than this.
    trust: Trust,
    /// The remote that was bound before, if that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

impl Op for Bind {
    const NAME: &'static str = "profile remote bind";
    const ACCESS: Access = Access::Person;
    const BEGINS: bool = true;
    const TENANTS: bool = false;
    type Output = Bound;

    fn run(self, ctx: &Ctx<'_>) -> Result<Bound> {
        let place = Place::parse(&self.remote)?;
        let found = sync::look(ctx.memory, &place, self.create)?;
        let trust = self.trust.unwrap_or_else(|| place.usual_trust());
        let binding = Binding { place, trust, bound: ctx.memory.now(), last: None };
        let replaced = sync::bind(ctx.memory, &binding, ctx.actor.name())?;
        Ok(Bound {
            remote: binding.place.to_string(),
            store: found.store(),
            trust,
            replaced: replaced.map(|before| before.place.to_string()),
        })
    }

    fn show(bound: &Bound) -> String {
        let replaced =
            bound.replaced.as_ref().map_or_else(String::new, |before| format!(" instead of `{before}`"));
        format!(
            "bound to `{}`{replaced}; what comes from there is trusted as `{}` at most\n\
             Next: `poc-memory profile remote sync --dry-run` shows what a sync would do\n",
            bound.remote, bound.trust
        )
    }
}
