//! Backups that may have changes that no repair keeps.

use super::changes::changes_in_words;
use super::choice::RepairChoice;
use crate::ops::{plural, second};
use poc_graph::time::Timestamp;
use poc_notes::backup::KnownBackup;
use poc_notes::resolve::quoted;
use poc_store::{Repair, TransactionRange};
use serde::Serialize;
use std::path::PathBuf;

/// A backup of this memory that may have changes, or their history, that no repair keeps.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct FullerBackup {
    /// The folder or file that `backup` was given.
    path: PathBuf,
    generation: String,
    /// Number of live notes of all tenants.
    notes: u64,
    /// The number of its last change.
    last_change: u64,
    at: Timestamp,
    /// The ranges of changes that no source keeps.
    lost_changes: Vec<TransactionRange>,
    /// The ranges of changes whose result the records keep, but whose history no source keeps.
    lost_history: Vec<TransactionRange>,
    /// Whether its last change is in the log, too. Otherwise it may be from before an earlier repair, and have other
    /// changes with these numbers. Absent if the log has lost that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_log: Option<bool>,
}

impl FullerBackup {
    /// The backup, if it may have changes, or history, that none of the choices keeps.
    pub(super) fn of(repair: &Repair, backup: KnownBackup, choices: &[RepairChoice]) -> Option<FullerBackup> {
        let last = choices.iter().map(|choice| choice.last_change).max().unwrap_or(0);
        // The later choices keep nothing that the first one loses.
        let lost = choices.first().map_or(&[][..], |choice| choice.lost_changes.as_slice());
        let within = lost.iter().filter(|range| range.first <= last).copied();
        let ranges = within.chain(TransactionRange::new(last + 1, u64::MAX));
        let up_to_end =
            |range: TransactionRange| TransactionRange::new(range.first, range.last.min(backup.seq));
        let lost_changes: Vec<TransactionRange> = ranges.filter_map(up_to_end).collect();
        let is_lost = |history: &TransactionRange| lost.iter().any(|range| range.contains(*history));
        let history = repair.lost_history().into_iter().filter(|range| !is_lost(range));
        let own = TransactionRange::new(backup.base + 1, backup.seq);
        let lost_history: Vec<TransactionRange> =
            history.filter_map(|range| range.intersection(own?)).collect();
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

    /// The backup, and what it may have that the store lacks, as text for a person, in several lines.
    pub(super) fn text(&self) -> String {
        let (path, verb) =
            (self.path.display(), if self.same_log == Some(true) { "has" } else { "may have" });
        let quoted = quoted(&path.to_string());
        let named = |what: &str, ranges: &[TransactionRange]| {
            (!ranges.is_empty()).then(|| format!("the lost {what}{}", changes_in_words(ranges)))
        };
        let lost = [named("", &self.lost_changes), named("history of ", &self.lost_history)];
        let lost: Vec<String> = lost.into_iter().flatten().collect();
        let other = match self.same_log {
            Some(false) => {
                format!("{:<10} its change {} differs from that of this memory\n", "", self.last_change)
            }
            _ => String::new(),
        };
        format!(
            "{:<10} {path}\n{:<10} has {}, up to change {} of {}, and {verb} {}\n{other}{:<10} `poc-memory restore \
             {quoted} --into FOLDER` restores it beside this memory\n",
            "backup",
            "",
            plural(self.notes, "note"),
            self.last_change,
            second(self.at),
            lost.join(" and "),
            "",
        )
    }
}
