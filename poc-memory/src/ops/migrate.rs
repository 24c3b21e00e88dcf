//! `embed_migrate`

use super::text::counted;
use super::{Access, Ctx, Op, Progress};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_notes::migrate::{self, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Make the vectors of all notes anew, of all tenants, with the embedder that the settings name. The old
/// ones serve until none is missing; then the store has the new embedder from its next opening on. What
/// was interrupted goes on where it was.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbedMigrate {}

/// What was done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Migrated {
    /// The embedder the store had.
    from: String,
    /// The embedder it has from its next opening on; the same when there was nothing to do.
    to: String,
    /// Notes whose vectors were made now.
    notes: u64,
    /// Notes that had theirs from before.
    had: u64,
    /// Whether a daemon has the store open and goes on with the old vectors until it is started anew.
    restart: bool,
}

/// That the settings name the embedder that they did when the daemon was started.
fn still_meant(memory: &Memory) -> Result<()> {
    let meant = memory.wanted_embedder.as_deref().unwrap_or(&memory.config.embedder);
    if Config::load(&memory.paths.config_file())?.embedder == *meant {
        return Ok(());
    }
    Err(Error::conflict("the settings name another embedder than when the daemon was started")
        .hint("start the daemon anew, then migrate"))
}

impl Op for EmbedMigrate {
    const NAME: &'static str = "embed_migrate";
    const COMMAND: &'static str = "embed migrate";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    type Output = Migrated;

    fn run(self, ctx: &Ctx<'_>) -> Result<Migrated> {
        let calls = ctx.host.calls();
        let watch = Watch {
            progress: &|done, total| {
                (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
            },
            go_on: &|| match calls.is_cancelled() {
                true => Err(Error::unavailable("the daemon stops before all vectors are made")
                    .hint("migrate again: it goes on where it was")),
                false => Ok(()),
            },
        };
        if ctx.host.daemon().is_ok() {
            still_meant(ctx.memory)?;
        }
        let name = ctx.memory.embedder.name().to_owned();
        let done = migrate::migrate(ctx.memory, ctx.actor.name(), &watch)?;
        Ok(match done {
            None => Migrated { from: name.clone(), to: name, notes: 0, had: 0, restart: false },
            Some(done) => Migrated {
                from: done.from,
                to: done.to,
                notes: done.notes,
                had: done.had,
                restart: ctx.host.daemon().is_ok(),
            },
        })
    }

    fn show(output: &Migrated) -> String {
        let Migrated { from, to, notes, had, restart } = output;
        if from == to && *notes == 0 {
            return format!("the vectors are those of `{to}`, which the settings name: nothing to do\n");
        }
        if from == to {
            return format!("vectors of {} made that lacked them\n", counted(*notes, "note"));
        }
        let before = if *had > 0 { format!(", {had} had theirs from before") } else { String::new() };
        let next = if *restart { "; start the daemon anew to use them" } else { "" };
        format!("`{from}` → `{to}`: vectors of {} made{before}{next}\n", counted(*notes, "note"))
    }
}
