//! The result of a repair.

use super::choice::RepairChoice;
use super::lost_note::{LostNoteRow, lost_notes_text};
use crate::ops::plural;
use poc_store::RestorableRecords;
use serde::{Serialize, Serializer};

/// What a repair has kept and replaced.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct RepairResult {
    pub(super) choice: RepairChoice,
    /// Notes that are lost, and of which a name or the id was left.
    pub(super) lost_notes: Vec<LostNoteRow>,
    /// The folder in `quarantine/` with the replaced files.
    pub(super) replaced: String,
    /// Numbers of records that can be read there and that the store lacks; absent if the files cannot be read.
    #[serde(flatten, serialize_with = "restorable_fields")]
    pub(super) restorable: Option<RestorableRecords>,
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

impl RepairResult {
    /// The result as text for a person.
    pub(super) fn text(&self) -> String {
        let replaced = &self.replaced;
        let listed = match self.lost_notes.is_empty() {
            true => String::new(),
            false => format!("{:<10} `poc-memory doctor quarantine show {replaced}` lists them\n", ""),
        };
        format!(
            "the store was repaired:\n{}{}{listed}the replaced files are in `quarantine/{replaced}`\n\
             {}`poc-memory repair --undo --yes` reverts the repair\n",
            self.choice.text(),
            lost_notes_text(&self.lost_notes),
            self.restorable_line()
        )
    }

    /// Whether something can be restored from the replaced files, and how. Empty if nothing was lost.
    fn restorable_line(&self) -> String {
        let Some(found) = self.restorable else { return "they cannot be read\n".to_owned() };
        if found == RestorableRecords::default() {
            return match self.choice.lost_changes.is_empty() {
                true => String::new(),
                false => "the store has every note and link that can be read there, and every visit, weight, message \
                          and run\n"
                    .to_owned(),
            };
        }
        let RestorableRecords { notes, links, visits, weights, messages, runs } = found;
        let others = [(visits, "visit"), (weights, "weight"), (messages, "message"), (runs, "run")];
        let mut named = vec![plural(notes, "note"), plural(links, "link")];
        named.extend(
            others.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| plural(count, name)),
        );
        let last = named.pop().unwrap_or_default();
        format!(
            "they have {} and {last} that the store lacks: `poc-memory doctor quarantine restore {}` restores them\n",
            named.join(", "),
            self.replaced
        )
    }
}
