//! Recognises notes that were changed in the memory and not in their source.

use super::kept_keywords;
use super::run::{CAPTURE_OP, IMPORT_OP};
use crate::draft::Draft;
use crate::{Memory, insert_plan};
use poc_graph::Node;
use poc_graph::error::Result;
use poc_store::LoggedChangeKind;

/// Whether an earlier import or capture wrote the same draft of the note `stored`, and somebody else has changed the note
/// since. Keywords count only if the source has `removed` them: see [`kept_keywords`].
///
/// If the history was compacted, this is unknown, and the draft counts as new.
pub(super) fn is_outdated(memory: &Memory, stored: &Node, draft: &Draft, removed: &[String]) -> Result<bool> {
    let now = memory.now();
    // An invalid draft is reported when it is prepared.
    let Ok(draft) = draft.clone().checked(&memory.config, now) else { return Ok(false) };
    let changes = |node: &Node| {
        let mut draft = draft.clone();
        kept_keywords::keep(&mut draft, node, removed);
        insert_plan::changes(node, &draft, now)
    };
    if !changes(stored) {
        return Ok(false);
    }
    let (mut imported, mut is_imported) = (None, false);
    for change in memory.store.history(stored.id)? {
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
    Ok(!is_imported && imported.is_some_and(|imported| !changes(&imported)))
}
