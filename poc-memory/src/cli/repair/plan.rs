//! The choices that a person has before a repair.

use super::advice::quarantine_advice;
use super::choice::RepairChoice;
use super::fuller_backup::FullerBackup;
use super::lost_note::{LostNoteRow, lost_notes_text};
use poc_config::paths::Paths;
use poc_notes::backup::{KnownBackups, known_backups};
use poc_store::Repair;
use serde::Serialize;
use std::path::PathBuf;

/// What is damaged, and what can be done.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct RepairPlan {
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
}

impl RepairPlan {
    /// The plan with these choices. `copy_advice` is what to do instead, if the store is only a copy of a shared log.
    pub(super) fn of(
        paths: &Paths,
        repair: &Repair,
        choices: Vec<RepairChoice>,
        copy_advice: Option<String>,
    ) -> RepairPlan {
        if copy_advice.is_some() {
            // The shared log has what the folder has lost.
            return RepairPlan {
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
        let KnownBackups { found, unread } = known_backups(paths);
        let fuller = |backup| FullerBackup::of(repair, backup, &choices);
        RepairPlan {
            damage: repair.damage().to_owned(),
            copy_advice,
            lost_after: repair.lost_end(),
            lost_notes: LostNoteRow::all_of(repair),
            backups: found.into_iter().filter_map(fuller).collect(),
            unread_backups: unread,
            quarantine_advice: if choices.is_empty() { quarantine_advice(&paths.store()) } else { None },
            choices,
        }
    }

    /// The plan as text for a person.
    pub(super) fn text(&self) -> String {
        let copy = self.copy_advice.as_ref().map_or_else(String::new, |advice| format!("{advice}\n\n"));
        let end = self.lost_after.map_or_else(String::new, |last| {
            format!(
                "the end of the log is missing: if there were changes after {last}, only a backup can contain them\n\n"
            )
        });
        let mut lines: String = self.choices.iter().map(RepairChoice::text).collect();
        lines += &lost_notes_text(&self.lost_notes);
        lines.extend(self.backups.iter().map(FullerBackup::text));
        lines.extend(self.unread_backups.iter().map(|path| {
            format!(
                "`{}` cannot be read now: it has no readable backup, or it is the list of the backups\n",
                path.display()
            )
        }));
        if !lines.is_empty() {
            lines.push('\n');
        }
        let advice = self.quarantine_advice.map_or_else(String::new, |advice| format!("{advice}\n"));
        format!("{}\n\n{copy}{end}{lines}{}{advice}", self.damage, self.next_step())
    }

    /// What can be done next, in one line.
    fn next_step(&self) -> &'static str {
        match (self.choices.is_empty(), &self.copy_advice) {
            (true, Some(_)) => "nothing was changed\n",
            (true, None) => {
                "neither the log nor the records can be read: move the folder of the store away and restore a backup; \
                 without a backup, the next command begins an empty memory\n"
            }
            (false, _) => {
                "nothing was changed; `poc-memory repair --from SOURCE --yes` repairs the store, and \
                 `poc-memory repair --undo --yes` reverts that\n"
            }
        }
    }
}
