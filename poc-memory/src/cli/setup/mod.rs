//! `setup`: registers the memory with assistants, so that they remember by themselves.

mod assistant;
mod check;
mod edit;
mod hook_entries;
mod hook_removal;
mod json_file;
mod model;
mod plan;
mod record;
mod remove;
mod settings_file;
mod toml_file;

pub(super) use assistant::Assistant;
pub(super) use hook_entries::hooks;
pub(super) use model::SetupModel;
pub(super) use remove::SetupRemove;

use super::command_context::CommandContext;
use super::confirmation::ask;
use super::daemon;
use super::local::LocalCommand;
use crate::ops::{Terminal, forget_sessions};
use check::SelfCheck;
use plan::{FileChange, SetupPlan};
use poc_graph::error::{Code, Error, Exit, Result};
use record::SetupRecord;
use serde::Serialize;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// Let assistants remember by themselves: registers tools, hooks and the daemon
///
/// Without a name it sets up every assistant that is installed. It shows the changes to each settings file, asks for
/// your approval, and keeps a copy; comments and other settings stay as they are. Then it tests the new settings by
/// calling the memory as the assistants will.
/// `setup remove` undoes it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Setup {
    /// The assistants; all that are installed if none is named
    #[arg(value_enum, value_name = "ASSISTANT")]
    assistants: Vec<Assistant>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Register only the tools: nothing is added to conversations, and sessions are not captured. Hooks that an earlier
    /// `setup` registered are removed
    #[arg(long)]
    no_hooks: bool,
    /// Do not start the daemon
    #[arg(long)]
    no_daemon: bool,
}

/// The answer of `setup`.
#[derive(Debug, Serialize)]
pub(super) struct SetupOutput {
    /// The assistants that were set up.
    assistants: Vec<Assistant>,
    /// The files that had to change.
    files: Vec<FileChange>,
    /// Whether they were written.
    written: bool,
    /// How the daemon runs: `service`, `process`, or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    daemon: Option<String>,
    /// The test calls through the written settings.
    checks: Vec<SelfCheck>,
    /// Steps that the user has to do by hand.
    next: Vec<String>,
}

impl LocalCommand for Setup {
    const NAME: &'static str = "setup";
    type Output = SetupOutput;

    fn run(self, context: &CommandContext) -> Result<SetupOutput> {
        context.config()?;
        let assistants = match self.assistants.is_empty() {
            true => Assistant::installed(),
            false => self.assistants.clone(),
        };
        if assistants.is_empty() {
            return Err(Error::not_found("`setup` found no assistant that it supports").hint(format!(
                "name one of {}; for others, see `poc-memory mcp config`",
                Assistant::names()
            )));
        }
        let mut record = SetupRecord::load(&context.paths)?;
        let mut changes = self.changes(context, &assistants, &record)?;
        let mut output = SetupOutput {
            next: assistants.iter().filter_map(|assistant| assistant.next_step(!self.no_hooks)).collect(),
            assistants,
            files: changes.all(),
            written: false,
            daemon: None,
            checks: Vec::new(),
        };
        if self.dry_run {
            return Ok(output);
        }
        if !output.files.is_empty() && !self.yes {
            confirm(context, &output.files)?;
            // Assistants write to these files, too, also while the question waits for its answer.
            record = SetupRecord::load(&context.paths)?;
            changes = self.changes(context, &output.assistants, &record)?;
            output.files = changes.all();
        }
        context.paths.create()?;
        // The record is saved first, so that it lists what was written even if a later file fails.
        for change in &changes.registrations {
            record.apply(&context.paths, change)?;
        }
        for change in &changes.removals {
            record.undo(&context.paths, change)?;
        }
        // Nobody has registered other hooks, unless with a plugin.
        if !changes.removals.is_empty() && !record.has_hooks() {
            forget_sessions(&context.paths)?;
        }
        output.written = true;
        if !self.no_daemon {
            let registers_hooks =
                !self.no_hooks && output.assistants.iter().any(|assistant| assistant.has_hooks());
            let changed = !output.files.is_empty();
            output.daemon = Some(run_daemon(context, &mut record, changed, registers_hooks)?);
        }
        // A hook would start a daemon.
        let with_hooks = !self.no_hooks && !self.no_daemon;
        output.checks = check::check(context, &output.assistants, with_hooks);
        Ok(output)
    }

