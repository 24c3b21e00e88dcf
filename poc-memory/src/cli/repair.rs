//! `repair`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::ops::{plural, second};
use clap::ValueEnum;
use poc_graph::NodeId;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::{Clock as _, SystemClock, Timestamp};
use poc_notes::INDEX_FOLDERS;
use poc_notes::backup::{KnownBackup, KnownBackups, known_backups};
use poc_notes::resolve::quoted;
use poc_store::{
    LostNote, ReadablePart, Repair, RepairOption, RepairReport, RepairSource, RestorableRecords, atomic_file,
    has_undoable_repair, may_have_own_changes, quarantine_names, undo_repair,
};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Number of lost notes that are shown.
const SHOWN_NOTES: usize = 20;

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

/// The source of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RepairFrom {
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
        (RepairFrom::SoundLog, RepairSource::IntactLog),
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
    /// Whether the records cannot be used as a whole. Their intact blocks then keep a part of the lost changes.
    partial_records: bool,
    /// The notes that readable parts of the store have and this source does not keep, by part.
    missing_notes: Vec<MissingNotes>,
}

/// Notes of a part of the store that a source of a repair does not keep.
#[derive(Debug, Serialize)]
pub(super) struct MissingNotes {
    /// `records` or `view`.
    part: &'static str,
    /// The last change that the part reflects.
    last_change: u64,
    /// Number of notes that can be read in the part.
    notes: u64,
    /// Number of those that the source does not keep.
    missing: u64,
}

/// A note that no source keeps, and of which a name or the id is left. A lost change may have deleted it.
#[derive(Debug, Serialize)]
pub(super) struct LostNoteRow {
    id: NodeId,
    /// Its key or one of its aliases.
    name: Option<String>,
    /// Absent for the default tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

impl LostNoteRow {
    pub(super) fn of(note: &LostNote) -> LostNoteRow {
        LostNoteRow {
            id: note.id,
            name: note.name.clone(),
            tenant: (!note.tenant.is_default()).then(|| note.tenant.to_string()),
        }
    }

