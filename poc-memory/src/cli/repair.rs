//! `repair`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::ops::plural;
use clap::ValueEnum;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Clock as _, SystemClock, Timestamp};
use poc_notes::INDEX_FOLDERS;
use poc_store::{Repair, RepairOption, RepairSource, atomic_file, repair_folders, undo_repair};
use serde::Serialize;

/// Repair a damaged store
///
/// A store whose log is damaged opens for reading only. Without `--yes`, this shows what can be done and what
/// each choice keeps and loses, and changes nothing. With `--from` and `--yes`, the store is repaired from
/// that source. Replaced files are moved to `quarantine/` in the folder of the store and never deleted:
/// `--undo` brings them back, and `doctor quarantine` shows what is there and restores single parts. No
/// daemon may run.
#[derive(Debug, clap::Args)]
#[group(id = "repair")]
pub(super) struct RepairStore {
    /// The source of the repair; without options, `poc-memory repair` lists the sources
    #[arg(long, value_enum, conflicts_with = "undo")]
    from: Option<RepairFrom>,
    /// Bring back what the last repair replaced
    #[arg(long)]
    undo: bool,
    /// Carry out the repair
    #[arg(long, short)]
    yes: bool,
}

/// The source of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum RepairFrom {
    /// The records, and every readable change of the log
    Records,
    /// Every readable change of the log, without the unreadable ones
    SoundLog,
    /// The log up to the damage
    Log,
}

impl RepairFrom {
    const ALL: [(RepairFrom, RepairSource); 3] = [
        (RepairFrom::Records, RepairSource::Records),
        (RepairFrom::SoundLog, RepairSource::SoundLog),
        (RepairFrom::Log, RepairSource::Log),
    ];

    fn name(self) -> &'static str {
        match self {
            RepairFrom::Records => "records",
            RepairFrom::SoundLog => "sound-log",
            RepairFrom::Log => "log",
        }
    }

    fn description(self) -> &'static str {
        match self {
            RepairFrom::Records => "the records, and every readable change of the log",
            RepairFrom::SoundLog => "every readable change of the log, without the unreadable ones",
            RepairFrom::Log => "the log up to the damage",
        }
    }
}

/// The changes and notes that one source keeps and loses.
#[derive(Debug, Serialize)]
pub(super) struct RepairChoice {
    from: RepairFrom,
    /// Number of notes of all tenants that are kept.
    notes: u64,
    links: u64,
    /// How many more the most complete source keeps.
    fewer_notes: u64,
    fewer_links: u64,
    /// The number of the last change that is kept.
    last_change: u64,
    /// The time of the last kept change whose time is known.
    until: Option<Timestamp>,
    /// Whether `until` is the time of the last kept change itself.
    until_is_exact: bool,
    /// The ranges of lost changes: first and last number of each.
    lost_changes: Vec<(u64, u64)>,
}

/// The answer of `repair`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RepairOutput {
    /// Nothing was changed.
    Choices {
        /// A description of the damage.
        damage: String,
        /// The last change that any part of the store knows of, if the log has lost its end: later ones are lost.
        lost_after: Option<u64>,
        choices: Vec<RepairChoice>,
    },
    /// The store was repaired.
    Repaired {
        choice: RepairChoice,
        /// The folder in `quarantine/` with the replaced files.
        replaced: String,
    },
    /// A repair was undone.
    Undone {
        /// The folder in `quarantine/` with the files that the repair had created.
        replaced: String,
    },
}

impl LocalCommand for RepairStore {
    const NAME: &'static str = "repair";
    type Output = RepairOutput;

