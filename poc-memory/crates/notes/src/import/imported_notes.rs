//! The notes that earlier imports have made from the rows of a file. They are recognised by what their rows keep when
//! they change: an id, or a title that no other row has.

use super::foreign::ForeignNote;
use crate::{Memory, key};
use poc_graph::error::Result;
use poc_graph::{Node, NodeId, cancellation, content_hash, normal_key, one_line};
use std::collections::{HashMap, HashSet};

/// The names that the rows of a file give their notes.
#[derive(Default)]
pub(super) struct RowNames {
    /// Number of rows with each title.
    titles: HashMap<String, usize>,
    keys: HashSet<String>,
}

impl RowNames {
    pub(super) fn add(&mut self, note: &ForeignNote) {
        if let Some(title) = own_title(note) {
            *self.titles.entry(title).or_default() += 1;
        }
        if let Some(key) = &note.draft.key {
            self.keys.insert(normal_key(key).into_owned());
        }
    }

    /// Whether a row updates the note that may have been made from it.
    pub(super) fn identify(&self, note: &ForeignNote, earlier: &EarlierNote) -> bool {
        let is_unique = || own_title(note).is_some_and(|title| self.titles.get(&title) == Some(&1));
        earlier.has_id || is_unique() && !self.keys.contains(&earlier.key)
    }
}

/// The title that a field of the row gives its note, as it is stored.
fn own_title(note: &ForeignNote) -> Option<String> {
    note.draft.title.as_deref().filter(|_| note.has_title).map(one_line)
}

/// A note that an earlier import may have made from a row.
pub(super) struct EarlierNote {
    id: NodeId,
    key: String,
    /// Whether it has the id or the key of the row; otherwise it has the title.
    has_id: bool,
}

/// The live notes that earlier imports with the same provenance have stored.
#[derive(Default)]
pub(super) struct ImportedNotes {
    provenance: String,
    /// Whether a title identifies a note. Texts without a file need not have the same source.
    has_titles: bool,
    keys: HashMap<NodeId, String>,
    by_title: HashMap<String, Vec<NodeId>>,
    /// By their other names, and by the ids and keys that their texts list: an earlier release only listed them.
    by_id: HashMap<String, Vec<NodeId>>,
    /// Those that a row of this import updates.
    updated: HashSet<NodeId>,
}

impl ImportedNotes {
    /// No notes, for a text without a file.
    pub(super) fn none(provenance: &str) -> ImportedNotes {
        ImportedNotes { provenance: provenance.to_owned(), ..ImportedNotes::default() }
    }

    /// The notes with a provenance, except those that this import has stored.
    pub(super) fn of(memory: &Memory, provenance: &str, stored: &HashSet<NodeId>) -> Result<ImportedNotes> {
        let mut imported = ImportedNotes { has_titles: true, ..ImportedNotes::none(provenance) };
        let view = memory.store.view();
        let is_imported = |ix: &u32| view.is_live(*ix) && view.provenance_name(*ix) == provenance;
        let ids = (0..view.slots()).filter(is_imported).filter_map(|ix| view.id(ix));
        for id in ids.filter(|id| !stored.contains(id)) {
            cancellation::check()?;
            if let Some(node) = memory.store.node(id)? {
                imported.add(node);
            }
        }
        Ok(imported)
    }

    fn add(&mut self, node: Node) {
        let listed = node.body.lines().filter_map(|line| match line.split_once(": ") {
            Some(("id" | "key", id)) => Some(normal_key(id).into_owned()),
            _ => None,
        });
        for id in node.other_names.iter().cloned().chain(listed) {
            let notes = self.by_id.entry(id).or_default();
            if !notes.contains(&node.id) {
                notes.push(node.id);
            }
        }
        self.by_title.entry(node.title).or_default().push(node.id);
        self.keys.insert(node.id, node.key);
    }

    /// The note that an earlier import may have made from a row, if the row does not have its key already. In a table
    /// that only lists its columns, an id is that of the table, so that it does not lead to notes from elsewhere.
    /// `is_key_used` is whether an earlier row of this import has a key.
    pub(super) fn find(
        &self,
        memory: &Memory,
        note: &mut ForeignNote,
        is_listed_table: bool,
        is_key_used: &dyn Fn(&str) -> bool,
    ) -> Result<Option<EarlierNote>> {
        let found = match note.draft.key.clone() {
            Some(given) if is_listed_table => self.find_by_id(memory, note, &given, is_key_used)?,
            None if self.has_titles => self.find_by_title(memory, note)?,
            _ => None,
        };
        let Some(earlier) = found else { return Ok(None) };
        // A row with the text of another note counts as a duplicate.
        let same = note_with_text(memory, note)?;
        Ok(Some(earlier).filter(|earlier| same.is_none_or(|same| same == earlier.id)))
    }

