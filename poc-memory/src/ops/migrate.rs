//! `embed_migrate`

use super::text::plural;
use super::{Access, Ctx, Op, Progress, Terminal};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_notes::migrate::{self, MigrationCallbacks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recompute the vectors of all notes, of all tenants, with the embedder in the settings. The old vectors are
/// used until all new ones exist; the store switches when it is opened next. An interrupted migration resumes
/// where it stopped.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbedMigrate {}

/// The result of a migration.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EmbedMigrateOutput {
    /// The embedder before.
    from: String,
    /// The embedder that the store uses once it is opened again; the same as `from` if there was nothing to do.
    to: String,
    /// Number of notes whose vectors were computed now.
    notes: u64,
    /// Number of notes whose new vectors already existed.
    had: u64,
    /// Whether a daemon has the store open and uses the old vectors until it is restarted.
    restart: bool,
}

/// Fails if the embedder in the settings has changed since the daemon started.
fn check_embedder_unchanged(memory: &Memory) -> Result<()> {
    let meant = memory.configured_embedder.as_deref().unwrap_or(&memory.config.embedder);
    if Config::load(&memory.paths.config_file())?.embedder == *meant {
        return Ok(());
    }
    Err(Error::conflict("`[embedder]` has changed in the settings since the daemon started")
        .hint("restart the daemon and repeat the command"))
}

impl Op for EmbedMigrate {
    const NAME: &'static str = "embed_migrate";
    const COMMAND: &'static str = "embed migrate";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const USES_SHUTDOWN_GRACE: bool = true;
    type Output = EmbedMigrateOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<EmbedMigrateOutput> {
        let calls = ctx.host.calls();
        let watch = MigrationCallbacks {
            progress: &|done, total| {
                (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
            },
            check_cancelled: &|| match calls.is_cancelled() {
                true => Err(Error::unavailable("the daemon is stopping before all vectors are computed")
                    .hint("run the command again: it continues where it stopped")),
                false => Ok(()),
            },
        };
        if ctx.host.daemon().is_ok() {
            check_embedder_unchanged(ctx.memory)?;
        }
        let name = ctx.memory.embedder.name().to_owned();
        let done = migrate::migrate(ctx.memory, ctx.actor.name(), &watch)?;
        Ok(match done {
            None => EmbedMigrateOutput { from: name.clone(), to: name, notes: 0, had: 0, restart: false },
            Some(done) => EmbedMigrateOutput {
                from: done.from,
                to: done.to,
                notes: done.notes,
                had: done.already_embedded,
                restart: ctx.host.daemon().is_ok(),
            },
        })
    }

    fn show(output: &EmbedMigrateOutput, _: &Terminal) -> String {
        let EmbedMigrateOutput { from, to, notes, had, restart } = output;
        if from == to && *notes == 0 {
            return format!("all vectors are from `{to}`, the configured embedder: nothing to do\n");
        }
        if from == to {
            return format!("computed the missing vectors of {}\n", plural(*notes, "note"));
        }
        let before = if *had > 0 { format!(", {had} already had one") } else { String::new() };
        let next = if *restart { "; restart the daemon to use them" } else { "" };
        format!("`{from}` → `{to}`: computed vectors for {}{before}{next}\n", plural(*notes, "note"))
    }
}
