//! Recognises notes that were changed in the memory and not in their source.

use super::run::{CAPTURE_OP, IMPORT_OP};
use crate::draft::Draft;
use crate::{Memory, insert_plan};
use poc_graph::error::Result;
use poc_graph::normal_key;
use poc_store::LoggedChangeKind;

/// Whether an earlier import or capture wrote the same draft, and somebody else has changed the note since.
///
/// If the history was compacted, this is unknown, and the draft counts as new.
pub(super) fn is_outdated(memory: &Memory, draft: &Draft) -> Result<bool> {
    let Some(key) = draft.key.as_deref().filter(|_| draft.update) else { return Ok(false) };
    let (store, now) = (&memory.store, memory.now());
    let id = store.find_key(&normal_key(key))?;
    let Some(stored) = id.map(|id| store.node(id)).transpose()?.flatten() else { return Ok(false) };
    // An invalid draft is reported when it is prepared.
    let Ok(draft) = draft.clone().checked(&memory.config, now) else { return Ok(false) };
    if !insert_plan::changes(&stored, &draft, now) {
        return Ok(false);
    }
    let (mut imported, mut is_imported) = (None, false);
    for change in store.history(stored.id)? {
        match change.kind {
            // A change of only the other names does not hide an earlier change of the text.
            LoggedChangeKind::Changed { before, after } if insert_plan::is_same_version(&before, &after) => {
                continue;
            }
            LoggedChangeKind::Changed { before, .. } if is_imported => imported = Some(before),
            _ => {}
        }
        is_imported = [IMPORT_OP, CAPTURE_OP].contains(&change.cause.op.as_str());
    }
    Ok(!is_imported && imported.is_some_and(|imported| !insert_plan::changes(&imported, &draft, now)))
}
