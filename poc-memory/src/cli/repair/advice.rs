//! What to do instead of a repair.

use poc_store::{has_undoable_repair, may_have_own_changes, quarantine_names};
use std::path::Path;

/// What to do with the damaged folder of a store that has a shared log; `None` if the folder may have changes that the
/// shared log lacks.
pub(in crate::cli) fn copy_advice(store: &Path) -> Option<String> {
    (!may_have_own_changes(store)).then(|| {
        format!(
            "`{}` is only a copy of the shared log: the next start that reaches the database restores it, or says which of \
             its changes the database may lack; to begin a new copy instead, stop the daemon and move this folder away",
            store.display()
        )
    })
}

/// What can be done with the quarantine of a store that no source can repair; `None` if it is empty.
pub(super) fn quarantine_advice(store: &Path) -> Option<&'static str> {
    if has_undoable_repair(store) {
        return Some("`poc-memory repair --undo --yes` brings back the files that the last repair replaced");
    }
    let is_empty = quarantine_names(store).is_ok_and(|names| names.is_empty());
    (!is_empty).then_some("to take notes from its `quarantine/`, move that folder into the new store")
}
