//! The notes that the actions of a run created, read from the log.

use super::definition::ActionKind;
use super::ledger::{ActionState, Run};
use poc_graph::error::Result;
use poc_notes::Memory;
use poc_store::{LoggedTransaction, Table};
use std::collections::BTreeMap;

/// For each applied action that created a note which is still stored, its index and the key of the note. Actions whose
/// transaction is no longer in the log are left out.
pub fn created_notes(memory: &Memory, run: &Run) -> Result<BTreeMap<usize, String>> {
    let memory = memory.of(&run.tenant);
    let mut created = BTreeMap::new();
    let mut last: Option<LoggedTransaction> = None;
    for (index, action) in run.actions.iter().enumerate() {
        let may_create = !matches!(action.kind, Some(ActionKind::LinkAdd | ActionKind::Weight));
        let is_relevant = may_create && action.state == ActionState::Applied;
        let Some(seq) = action.seq.filter(|_| is_relevant) else { continue };
        if last.as_ref().is_none_or(|txn| txn.seq != seq) {
            // The transaction of a dry run was not stored, so another transaction may have its number.
            last = memory.store.transaction(seq)?.filter(|txn| txn.cause.run == Some(run.id));
        }
        let Some(txn) = &last else { continue };
        let mut writes = txn.writes_in(action.writes).iter();
        let note = writes.find(|write| write.table == Table::Nodes && write.before.is_none());
        if let Some(id) = note.and_then(|write| write.node_id())
            && let Some(node) = memory.store.node(id)?
        {
            created.insert(index, node.key);
        }
    }
    Ok(created)
}
