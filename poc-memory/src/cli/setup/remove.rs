//! `setup remove`

use super::plan::FileChange;
use super::record::SetupRecord;
use super::settings_file::SettingsFile;
use crate::cli::command_context::CommandContext;
use crate::cli::daemon;
use crate::cli::local::LocalCommand;
use crate::ops::{Terminal, forget_sessions};
use poc_config::files;
use poc_graph::error::Result;
use serde::Serialize;

/// Undo what `setup` wrote: files that have not changed since are restored; from other files, only the settings of
/// the memory are removed
///
/// Sessions that have called a hook are not captured any more. A running daemon is restarted if it would follow
/// transcripts until then.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SetupRemove {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `setup remove`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct SetupRemoveOutput {
    /// The files that had to change.
    files: Vec<FileChange>,
    /// Whether they were written.
    written: bool,
    /// Whether the daemon no longer starts with the session.
    service_removed: bool,
    /// Whether the daemon was restarted, so that it reads the restored settings of the memory and follows no session
    /// that has called a hook.
    daemon_restarted: bool,
}

impl LocalCommand for SetupRemove {
    const NAME: &'static str = "setup remove";
    type Output = SetupRemoveOutput;

    fn run(self, context: &CommandContext) -> Result<SetupRemoveOutput> {
        let paths = &context.paths;
        let mut record = SetupRecord::load(paths)?;
        let mut changes = undo_changes(&record)?;
        let mut output = SetupRemoveOutput {
            files: changes.clone(),
            written: false,
            service_removed: false,
            daemon_restarted: false,
        };
        if self.dry_run {
            return Ok(output);
        }
        if !changes.is_empty() && !self.yes {
            super::confirm(context, &changes)?;
            // Assistants write to these files, too, also while the question waits for its answer.
            changes = undo_changes(&record)?;
            output.files.clone_from(&changes);
        }
        changes.iter().try_for_each(FileChange::write)?;
        output.written = true;
        if record.service {
            daemon::uninstall(context)?;
            output.service_removed = true;
        }
        for copy in record.files.iter().filter_map(|file| file.copy.as_ref()) {
            files::remove(copy)?;
        }
        let had_sessions = record.has_hooks() && forget_sessions(paths)?;
        record = SetupRecord::default();
        record.save(paths)?;
        let own_settings = paths.config_file();
        let is_changed = changes.iter().any(|change| change.path == own_settings);
        // The daemon reads `[transcripts]` only when it starts, and would capture sessions until then.
        if (is_changed || had_sessions) && daemon::is_running(context) {
            daemon::restart(context)?;
            output.daemon_restarted = true;
        }
        Ok(output)
    }

    fn show(output: &SetupRemoveOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for change in &output.files {
            match (output.written, change.after.is_some()) {
                (false, _) => text.push_str(&change.diff),
                (true, true) => text.push_str(&format!("restored {}\n", change.path.display())),
                (true, false) => text.push_str(&format!("removed  {}\n", change.path.display())),
            }
        }
        if output.files.is_empty() {
            text.push_str("no settings file contains entries of `setup`\n");
        }
        if output.service_removed {
            text.push_str("the daemon no longer starts with your session\n");
        }
        if output.daemon_restarted {
            text.push_str("the daemon was restarted\n");
        }
        text
    }
}

/// The changes that undo those of `setup`.
fn undo_changes(record: &SetupRecord) -> Result<Vec<FileChange>> {
    let undone = record.files.iter().map(|file| file.undone(SettingsFile::without_edits));
    let undone: Vec<Option<FileChange>> = undone.collect::<Result<_>>()?;
    Ok(undone.into_iter().flatten().collect())
}