    fn run(self, context: &CommandContext) -> Result<RepairOutput> {
        let directory = context.paths.store();
        if self.undo {
            // If nothing was repaired, `undo_repair` reports that.
            if !self.yes && !repair_folders(&directory).is_empty() {
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
        let repair = Repair::of(&directory)?;
        let mut choices = choices(&repair.options()?);
        let Some(from) = self.from else {
            return Ok(choices_output(&repair, choices));
        };
        choices.retain(|choice| choice.from == from);
        let source = RepairFrom::ALL.into_iter().find_map(|(own, source)| (own == from).then_some(source));
        let (Some(choice), Some(source)) = (choices.pop(), source) else {
            return Err(Error::invalid(format!("the store cannot be repaired from `{}`", from.name()))
                .hint("`poc-memory repair` shows what can be chosen")
                .field("from"));
        };
        if !self.yes {
            return Ok(choices_output(&repair, vec![choice]));
        }
        let replaced = repair.run(source, SystemClock.now(), &INDEX_FOLDERS)?;
        forget_verification(context);
        Ok(RepairOutput::Repaired { replaced, choice })
    }

    fn show(output: &RepairOutput) -> String {
        match output {
            RepairOutput::Choices { damage, lost_after, choices } => {
                let end = lost_after.map_or_else(String::new, |last| {
                    format!(
                        "the end of the log is missing: if there were changes after {last}, only a backup can contain them\n\n"
                    )
                });
                let lines: String = choices.iter().map(line).collect();
                let rest = if choices.is_empty() {
                    "neither the log nor the records can be read: restore a backup\n"
                } else {
                    "nothing was changed; `poc-memory repair --from CHOICE --yes` repairs the store, and \
                     `poc-memory repair --undo --yes` reverts that\n"
                };
                format!("{damage}\n\n{end}{lines}\n{rest}")
            }
            RepairOutput::Repaired { choice, replaced } => {
                let rest = match choice.lost_changes.as_slice() {
                    [] => String::new(),
                    _ => format!(
                        "`poc-memory doctor quarantine restore {replaced}` restores notes and links that exist only there\n"
                    ),
                };
                format!(
                    "the store was repaired:\n{}the replaced files are in `quarantine/{replaced}`\n{rest}",
                    line(choice)
                )
            }
            RepairOutput::Undone { replaced } => {
                format!("the repair was undone; the files that it created are in `quarantine/{replaced}`\n")
            }
        }
    }
}

fn choices_output(repair: &Repair, choices: Vec<RepairChoice>) -> RepairOutput {
    RepairOutput::Choices { damage: repair.damage().to_owned(), lost_after: repair.lost_end(), choices }
}

/// Deletes the result of the last verification, because it is about the replaced files. The daemon verifies
/// again soon.
fn forget_verification(context: &CommandContext) {
    if let Err(error) = atomic_file::remove(&context.paths.verification()) {
        tracing::warn!("the problems of the last verification stay listed until the next one: {error}");
    }
}

fn choices(options: &[RepairOption]) -> Vec<RepairChoice> {
    let max = |count: fn(&RepairOption) -> u64| options.iter().map(count).max().unwrap_or(0);
    let (notes, links) = (max(|option| option.notes), max(|option| option.links));
    let choice = |option: &RepairOption| {
        let (from, _) = RepairFrom::ALL.into_iter().find(|(_, source)| *source == option.source)?;
        Some(RepairChoice {
            from,
            notes: option.notes,
            links: option.links,
            fewer_notes: notes - option.notes,
            fewer_links: links - option.links,
            last_change: option.last_seq,
            until: option.until,
            until_is_exact: option.until_is_exact,
            lost_changes: option.lost.clone(),
        })
    };
    options.iter().filter_map(choice).collect()
}

fn line(choice: &RepairChoice) -> String {
    let kept = format!(
        "keeps {} and {}, up to change {}{}",
        plural(choice.notes, "note"),
        plural(choice.links, "link"),
        choice.last_change,
        choice.until.map_or_else(String::new, |until| match choice.until_is_exact {
            true => format!(" of {until}"),
            false => format!(" of {until} or later"),
        }),
    );
    let ranges: Vec<String> = choice
        .lost_changes
        .iter()
        .map(|(from, to)| if from == to { from.to_string() } else { format!("{from} to {to}") })
        .collect();
    let lost = if ranges.is_empty() {
        "loses only the history of the damaged part".to_owned()
    } else {
        let fewer = match (choice.fewer_notes, choice.fewer_links) {
            (0, 0) => String::new(),
            (notes, links) => format!(", {} and {} fewer", plural(notes, "note"), plural(links, "link")),
        };
        let one = matches!(choice.lost_changes.as_slice(), [(from, to)] if from == to);
        format!("loses {} {}{fewer}", if one { "change" } else { "changes" }, ranges.join(", "))
    };
    format!(
        "{:<10} {}\n{:<10} {kept}\n{:<10} {lost}\n",
        choice.from.name(),
        choice.from.description(),
        "",
        ""
    )
}
