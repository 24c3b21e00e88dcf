//! Notes that no repair keeps.

use crate::ops::plural;
use poc_graph::NodeId;
use poc_store::{LostNote, Repair};
use serde::Serialize;

/// Number of lost notes that are shown.
const SHOWN_NOTES: usize = 20;

/// A note that no source keeps, and of which a name or the id is left. A lost change may have deleted it.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct LostNoteRow {
    id: NodeId,
    /// Its key or one of its aliases.
    name: Option<String>,
    /// Absent for the default tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

impl LostNoteRow {
    pub(in crate::cli) fn of(note: &LostNote) -> LostNoteRow {
        LostNoteRow {
            id: note.id,
            name: note.name.clone(),
            tenant: (!note.tenant.is_default()).then(|| note.tenant.to_string()),
        }
    }

    /// The notes that no repair of a store keeps.
    pub(super) fn all_of(repair: &Repair) -> Vec<LostNoteRow> {
        repair.lost_notes().iter().map(LostNoteRow::of).collect()
    }

    /// The name, or the id if no name is left.
    pub(in crate::cli) fn shown(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// Lost notes as text for a person, in several lines. Empty if there are none.
pub(super) fn lost_notes_text(notes: &[LostNoteRow]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_notes_are_named_by_a_name_or_the_id() {
        let id = |number: u8| NodeId::from_bytes([number; 16]);
        let row = |number: u8, name: Option<String>| LostNoteRow { id: id(number), name, tenant: None };
        assert_eq!(lost_notes_text(&[]), "");
        let lines = lost_notes_text(&[row(1, Some("quay".to_owned())), row(2, None)]);
        assert!(
            lines.starts_with("lost       2 notes are lost, unless a lost change had deleted them\n"),
            "{lines}"
        );
        assert!(lines.ends_with(&format!("or the id: `quay`, `{}`\n", id(2))), "{lines}");
        let many: Vec<LostNoteRow> = (0..25).map(|number| row(number, Some(format!("n{number}")))).collect();
        let lines = lost_notes_text(&many);
        assert!(lines.ends_with("`n19` and 5 more (`--json` lists all)\n"), "{lines}");
    }
}