    /// The name, or the id if no name is left.
    pub(super) fn shown(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// A backup of this memory that may have changes, or their history, that no source of a repair keeps.
#[derive(Debug, Serialize)]
pub(super) struct FullerBackup {
    /// The folder or file that `backup` was given.
    path: PathBuf,
    generation: String,
    /// Number of live notes of all tenants.
    notes: u64,
    /// The number of its last change.
    last_change: u64,
    at: Timestamp,
    /// The ranges of changes that no source keeps: first and last number of each.
    lost_changes: Vec<(u64, u64)>,
    /// The ranges of changes whose result the records keep, but whose history no source keeps.
    lost_history: Vec<(u64, u64)>,
    /// Whether its last change is in the log, too. Otherwise it may be from before an earlier repair, and have other
    /// changes with these numbers. Absent if the log has lost that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_log: Option<bool>,
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
    Choices {
        /// A description of the damage.
        damage: String,
        /// What to do instead of a repair, if the store is only a copy of a shared log.
        #[serde(skip)]
        copy_advice: Option<String>,
        /// The last change that any part of the store knows of, if the log has lost its end: later ones are lost.
        lost_after: Option<u64>,
        choices: Vec<RepairChoice>,
        /// Notes that no choice keeps, and of which a name or the id is left.
        lost_notes: Vec<LostNoteRow>,
        /// The newest backup in each known destination, if it may have changes, or history, that no choice keeps.
        backups: Vec<FullerBackup>,
        /// Known destinations without a readable backup, for example because their disk is not mounted. The list of
        /// destinations itself if it cannot be read.
        unread_backups: Vec<PathBuf>,
        /// If there is no choice, what can be done with the quarantine.
        #[serde(skip)]
        quarantine_advice: Option<&'static str>,
    },
    /// The store was repaired.
    Repaired {
        choice: RepairChoice,
        /// Notes that are lost, and of which a name or the id was left.
        lost_notes: Vec<LostNoteRow>,
        /// The folder in `quarantine/` with the replaced files.
        replaced: String,
        /// Numbers of records that can be read there and that the store lacks; absent if the files cannot be read.
        #[serde(flatten, serialize_with = "restorable_fields")]
        restorable: Option<RestorableRecords>,
    },
    /// A repair was undone.
    Undone {
        /// The folder in `quarantine/` with the files that the repair had created.
        replaced: String,
    },
}

/// Serialises each number as a field `restorable_…`.
fn restorable_fields<S: Serializer>(
    restorable: &Option<RestorableRecords>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(RestorableRecords { notes, links, visits, weights, messages, runs }) = *restorable else {
        return serializer.serialize_none();
    };
    serializer.collect_map([
        ("restorable_notes", notes),
        ("restorable_links", links),
        ("restorable_visits", visits),
        ("restorable_weights", weights),
        ("restorable_messages", messages),
        ("restorable_runs", runs),
    ])
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
        let mut choices = choices(&repair.options()?, &repair.parts());
        let Some(from) = self.from else {
            return Ok(choices_output(context, &repair, choices, advice));
        };
        let offered: Vec<String> = choices.iter().map(|choice| format!("`{}`", choice.from.name())).collect();
        choices.retain(|choice| choice.from == from);
        let source = RepairFrom::ALL.into_iter().find_map(|(name, source)| (name == from).then_some(source));
        let (Some(choice), Some(source)) = (choices.pop(), source) else {
            let (because, hint) = match (&advice, offered.is_empty()) {
                (Some(advice), _) => (
                    ": it is a copy of a shared log, and would become another memory than that",
                    advice.clone(),
                ),
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
            return Err(Error::invalid(message).hint(hint).field("from"));
        };
        if !self.yes {
            return Err(Error::invalid("the store was not repaired")
                .hint(
                    "repeat the command with `--yes`; `poc-memory repair` shows what each choice keeps and loses",
                )
                .field("yes"));
        }
        let lost_notes = lost_notes(&repair);
        let RepairReport { replaced, restorable } = repair.run(source, SystemClock.now(), &INDEX_FOLDERS)?;
        forget_verification(context);
        Ok(RepairOutput::Repaired { choice, lost_notes, replaced, restorable })
    }

    fn show(output: &RepairOutput) -> String {
        match output {
            RepairOutput::NotDamaged { .. } => {
                "the store is not damaged: there is nothing to repair\n".to_owned()
            }
            RepairOutput::Choices {
                damage,
                copy_advice,
                lost_after,
                choices,
                lost_notes,
                backups,
                unread_backups,
                quarantine_advice,
            } => {
                let copy = copy_advice.as_ref().map_or_else(String::new, |advice| format!("{advice}\n\n"));
                let end = lost_after.map_or_else(String::new, |last| {
                    format!(
                        "the end of the log is missing: if there were changes after {last}, only a backup can contain \
                         them\n\n"
                    )
                });
                let mut lines: String = choices.iter().map(choice_lines).collect();
                lines += &lost_notes_lines(lost_notes);
                lines.extend(backups.iter().map(backup_lines));
                let unread = unread_backups.iter().map(|path| {
                    format!(
                        "`{}` cannot be read now: it has no readable backup, or it is the list of the backups\n",
                        path.display()
                    )
                });
                lines.extend(unread);
                if !lines.is_empty() {
                    lines.push('\n');
                }
                let rest = if choices.is_empty() && copy_advice.is_some() {
                    "nothing was changed\n"
                } else if choices.is_empty() {
                    "neither the log nor the records can be read: move the folder of the store away and restore a \
                     backup; without a backup, the next command begins an empty memory\n"
                } else {
                    "nothing was changed; `poc-memory repair --from SOURCE --yes` repairs the store, and \
                     `poc-memory repair --undo --yes` reverts that\n"
                };
                let advice = quarantine_advice.map_or_else(String::new, |advice| format!("{advice}\n"));
                format!("{damage}\n\n{copy}{end}{lines}{rest}{advice}")
            }
            RepairOutput::Repaired { choice, lost_notes, replaced, restorable } => {
                let listed = match lost_notes.is_empty() {
                    true => String::new(),
                    false => {
                        format!("{:<10} `poc-memory doctor quarantine show {replaced}` lists them\n", "")
                    }
                };
                format!(
                    "the store was repaired:\n{}{}{listed}the replaced files are in `quarantine/{replaced}`\n\
                     {}`poc-memory repair --undo --yes` reverts the repair\n",
                    choice_lines(choice),
                    lost_notes_lines(lost_notes),
                    restorable_line(choice, replaced, *restorable)
                )
            }
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

/// The output that lists these choices, when nothing was changed.
fn choices_output(
    context: &CommandContext,
    repair: &Repair,
    choices: Vec<RepairChoice>,
    copy_advice: Option<String>,
) -> RepairOutput {
    if copy_advice.is_some() {
        // The shared log has what the folder has lost.
        return RepairOutput::Choices {
            damage: repair.damage().to_owned(),
            copy_advice,
            lost_after: None,
            choices,
            lost_notes: Vec::new(),
            backups: Vec::new(),
            unread_backups: Vec::new(),
            quarantine_advice: None,
        };
    }
    let KnownBackups { found, unread } = known_backups(&context.paths);
    let quarantine_advice = if choices.is_empty() { quarantine_advice(&context.paths.store()) } else { None };
    RepairOutput::Choices {
        damage: repair.damage().to_owned(),
        copy_advice,
        lost_after: repair.lost_end(),
        lost_notes: lost_notes(repair),
        backups: found.into_iter().filter_map(|backup| fuller_backup(repair, backup, &choices)).collect(),
        unread_backups: unread,
        quarantine_advice,
        choices,
    }
}

fn lost_notes(repair: &Repair) -> Vec<LostNoteRow> {
    repair.lost_notes().iter().map(LostNoteRow::of).collect()
}

/// Names lost notes by a name or the id. Empty if there are none.
fn lost_notes_lines(notes: &[LostNoteRow]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let shown = notes.iter().take(SHOWN_NOTES).map(|note| format!("`{}`", note.shown()));
    let mut named = shown.collect::<Vec<_>>().join(", ");
    if notes.len() > SHOWN_NOTES {
        named += &format!(" and {} more (`--json` lists all)", notes.len() - SHOWN_NOTES);
    }
    let (verb, object) = if notes.len() == 1 { ("is", "it") } else { ("are", "them") };
    format!(
        "{:<10} {} {verb} lost, unless a lost change had deleted {object}\n{:<10} no readable part of the store has more \
         than a name or the id: {named}\n",
        "lost",
        plural(notes.len() as u64, "note"),
        "",
    )
}

/// What to do instead of a repair with the damaged folder of a store that has a shared log; `None` if the folder may have
/// changes that the shared log lacks.
pub(super) fn copy_advice(store: &Path) -> Option<String> {
    (!may_have_own_changes(store)).then(|| {
        format!(
            "`{}` is only a copy of the shared log: the next start that reaches the database restores it, or says which of \
             its changes the database may lack; to begin a new copy instead, stop the daemon and move this folder away",
            store.display()
        )
    })
}

/// What can be done with the quarantine of a store that no source can repair; `None` if it is empty.
fn quarantine_advice(store: &Path) -> Option<&'static str> {
    if has_undoable_repair(store) {
        return Some("`poc-memory repair --undo --yes` brings back the files that the last repair replaced");
    }
    let is_empty = quarantine_names(store).is_ok_and(|names| names.is_empty());
    (!is_empty).then_some("to take notes from its `quarantine/`, move that folder into the new store")
}

/// The backup, if it may have changes, or history, that none of the choices keeps.
fn fuller_backup(repair: &Repair, backup: KnownBackup, choices: &[RepairChoice]) -> Option<FullerBackup> {
    let last = choices.iter().map(|choice| choice.last_change).max().unwrap_or(0);
    // The later choices keep nothing that the first one loses.
    let lost = choices.first().map_or(&[][..], |choice| choice.lost_changes.as_slice());
    let within = lost.iter().filter(|(from, _)| *from <= last).copied();
    let ranges = within.chain([(last + 1, u64::MAX)]);
    let in_backup = |(from, to): (u64, u64)| (from, to.min(backup.seq));
    let is_range = |(from, to): &(u64, u64)| from <= to;
    let lost_changes: Vec<(u64, u64)> = ranges.map(in_backup).filter(is_range).collect();
    let is_lost = |(from, to): &(u64, u64)| lost.iter().any(|(first, last)| first <= from && to <= last);
    let history = repair.lost_history().into_iter().filter(|range| !is_lost(range));
    let history = history.map(|(from, to)| (from.max(backup.base + 1), to));
    let lost_history: Vec<(u64, u64)> = history.map(in_backup).filter(is_range).collect();
    // If the log cannot be read, nothing is known about the backup.
    let same_log =
        backup.checksum.and_then(|checksum| repair.has_record(backup.seq, checksum).ok().flatten());
    (!lost_changes.is_empty() || !lost_history.is_empty()).then_some(FullerBackup {
        path: backup.destination,
        generation: backup.generation,
        notes: backup.notes,
        last_change: backup.seq,
        at: backup.at,
        lost_changes,
        lost_history,
        same_log,
    })
}

/// A backup and what it may have that the store lacks, in several lines.
fn backup_lines(backup: &FullerBackup) -> String {
    let (path, verb) =
        (backup.path.display(), if backup.same_log == Some(true) { "has" } else { "may have" });
    let quoted = quoted(&path.to_string());
    let named = |what: &str, all: &[(u64, u64)]| {
        (!all.is_empty()).then(|| format!("the lost {what}{} {}", change_word(all), ranges(all)))
    };
    let lost = [named("", &backup.lost_changes), named("history of ", &backup.lost_history)];
    let lost: Vec<String> = lost.into_iter().flatten().collect();
    let other = match backup.same_log {
        Some(false) => {
            format!("{:<10} its change {} differs from that of this memory\n", "", backup.last_change)
        }
        _ => String::new(),
    };
    format!(
        "{:<10} {path}\n{:<10} has {}, up to change {} of {}, and {verb} {}\n{other}{:<10} `poc-memory restore {quoted} \
         --into FOLDER` restores it beside this memory\n",
        "backup",
        "",
        plural(backup.notes, "note"),
        backup.last_change,
        second(backup.at),
        lost.join(" and "),
        "",
    )
}

/// Whether something can be restored from the replaced files, and how. Empty if nothing was lost.
fn restorable_line(choice: &RepairChoice, replaced: &str, restorable: Option<RestorableRecords>) -> String {
    let Some(found) = restorable else { return "they cannot be read\n".to_owned() };
    if found == RestorableRecords::default() {
        return match choice.lost_changes.is_empty() {
            true => String::new(),
            false => "the store has every note and link that can be read there, and every visit, weight, message and run\n"
                .to_owned(),
        };
    }
    let RestorableRecords { notes, links, visits, weights, messages, runs } = found;
    let others = [(visits, "visit"), (weights, "weight"), (messages, "message"), (runs, "run")];
    let mut named = vec![plural(notes, "note"), plural(links, "link")];
    named.extend(others.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| plural(count, name)));
    let last = named.pop().unwrap_or_default();
    format!(
        "they have {} and {last} that the store lacks: `poc-memory doctor quarantine restore {replaced}` restores them\n",
        named.join(", ")
    )
}

/// Deletes the result of the last verification, because it is about the replaced files. The daemon verifies
/// again soon.
fn forget_verification(context: &CommandContext) {
    if let Err(error) = atomic_file::remove(&context.paths.verification()) {
        tracing::warn!("the problems of the last verification stay listed until the next one: {error}");
    }
}

/// The choices of a person, from the sources of a repair and the readable parts of the store.
fn choices(options: &[RepairOption], parts: &[ReadablePart]) -> Vec<RepairChoice> {
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
            partial_records: option.is_partial,
            missing_notes: parts
                .iter()
                .zip(&option.missing_notes)
                .map(|(part, missing)| MissingNotes {
                    part: part.name,
                    last_change: part.last_seq,
                    notes: part.notes,
                    missing: *missing,
                })
                .collect(),
        })
    };
    options.iter().filter_map(choice).collect()
}

/// What one source of a repair keeps and loses, in several lines.
fn choice_lines(choice: &RepairChoice) -> String {
    let kept = format!(
        "keeps {} and {}, up to change {}{}",
        plural(choice.notes, "note"),
        plural(choice.links, "link"),
        choice.last_change,
        choice.until.map_or_else(String::new, |until| match choice.until_is_exact {
            true => format!(" of {}", second(until)),
            false => format!(" of {} or later", second(until)),
        }),
    );
    let lost = if choice.lost_changes.is_empty() {
        "loses only the history of the damaged part".to_owned()
    } else {
        let fewer = match (choice.fewer_notes, choice.fewer_links) {
            (0, 0) => String::new(),
            (notes, 0) => format!("; has {} fewer", plural(notes, "note")),
            (0, links) => format!("; has {} fewer", plural(links, "link")),
            (notes, links) => format!("; has {} and {} fewer", plural(notes, "note"), plural(links, "link")),
        };
        let what = change_word(&choice.lost_changes);
        let kept = match choice.partial_records {
            true => {
                ", except for what those blocks have: a note may be older than it was, or back although it was \
                     deleted"
            }
            false => "",
        };
        format!("loses {what} {}{kept}{fewer}", ranges(&choice.lost_changes))
    };
    let description = match choice.partial_records {
        true => "the intact blocks of the records, and every readable change of the log",
        false => choice.from.description(),
    };
    let missing = choice.missing_notes.iter().filter(|part| part.missing > 0).map(|part| {
        format!(
            "{:<10} lacks {} of the {} that can be read in `{}`, up to change {}\n",
            "",
            part.missing,
            plural(part.notes, "note"),
            part.part,
            part.last_change
        )
    });
    format!(
        "{:<10} {}\n{:<10} {kept}\n{:<10} {lost}\n{}",
        choice.from.name(),
        description,
        "",
        "",
        missing.collect::<String>()
    )
}

/// The word before the [`ranges`] of changes.
fn change_word(all: &[(u64, u64)]) -> &'static str {
    if matches!(all, [(from, to)] if from == to) { "change" } else { "changes" }
}

