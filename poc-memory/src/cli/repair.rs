//! `repair`

mod advice;
mod changes;
mod choice;
mod fuller_backup;
mod lost_note;
mod plan;
mod result;
mod source;

pub(super) use advice::copy_advice;
pub(super) use lost_note::LostNoteRow;

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::ops::Terminal;
use choice::RepairChoice;
use plan::RepairPlan;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::{Clock as _, SystemClock};
use poc_notes::INDEX_FOLDERS;
use poc_store::{Repair, RepairReport, atomic_file, has_undoable_repair, undo_repair};
use result::RepairResult;
use serde::Serialize;
use source::RepairFrom;

/// Repair a damaged store
///
/// A store whose log is damaged opens for reading only. Without options, this shows what can be done, what each
/// choice keeps and loses, and which known backups may have lost changes. It changes nothing. With `--from` and
/// `--yes`, the store is repaired from that source. `--from` and `--undo` require `--yes`. Replaced files are moved
/// to `quarantine/` in the folder of the store and never deleted: `--undo` brings them back, and
/// `doctor quarantine` shows what is there and restores single parts. No daemon may run. If the store is not
/// damaged, this says so; the exit status is then 3 if a repair was to be carried out, and 0 otherwise.
#[derive(Debug, clap::Args)]
#[group(id = "repair")]
pub(super) struct RepairStore {
    /// The source of the repair; without options, `poc-memory repair` lists the sources
    #[arg(long, value_name = "SOURCE", value_enum, conflicts_with = "undo")]
    from: Option<RepairFrom>,
    /// Bring back what the last repair replaced
    #[arg(long)]
    undo: bool,
    /// Carry out the repair, or undo it
    #[arg(long, short)]
    yes: bool,
}

/// The answer of `repair`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RepairOutput {
    /// The store is not damaged.
    NotDamaged {
        /// The source that was given with `--yes`.
        requested: Option<RepairFrom>,
    },
    /// Nothing was changed.
    Choices(RepairPlan),
    /// The store was repaired.
    Repaired(RepairResult),
    /// A repair was undone.
    Undone {
        /// The folder in `quarantine/` with the files that the repair had created.
        replaced: String,
    },
}

impl LocalCommand for RepairStore {
    const NAME: &'static str = "repair";
    const NAMES_COMMANDS: bool = true;
    type Output = RepairOutput;

    fn run(self, context: &CommandContext) -> Result<RepairOutput> {
        let directory = context.paths.store();
        if self.undo {
            // If nothing can be undone, `undo_repair` reports that.
            if !self.yes && has_undoable_repair(&directory) {
                return Err(Error::invalid("the last repair was not undone")
                    .hint("repeat the command with `--yes`: changes since the repair are put into `quarantine/`")
                    .field("yes"));
            }
            let replaced = undo_repair(&directory, &INDEX_FOLDERS)?;
            forget_verification(context);
            return Ok(RepairOutput::Undone { replaced });
        }
        if self.yes && self.from.is_none() {
            return Err(Error::invalid("nothing was chosen")
                .hint("without `--yes`, `poc-memory repair` shows what can be chosen with `--from`")
                .field("from"));
        }
        // If the settings are invalid, the store is taken for one without a shared log, so that it can be repaired.
        let is_copy = context.config().is_ok_and(|config| !config.store.log.is_empty());
        let advice = if is_copy { copy_advice(&directory) } else { None };
        let Some(repair) = Repair::of(&directory, is_copy)? else {
            return Ok(RepairOutput::NotDamaged { requested: self.from.filter(|_| self.yes) });
        };
        let mut choices = RepairChoice::all_of(&repair.options()?, &repair.parts());
        let Some(from) = self.from else {
            return Ok(RepairOutput::Choices(RepairPlan::of(&context.paths, &repair, choices, advice)));
        };
        let Some(chosen) = choices.iter().position(|choice| choice.from == from) else {
            return Err(not_offered(from, &choices, advice));
        };
        if !self.yes {
            return Err(Error::invalid("the store was not repaired")
                .hint(
                    "repeat the command with `--yes`; `poc-memory repair` shows what each choice keeps and loses",
                )
                .field("yes"));
        }
        let (choice, lost_notes) = (choices.swap_remove(chosen), LostNoteRow::all_of(&repair));
        let RepairReport { replaced, restorable } =
            repair.run(from.source(), SystemClock.now(), &INDEX_FOLDERS)?;
        forget_verification(context);
        Ok(RepairOutput::Repaired(RepairResult { choice, lost_notes, replaced, restorable }))
    }

    fn show(output: &RepairOutput, _: &Terminal) -> String {
        match output {
            RepairOutput::NotDamaged { .. } => {
                "the store is not damaged: there is nothing to repair\n".to_owned()
            }
            RepairOutput::Choices(plan) => plan.text(),
            RepairOutput::Repaired(result) => result.text(),
            RepairOutput::Undone { replaced } => format!(
                "the repair was undone; the files that it created, and all changes since then, are in \
                 `quarantine/{replaced}`\nafter another repair, `poc-memory doctor quarantine restore {replaced}` \
                 restores notes from there\n"
            ),
        }
    }

    fn exit(output: &RepairOutput) -> Exit {
        match output {
            RepairOutput::NotDamaged { requested: Some(_) } => Exit::NothingToDo,
            _ => Exit::Ok,
        }
    }
}

/// The error for a source from which the store cannot be repaired. `copy_advice` is what to do instead, if the store is
/// only a copy of a shared log.
fn not_offered(from: RepairFrom, choices: &[RepairChoice], copy_advice: Option<String>) -> Error {
    let offered: Vec<String> = choices.iter().map(|choice| format!("`{}`", choice.from.name())).collect();
    let (because, hint) = match (copy_advice, offered.is_empty()) {
        (Some(advice), _) => {
            (": it is a copy of a shared log, and a repair would make it differ from that log", advice)
        }
        (None, true) => ("", "`poc-memory repair` shows what can be done".to_owned()),
        (None, false) => (
            "",
            format!(
                "give {}; `poc-memory repair` shows what each choice keeps and loses",
                offered.join(" or ")
            ),
        ),
    };
    let message = format!("the store cannot be repaired from `{}`{because}", from.name());
    Error::invalid(message).hint(hint).field("from")
}

/// Deletes the result of the last verification, because it is about the replaced files. The daemon verifies
/// again soon.
fn forget_verification(context: &CommandContext) {
    if let Err(error) = atomic_file::remove(&context.paths.verification()) {
        tracing::warn!("the problems of the last verification stay listed until the next one: {error}");
    }
}
