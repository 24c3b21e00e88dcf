//! The records of files after the undo of a sync, or of an import that gave notes the texts of their files.

use super::binding::{VAULT_KEY_BYTES, VaultBinding, VaultFile};
use super::digest::FileDigest;
use crate::Memory;
use crate::history::UNDO_OP;
use poc_graph::error::Result;
use poc_graph::{Node, NodeId, cancellation, content_hash};
use poc_store::{LoggedTransaction, Record, Records as _, Table, Transaction};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Restores the records of files to what they were before a transaction whose notes are restored, so that records and
/// notes agree. The files of the notes in `left`, which are not restored, keep their records. A record that changed
/// since loses its hash, because its note no longer has what was read from the file.
pub(crate) fn restore_files(
    tx: &mut Transaction<'_>,
    txn: &LoggedTransaction,
    left: &HashSet<NodeId>,
) -> Result<()> {
    for write in txn.writes.iter().filter(|write| write.table == Table::Vaults) {
        let Some((vault, path)) = write.key.split_at_checked(VAULT_KEY_BYTES) else { continue };
        // Files of a vault that was unbound since have no records.
        let Some(vault) = tx.get::<VaultBinding>(vault)?.filter(|_| !path.is_empty()) else { continue };
        let written = write.after.as_deref().or(write.before.as_deref());
        let node = written.map(VaultFile::decode).transpose()?.map(|file| file.node);
        if node.is_some_and(|node| left.contains(&node)) {
            continue;
        }
        let restored = match tx.get_raw(Table::Vaults, &write.key)? {
            now if now == write.before => continue,
            // The vault got the number of one that was unbound since.
            None if vault.bound > txn.cause.at => continue,
            now if now == write.after => write.before.clone(),
            Some(now) => {
                let file = VaultFile::decode(&now)?;
                if node != Some(file.node) {
                    continue;
                }
                let digest = FileDigest { bytes: FileDigest::NO_HASH, ..file.digest };
                Some(VaultFile { digest, ..file }.encode()?)
            }
            None => continue,
        };
        tx.put_raw(Table::Vaults, &write.key, restored)?;
    }
    // The undo of an undo may bring back a text that differs from the file, as if it had been written again.
    if txn.cause.op == UNDO_OP { Ok(()) } else { mark_undone_texts(tx, txn) }
}

/// Removes the hash from the records of files whose texts a transaction gave to their notes, if the undo of the
/// transaction took these texts away: the note no longer has what was read from the file.
fn mark_undone_texts(tx: &mut Transaction<'_>, txn: &LoggedTransaction) -> Result<()> {
    let mut undone: HashMap<NodeId, (Node, Node)> = HashMap::new();
    for write in txn.writes.iter().filter(|write| write.table == Table::Nodes) {
        let (Some(before), Some(after)) = (&write.before, &write.after) else { continue };
        let (before, after) = (Node::decode(before)?, Node::decode(after)?);
        let is_restored = |now: &Node| now.title == before.title && now.body == before.body;
        if let Some(now) = tx.node(before.id)?.filter(|now| is_restored(now) && !is_restored(&after)) {
            undone.insert(now.id, (after, now));
        }
    }
    if undone.is_empty() {
        return Ok(());
    }
    for (key, bytes) in tx.raw_range(Table::Vaults, &[])? {
        if key.len() <= VAULT_KEY_BYTES {
            continue;
        }
        let file = VaultFile::decode(&bytes)?;
        let Some((after, now)) = undone.get(&file.node) else { continue };
        let digest = &file.digest;
        if file.deleted_at.is_none()
            && digest.has_hash()
            && digest.is_text_of(after)
            && !digest.is_text_of(now)
        {
            // The digest describes the text that the note has, so that a sync finds the one of the file to be new.
            let content = content_hash(&now.title, &now.body, &digest.given.keywords);
            let digest = FileDigest { bytes: FileDigest::NO_HASH, content, ..digest.clone() };
            tx.put_raw(Table::Vaults, &key, Some(VaultFile { digest, ..file }.encode()?))?;
        }
    }
    Ok(())
}

/// The files of a vault whose records were written by undos after transaction `seq`.
pub(super) fn restored_since(memory: &Memory, vault: &VaultBinding, seq: u64) -> Result<BTreeSet<String>> {
    let store = &memory.store;
    let prefix = vault.key();
    let mut restored = BTreeSet::new();
    for later in store.first_seq().max(seq.saturating_add(1))..=store.published_seq() {
        cancellation::check()?;
        let Some(txn) = store.transaction(later)?.filter(|txn| txn.cause.op == UNDO_OP) else { continue };
        let files = txn.writes.iter().filter(|write| write.table == Table::Vaults);
        let paths = files.filter_map(|write| write.key.strip_prefix(&prefix));
        restored.extend(paths.map(|path| String::from_utf8_lossy(path).into_owned()));
    }
    Ok(restored)
}
