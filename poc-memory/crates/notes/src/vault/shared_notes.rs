//! Notes that files of several vaults have, because the files have the same text. One of the vaults owns such a note.

use super::binding::{FileElsewhere, VaultFile, put_file};
use super::sync::VaultSync;
use poc_graph::NodeId;
use poc_graph::error::Result;
use std::collections::{BTreeSet, HashSet};

impl VaultSync<'_> {
    /// Whether a file of another vault has the note.
    pub(super) fn is_elsewhere(&self, node: NodeId) -> bool {
        self.files_elsewhere.contains_key(&node)
    }

    /// The names that a note has from files of other vaults.
    pub(super) fn names_elsewhere(&self, node: NodeId) -> Vec<String> {
        let files = self.files_elsewhere.get(&node).into_iter().flatten();
        files.map(|elsewhere| elsewhere.file.name.clone()).collect()
    }

    /// Gives the notes that no file of this vault has any more to a vault whose files still have them. Without an
    /// owner, they would no longer follow these files.
    pub(super) fn hand_over(&self) -> Result<()> {
        let kept: HashSet<NodeId> = self.plan.groups.iter().filter_map(|group| group.node).collect();
        let own = self.records.values().filter(|record| record.is_own && record.deleted_at.is_none());
        let lost: BTreeSet<NodeId> =
            own.map(|record| record.node).filter(|node| !kept.contains(node)).collect();
        let mut given: Vec<&FileElsewhere> = Vec::new();
        for files in lost.iter().filter_map(|node| self.files_elsewhere.get(node)) {
            if let Some(first) = files.first()
                && !files.iter().any(|elsewhere| elsewhere.file.is_own)
            {
                given.extend(files.iter().filter(|elsewhere| elsewhere.vault.number == first.vault.number));
            }
        }
        if given.is_empty() {
            return Ok(());
        }
        self.transact(|tx, _| {
            given.iter().try_for_each(|elsewhere| {
                let file = VaultFile { is_own: true, ..elsewhere.file.clone() };
                put_file(tx, &elsewhere.vault, &elsewhere.path, Some(&file))
            })
        })
    }
}