    fn show(output: &SetupOutput, _: &Terminal) -> String {
        let mut text = String::new();
        if !output.written {
            output.files.iter().for_each(|change| text.push_str(&change.diff));
        }
        match (output.files.is_empty(), output.written) {
            (true, _) => text.push_str("all settings files are up to date\n"),
            (false, true) => output.files.iter().for_each(|change| {
                let done = if change.after.is_some() { "wrote" } else { "removed" };
                text.push_str(&format!("{done:<9}{}\n", change.path.display()));
            }),
            (false, false) => text.push_str("nothing was written\n"),
        }
        if let Some(daemon) = &output.daemon {
            text.push_str(&format!("daemon   {daemon}\n"));
        }
        output.checks.iter().for_each(|check| text.push_str(&check.line()));
        if output.written {
            output.next.iter().for_each(|step| text.push_str(&format!("next     {step}\n")));
        }
        text
    }

    fn exit(output: &SetupOutput) -> Exit {
        if output.checks.iter().all(SelfCheck::is_ok) { Exit::Ok } else { Exit::Failed }
    }
}

/// The changes that a call of `setup` makes.
struct SetupChanges {
    registrations: Vec<FileChange>,
    /// The changes that remove hooks of an earlier call.
    removals: Vec<FileChange>,
}

impl SetupChanges {
    fn all(&self) -> Vec<FileChange> {
        [self.registrations.as_slice(), self.removals.as_slice()].concat()
    }
}

impl Setup {
    fn changes(
        &self,
        context: &CommandContext,
        assistants: &[Assistant],
        record: &SetupRecord,
    ) -> Result<SetupChanges> {
        let registrations = SetupPlan::of(context, assistants, !self.no_hooks)?.changes;
        let removals = match self.no_hooks {
            true => hook_removal::changes(context, assistants, record)?,
            false => Vec::new(),
        };
        Ok(SetupChanges { registrations, removals })
    }
}

/// Shows the changes and asks whether to write them.
///
/// # Errors
/// `rejected` when the answer is no, or when there is no terminal to ask on.
fn confirm(context: &CommandContext, changes: &[FileChange]) -> Result<()> {
    for change in changes {
        context.print(&change.diff)?;
    }
    if !std::io::stdin().is_terminal() {
        return Err(Error::new(
            Code::Rejected,
            "confirmation is impossible: standard input is not a terminal",
        )
        .hint("`--yes` writes the changes, `--dry-run` only shows them"));
    }
    let what = if changes.len() == 1 { "this change" } else { "these changes" };
    match ask(&format!("Write {what}?")) {
        true => Ok(()),
        false => Err(Error::new(Code::Rejected, "nothing was written").hint("`y` writes the changes")),
    }
}

/// Starts the daemon: as a service if there is a service manager, else as a process. With `changed`, a running daemon
/// is restarted, so that it reads its settings.
fn run_daemon(
    context: &CommandContext,
    record: &mut SetupRecord,
    changed: bool,
    registers_hooks: bool,
) -> Result<String> {
    match daemon::install(context) {
        Ok(installed) => {
            if installed.written {
                record.service_installed(&context.paths)?;
            } else if changed {
                daemon::restart(context)?;
            }
            Ok("is running, and starts with your session".into())
        }
        Err(error) if error.code == Code::Unavailable => {
            match changed {
                true => daemon::restart(context)?,
                false => daemon::start_and_wait(context)?,
            };
            let start = match registers_hooks {
                true => "the hooks start it when it is not",
                false => "it does not start with your session",
            };
            Ok(format!("is running; {start} ({})", error.message))
        }
        Err(error) => Err(error),
    }
}

/// The folder of the copies of changed files.
fn copies(paths: &poc_config::paths::Paths) -> PathBuf {
    paths.setup_record().with_extension("copies")
}