/// Ranges of changes in words, such as `3, 8 to 10`.
fn ranges(all: &[(u64, u64)]) -> String {
    let range =
        |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    all.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_notes_are_named_by_a_name_or_the_id() {
        let id = |number: u8| NodeId::from_bytes([number; 16]);
        let row = |number: u8, name: Option<String>| LostNoteRow { id: id(number), name, tenant: None };
        assert_eq!(lost_notes_lines(&[]), "");
        let lines = lost_notes_lines(&[row(1, Some("quay".to_owned())), row(2, None)]);
        assert!(
            lines.starts_with("lost       2 notes are lost, unless a lost change had deleted them\n"),
            "{lines}"
        );
        assert!(lines.ends_with(&format!("or the id: `quay`, `{}`\n", id(2))), "{lines}");
        let many: Vec<LostNoteRow> = (0..25).map(|number| row(number, Some(format!("n{number}")))).collect();
        let lines = lost_notes_lines(&many);
        assert!(lines.ends_with("`n19` and 5 more (`--json` lists all)\n"), "{lines}");
    }

    #[test]
    fn one_change_is_not_called_changes() {
        assert_eq!((change_word(&[(8, 8)]), change_word(&[(8, 9)])), ("change", "changes"));
        assert_eq!(change_word(&[(3, 3), (8, 8)]), "changes");
    }
}
