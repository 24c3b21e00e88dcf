//! `restore`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::{daemon_client, progress};
use crate::ops::{self, Terminal, plural, second};
use poc_agent::agent_files;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::HistoryPoint;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Clock as _, SystemClock, Timestamp};
use poc_notes::backup::{self, BackupCallbacks, RestoreOptions, RestorePoint};
use serde::Serialize;
use std::path::PathBuf;

/// Restore a backup, or an earlier state of it, where there is no store or an empty one
///
/// The newest generation that contains the state is checked, copied and opened once before it is put in
/// place; a damaged generation is not restored. Settings, agents, prompts, and the prompts and replies of
/// runs are restored only where there are none. The backup is not changed and shares no file with what is
/// restored.
#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    /// The folder or file that `backup` wrote
    #[arg(value_name = "FOLDER|FILE", value_parser = ops::path)]
    path: PathBuf,
    /// Restore the state after this change, or as of this time: `1042`, `2026-11-21T08:00:00Z`, `2026-11-21`, `2h`
    #[arg(long, value_name = "SEQ|TIME", value_parser = ops::history_point)]
    to: Option<HistoryPoint>,
    /// Restore into this new or empty folder, for `POC_MEMORY_HOME`; otherwise into the folders in use
    #[arg(long, value_name = "FOLDER", value_parser = ops::path)]
    into: Option<PathBuf>,
    /// Leave out damaged settings, agents, prompts and runs, and restore the rest
    #[arg(long)]
    skip_damaged_files: bool,
}

/// The answer of `restore`.
#[derive(Debug, Serialize)]
pub(super) struct RestoreOutput {
    /// Name of the generation that was restored.
    generation: String,
    /// Sequence number of the last transaction.
    seq: u64,
    /// The time of that transaction.
    at: Timestamp,
    /// Number of live notes of all tenants.
    notes: u64,
    store: PathBuf,
    /// Files and folders that were restored in addition to the store.
    restored: Vec<PathBuf>,
    /// Files and folders that existed already and were left as they are.
    kept: Vec<PathBuf>,
    /// Newer generations with the state that were skipped because they are damaged.
    skipped: Vec<String>,
    /// Damaged files that were left out, with the problem of each.
    left_out: Vec<String>,
    /// The change of which the state has only a part, if it ends within a change with several numbers, such as an
    /// import.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished: Option<String>,
}

impl LocalCommand for Restore {
    const NAME: &'static str = "restore";
    type Output = RestoreOutput;

    fn run(self, context: &CommandContext) -> Result<RestoreOutput> {
        let target = match &self.into {
            Some(home) => Paths::in_folder(home).of_profile(context.paths.profile())?,
            None => context.paths.clone(),
        };
        if let Some(home) = &self.into {
            backup::require_folder_of_memory(home)?;
        }
        let config = Config::load(&target.config_file()).ok();
        // The daemon is asked, because the lock may be missing: the folder may have been moved away while the daemon
        // runs.
        if let Ok(Some((_, status))) = daemon_client::connect_with_status(&target, config.as_ref()) {
            return Err(Error::conflict(format!(
                "the daemon of this memory is running (process {})",
                status.pid
            ))
            .hint("stop it first: `poc-memory daemon stop`"));
        }
        let point = match self.to {
            None => RestorePoint::Newest,
            Some(HistoryPoint::Change(seq)) => RestorePoint::Seq(seq),
            Some(HistoryPoint::Time(time)) => {
                let now = SystemClock.now();
                RestorePoint::Within { first: time.resolve(now), last: time.resolve_end(now) }
            }
        };
        let bar = progress::Bar::new(&context.globals);
        let progress = |done, total| super::backup::show(&bar, done, total);
        let callbacks = BackupCallbacks { progress: &progress, check_cancelled: &|| Ok(()) };
        let options = RestoreOptions { point, skip_damaged_files: self.skip_damaged_files };
        let report = backup::restore(&self.path, options, &target, &callbacks)?;
        bar.clear();
        // The first line of agent files refers to the schema.
        agent_files::write_schema(&target)?;
        Ok(RestoreOutput {
            generation: report.generation,
            seq: report.seq,
            at: report.at,
            notes: report.notes,
            store: report.store,
            restored: report.restored,
            kept: report.kept,
            skipped: report.skipped,
            left_out: report.left_out,
            unfinished: report.unfinished.map(|unfinished| {
                let last = unfinished.last;
                format!("{unfinished}; `--to {last}` restores all of it")
            }),
        })
    }

    fn show(output: &RestoreOutput, _: &Terminal) -> String {
        let mut text = format!(
            "restored change {} of {}, {} in use, from {}\n",
            output.seq,
            second(output.at),
            plural(output.notes, "note"),
            output.generation
        );
        text.push_str(&format!("{:<9}{}\n", "restored", output.store.display()));
        let groups = [("restored", &output.restored), ("kept", &output.kept)];
        for (what, path) in
            groups.into_iter().flat_map(|(what, paths)| paths.iter().map(move |path| (what, path)))
        {
            text.push_str(&format!("{what:<9}{}\n", path.display()));
        }
        if let Some(unfinished) = &output.unfinished {
            text.push_str(&format!("partial  {unfinished}\n"));
        }
        for damaged in &output.skipped {
            text.push_str(&format!("damaged  {damaged}\n"));
        }
        for damaged in &output.left_out {
            text.push_str(&format!("left out {damaged}\n"));
        }
        text
    }
}
