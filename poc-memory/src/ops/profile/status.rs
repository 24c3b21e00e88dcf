//! `profile remote status`

use crate::ops::{Access, Ctx, Op};
use poc_graph::Trust;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::sync::{self, Binding, Last};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The remote of this memory: where it is, whether it can be reached now, and when they were last
/// synchronised.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {}

/// What `profile remote status` answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    /// Null when this memory has none.
    remote: Option<Remote>,
}

/// The remote.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Remote {
    /// The profile's name or the folder's path.
    name: String,
    /// What is pulled is trusted no further than this.
    trust: Trust,
    /// Since when.
    bound: Timestamp,
    /// Its store, where there is one.
    store: Option<PathBuf>,
    /// Process id of whoever holds it, so that it cannot be synchronised now; 0 when that is not
    /// known.
    held_by: Option<u32>,
    /// Why it cannot be synchronised.
    problem: Option<Error>,
    /// The last sync that was completed.
    last: Option<Last>,
}

impl Op for Status {
    const NAME: &'static str = "profile remote status";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    type Output = Answer;

    fn run(self, ctx: &Ctx<'_>) -> Result<Answer> {
        let Some(binding) = Binding::of(&ctx.memory.store)? else { return Ok(Answer { remote: None }) };
        let found = sync::look(ctx.memory, &binding.place, false);
        let holder = found.as_ref().ok().map(sync::Found::holder).transpose()?.flatten();
        Ok(Answer {
            remote: Some(Remote {
                name: binding.place.to_string(),
                trust: binding.trust,
                bound: binding.bound,
                store: found.as_ref().ok().map(sync::Found::store),
                held_by: holder,
                problem: found.err(),
                last: binding.last,
            }),
        })
    }

    fn show(answer: &Answer) -> String {
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
                (None, Some(0)) => "held by another process".into(),
                (None, Some(pid)) => format!("held by process {pid}"),
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
