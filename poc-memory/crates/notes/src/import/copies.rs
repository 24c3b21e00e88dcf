//! Files with the same text, which are one note. The note has the names of all of them.

use super::references::without_extension;
use super::run::Import;
use super::stored::{StoreOutcome, StoredNote};
use crate::markdown_frame::MarkdownFrame;
use crate::{Draft, key};
use poc_graph::error::Result;
use poc_graph::{MAX_ALIASES, normal_key};
use poc_store::Transaction;

impl Import<'_> {
    /// Adds to the draft of a file the names that its note has from copies of the file, because the front matter does not
    /// contain them.
    pub(super) fn keep_names_of_copies(&self, draft: &mut Draft) -> Result<()> {
        let view = self.memory.store.view();
        let ix = draft.key.as_deref().and_then(|key| view.find_key(&normal_key(key)));
        let Some((ix, id)) = ix.and_then(|ix| Some((ix, view.id(ix)?))) else { return Ok(()) };
        // Most notes have no other names, so their frames need not be read.
        if view.other_names(ix).next().is_none() {
            return Ok(());
        }
        let frames = MarkdownFrame::all(&self.memory.store, id)?;
        let present = frames.iter().filter(|frame| !self.is_gone(frame));
        let copies: Vec<String> = present.filter_map(|frame| name_of(&frame.path)).collect();
        let is_kept = |name: &&str| copies.iter().any(|copy| copy == *name) && view.find_key(name).is_none();
        let kept = view.other_names(ix).filter(is_kept).map(str::to_owned);
        draft.other_names.get_or_insert_default().extend(kept);
        Ok(())
    }
}

/// Gives a note the name of a file with its text, and takes this name from the note whose text the file had before.
/// `key` is the key that the file gives its note: one that comes from the front matter takes the place of the name.
pub(super) fn name_after_file(
    tx: &mut Transaction<'_>,
    stored: &StoredNote,
    key: Option<&str>,
    frame: &MarkdownFrame,
) -> Result<()> {
    let is_key = |name: &String| key.is_some_and(|key| *normal_key(key) == **name);
    let Some(name) = name_of(&frame.path).filter(is_key) else { return Ok(()) };
    let view = tx.view();
    for ix in view.find_other_names_any_case(&name) {
        let Some(id) = view.id(ix).filter(|id| *id != stored.id) else { continue };
        let frames = MarkdownFrame::all(tx, id)?;
        let is_same =
            |other: &&MarkdownFrame| other.path == frame.path && other.provenance == frame.provenance;
        let Some(former) = frames.iter().find(is_same) else { continue };
        former.delete(tx, id)?;
        if let Some(mut node) = tx.node(id)? {
            node.other_names.retain(|other| *other != name);
            tx.put_node(&node)?;
        }
    }
    // The name of most files is the key of their note, which need not be read.
    if stored.outcome == StoreOutcome::Duplicate
        && tx.find_key(&name)?.is_none()
        && let Some(mut node) = tx.node(stored.id)?
        && node.other_names.len() < MAX_ALIASES
        && !node.other_names.contains(&name)
    {
        node.other_names.push(name);
        tx.put_node(&node)?;
    }
    Ok(())
}

/// The name that a note has from a file; `None` if its path cannot be a name.
fn name_of(path: &str) -> Option<String> {
    key::other_names([&without_extension(path).to_owned()]).pop()
}
