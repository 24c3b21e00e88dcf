//! Files whose notes were deleted in the memory: by hand, by an undo or by a sync with a remote.
//!
//! The records of such files stay, so that a deletion that is undone leaves nothing to do. Until then, the files count
//! as files without a record. The daemon leaves them alone until they change; a sync that a person starts makes their
//! notes again.

use super::binding::{VAULT_KEY_BYTES, VaultFile, VaultFiles};
use crate::Memory;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_store::{Record, Records as _, Table, Write};
use std::collections::{BTreeSet, HashSet};

/// Removes the records of the files whose notes were deleted, and returns their paths.
pub(super) fn take_without_note(memory: &Memory, records: &mut VaultFiles) -> Result<BTreeSet<String>> {
    let (view, now) = (memory.store.view(), memory.now());
    let mut without_note = BTreeSet::new();
    for (path, record) in records.iter() {
        // The note of such a file is deleted some time after it has expired.
        let is_expired = record.digest.given.expires.is_some_and(|at| at <= now);
        if record.deleted_at.is_none()
            && !is_expired
            && view.find(record.node).is_none()
            // The record may be newer than the view.
            && memory.store.node(record.node)?.is_none()
        {
            without_note.insert(path.clone());
        }
    }
    records.retain(|path, _| !without_note.contains(path));
    Ok(without_note)
}

/// Whether some writes deleted notes of files of vaults.
pub(crate) fn deletes_notes_of_files(memory: &Memory, writes: &[Write]) -> Result<bool> {
    let of_nodes = writes.iter().filter(|write| write.table == Table::Nodes && write.after.is_none());
    let deleted: HashSet<NodeId> = of_nodes.filter_map(Write::node_id).collect();
    if deleted.is_empty() {
        return Ok(false);
    }
    for (key, bytes) in memory.store.raw_range(Table::Vaults, &[])? {
        if key.len() > VAULT_KEY_BYTES {
            let file = VaultFile::decode(&bytes)?;
            if file.deleted_at.is_none() && deleted.contains(&file.node) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
