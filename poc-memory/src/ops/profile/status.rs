//! `profile remote status`

use crate::ops::{Access, Ctx, Op, TenantScope, Terminal};
use poc_graph::Trust;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::sync::{self, Binding, LastSync};
use poc_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Show the remote of this memory: where it is, whether it can be reached, and when the last sync was.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteStatus {}

/// The answer of `profile remote status`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemoteStatusOutput {
    /// The remote; null if none is bound.
    remote: Option<Remote>,
}

/// The remote.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Remote {
    /// The profile's name or the folder's path.
    name: String,
    /// Highest trust of pulled notes.
    trust: Trust,
    /// When it was bound.
    bound: Timestamp,
    /// The folder of its store, if it exists.
    store: Option<PathBuf>,
    /// Id of the process that holds it and so prevents a sync now; 0 if unknown.
    held_by: Option<u32>,
    /// Why it cannot be synchronised.
    problem: Option<Error>,
    /// The last sync that was completed.
    last: Option<LastSync>,
}

impl Op for RemoteStatus {
    const NAME: &'static str = "profile remote status";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const NAMES_COMMANDS: bool = true;
    type Output = RemoteStatusOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RemoteStatusOutput> {
        let Some(binding) = Binding::of(&ctx.memory.store)? else {
            return Ok(RemoteStatusOutput { remote: None });
        };
        let located = sync::locate(ctx.memory, &binding.location, false);
        let holder = located.as_ref().ok().map(sync::RemoteStore::holder).transpose()?.flatten();
        Ok(RemoteStatusOutput {
            remote: Some(Remote {
                name: binding.location.to_string(),
                trust: binding.trust,
                bound: binding.bound,
                store: located.as_ref().ok().map(sync::RemoteStore::store),
                held_by: holder,
                problem: located.err(),
                last: binding.last,
            }),
        })
    }

    fn show(answer: &RemoteStatusOutput, _: &Terminal) -> String {
        let Some(remote) = &answer.remote else {
            return "no remote; `poc-memory profile remote bind NAME` names a profile or a folder\n".into();
        };
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<8}{value}");
        };
        line("remote", remote.name.clone());
        if let Some(store) = &remote.store {
            line("store", store.display().to_string());
        }
        line("trust", format!("{} at most", remote.trust));
        line(
            "state",
            match (&remote.problem, remote.held_by) {
                (Some(problem), _) => problem.line(),
                (None, Some(pid)) => format!("held by {}", Store::holder_name(pid)),
                (None, None) => "free".into(),
            },
        );
        line(
            "last",
            remote.last.map_or_else(
                || "never synchronised".into(),
                |last| {
                    format!(
                        "{}: {} pulled, {} deleted, {} pushed",
                        last.at, last.pulled, last.deleted, last.pushed
                    )
                },
            ),
        );
        text
    }
}