    /// Lets a row update its note.
    pub(super) fn update(&mut self, note: &mut ForeignNote, earlier: EarlierNote) {
        self.updated.insert(earlier.id);
        note.draft.key = Some(earlier.key);
        note.draft.update = true;
    }

    fn find_by_id(
        &self,
        memory: &Memory,
        note: &mut ForeignNote,
        given: &str,
        is_key_used: &dyn Fn(&str) -> bool,
    ) -> Result<Option<EarlierNote>> {
        let is_id = note.names.iter().any(|name| name == given);
        let owner = note_with_key(memory, given)?;
        let is_taken = match &owner {
            // Other rows may have the same id, most of all those of other tables of a folder.
            _ if is_id && is_key_used(given) => true,
            Some(_) if !is_id => return Ok(None),
            Some(owner) if self.is_imported(memory, owner)? => match note_with_text(memory, note)? {
                // The row of the note with the key may have been removed.
                Some(same) if same != owner.id => true,
                _ => return Ok(None),
            },
            owner => owner.is_some(),
        };
        if is_taken {
            // The id stays one of the other names, which other notes may have, too.
            note.names.retain(|name| name != given);
            note.aliases.push(given.to_owned());
            note.draft.key = None;
            note.draft.update = false;
        }
        let owner = owner.map(|owner| owner.id);
        let Some(notes) = self.by_id.get(&*normal_key(given)) else { return Ok(None) };
        let mut others = notes.iter().copied().filter(|id| Some(*id) != owner);
        let found = match (others.next(), others.next()) {
            (only, None) => only,
            // Another row may have been the source of any of them.
            _ => note_with_text(memory, note)?.filter(|same| Some(*same) != owner),
        };
        let Some(id) = found.filter(|id| !self.updated.contains(id)) else { return Ok(None) };
        if !is_id {
            note.draft.other_names.get_or_insert_default().push(given.to_owned());
        }
        Ok(self.earlier(id, true))
    }

    fn find_by_title(&self, memory: &Memory, note: &ForeignNote) -> Result<Option<EarlierNote>> {
        let Some(title) = own_title(note) else { return Ok(None) };
        for title in std::iter::once(&title).chain(&note.draft.former_title) {
            let mut notes = self.not_updated(self.by_title.get(title));
            if let Some(first) = notes.next() {
                // Another row may have been the source of either.
                return Ok(notes.next().is_none().then(|| self.earlier(first, false)).flatten());
            }
        }
        // A note whose text somebody has changed no longer has the provenance of its file.
        let Some(owner) = note_with_key(memory, &key::slug(&title))? else { return Ok(None) };
        let is_edited = owner.provenance != self.provenance && owner.state.is_live() && owner.title == title;
        if !is_edited || self.updated.contains(&owner.id) || !self.is_imported(memory, &owner)? {
            return Ok(None);
        }
        Ok(Some(EarlierNote { id: owner.id, key: owner.key, has_id: false }))
    }

    /// Those of some notes that no row of this import has updated.
    fn not_updated(&self, notes: Option<&Vec<NodeId>>) -> impl Iterator<Item = NodeId> {
        notes.into_iter().flatten().copied().filter(move |id| !self.updated.contains(id))
    }

    fn earlier(&self, id: NodeId, has_id: bool) -> Option<EarlierNote> {
        Some(EarlierNote { id, key: self.keys.get(&id)?.clone(), has_id })
    }

    /// Whether a note has been imported with this provenance.
    fn is_imported(&self, memory: &Memory, node: &Node) -> Result<bool> {
        if node.provenance == self.provenance {
            return Ok(true);
        }
        let changes = memory.store.history(node.id)?;
        Ok(changes.iter().any(|change| change.cause.actor == self.provenance))
    }
}

/// The live note with the text of a row.
fn note_with_text(memory: &Memory, note: &ForeignNote) -> Result<Option<NodeId>> {
    // An invalid draft is reported when it is prepared.
    let Ok(draft) = note.draft.clone().checked(&memory.config, memory.now()) else { return Ok(None) };
    let (title, body) = (draft.title.unwrap_or_default(), draft.body.unwrap_or_default());
    memory.store.find_hash(&content_hash(&title, &body, &draft.keywords.unwrap_or_default()))
}

/// The note with a key or former key, in any state.
fn note_with_key(memory: &Memory, key: &str) -> Result<Option<Node>> {
    let id = memory.store.find_key(&normal_key(key))?;
    Ok(id.map(|id| memory.store.node(id)).transpose()?.flatten())
}
