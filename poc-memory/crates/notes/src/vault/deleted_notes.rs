//! Files whose notes were deleted in the memory: by hand, by an undo or by a sync with a remote.
//!
//! The records of such files stay, so that a deletion that is undone leaves nothing to do. Until then, the files count
//! as files without a record. The daemon leaves them alone until they change; a sync that a person starts makes their
//! notes again.

use super::binding::{VAULT_KEY_BYTES, VaultFile, VaultFiles};
use super::plan::Digests;
use crate::Memory;
use poc_graph::error::Result;
use poc_graph::{NodeId, View};
use poc_store::{Record, Records as _, Table, Write};
use std::collections::{BTreeSet, HashSet};

/// Removes the records of the files whose notes were deleted, and returns their paths.
pub(super) fn take_without_note(memory: &Memory, records: &mut VaultFiles) -> Result<BTreeSet<String>> {
    let (view, now) = (memory.store.view(), memory.now());
    let mut without_note = BTreeSet::new();
    for (path, record) in records.iter() {
        // The note of such a file is deleted some time after it has expired.
        let is_expired = record.digest.given.expires.is_some_and(|at| at <= now);
        if record.deleted_at.is_none() && !is_expired && is_deleted(memory, &view, record.node)? {
            without_note.insert(path.clone());
        }
    }
    records.retain(|path, _| !without_note.contains(path));
    Ok(without_note)
}

/// Removes the records of files that have changed since their notes expired and were deleted. Such a file gets a new
/// note.
pub(super) fn drop_changed(memory: &Memory, records: &mut VaultFiles, files: &Digests) -> Result<()> {
    let view = memory.store.view();
    for (path, digest) in files {
        if let Some(record) = records.get(path)
            && record.deleted_at.is_none()
            && record.digest.bytes != digest.bytes
            && is_deleted(memory, &view, record.node)?
        {
            records.remove(path);
        }
    }
    Ok(())
}

/// Whether a note of a record does not exist. The record may be newer than the view.
fn is_deleted(memory: &Memory, view: &View, node: NodeId) -> Result<bool> {
    Ok(view.find(node).is_none() && memory.store.node(node)?.is_none())
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
