//! What the copies of a sync have changed so far.

use super::Sync;
use super::inventory::{Inventory, InventoryNote};
use super::keys::CopyRename;
use super::plan::CopyTarget;
use super::report::KeyRename;
use super::transfer::CopyResult;
use poc_graph::NodeId;
use poc_graph::error::Result;

/// What copying has changed so far.
#[derive(Default)]
pub(super) struct CopyResults {
    /// Number of pulled notes.
    pub(super) pulled: u64,
    /// Number of pushed notes.
    pub(super) pushed: u64,
    /// Number of local notes whose text was replaced.
    pub(super) replaced: u64,
    /// Copied notes that did not keep their keys.
    pub(super) renamed: Vec<CopyRename>,
    /// The displaced texts.
    pub(super) displaced: Vec<DisplacedText>,
}

/// The earlier of two edits of a note.
pub(super) struct DisplacedText {
    /// The id of the new note that has it.
    id: NodeId,
    /// The key of the note that it was displaced from.
    key: String,
    from_remote: bool,
}

impl CopyResults {
    /// Adds the key that a copied note or a displaced text got instead of its own.
    pub(super) fn add_renamed(&mut self, copied: &CopyResult, target: NodeId, pulled: bool) {
        let Some((key, renamed)) = copied.renamed.clone() else { return };
        match copied.copy.target {
            CopyTarget::Displace { displaced: id, .. } => {
                self.displaced.push(DisplacedText { id, key, from_remote: !pulled });
            }
            CopyTarget::New(_) | CopyTarget::NextVersion(..) => {
                self.renamed.push(CopyRename { pulled, source: copied.copy.id, target, renamed });
            }
        }
    }
}

/// A copied note as it is in the target store, and the note with the text that it displaced there.
pub(super) fn copied_notes(
    source: &Inventory,
    target: &Inventory,
    copied: &CopyResult,
    id: NodeId,
) -> impl Iterator<Item = InventoryNote> {
    let copy = source.with_id(copied.copy.id).map(|note| InventoryNote { id, ..*note });
    let displaced = match copied.copy.target {
        CopyTarget::Displace { id, displaced, .. } if copied.renamed.is_some() => {
            target.with_id(id).map(|note| InventoryNote { id: displaced, ..*note })
        }
        _ => None,
    };
    copy.into_iter().chain(displaced)
}

/// The notes that got the displaced texts, with the keys that they have now.
pub(super) fn displaced_notes(sync: &Sync<'_>, displaced: &[DisplacedText]) -> Result<Vec<KeyRename>> {
    let mut renames = Vec::new();
    for DisplacedText { id, key, from_remote } in displaced {
        let memory = if *from_remote { sync.remote } else { sync.local };
        renames.extend(memory.store.node(*id)?.map(|node| KeyRename {
            pulled: *from_remote,
            key: key.clone(),
            renamed: node.key,
            edited_in_both: true,
        }));
    }
    Ok(renames)
}
